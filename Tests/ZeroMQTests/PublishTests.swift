import Testing
import ZeroMQ

@Suite struct PublishTests {
  private let context: Context

  init() throws { context = try Context() }

  @Test("An XPUB receives each subscription and its cancellation")
  func subscriptions() throws {
    let publisher = try socket(context, .xpub)
    let subscriber = try socket(context, .sub)
    try publisher.bind("inproc://subscriptions")
    try subscriber.connect("inproc://subscriptions")
    try subscriber.subscribe(to: [UInt8]("chat:1"))
    #expect(try receive(publisher) == [[1] + [UInt8]("chat:1")])
    try subscriber.unsubscribe(from: [UInt8]("chat:1"))
    #expect(try receive(publisher) == [[0] + [UInt8]("chat:1")])
  }

  @Test("A topic that ends in a terminator does not match a longer name; without one it does")
  func terminator() throws {
    let publisher = try socket(context, .xpub)
    try publisher.bind("inproc://terminator")
    let exact = try socket(context, .sub)
    try exact.connect("inproc://terminator")
    try exact.subscribe(to: [UInt8]("chat:4") + [0])
    let loose = try socket(context, .sub)
    try loose.connect("inproc://terminator")
    try loose.subscribe(to: [UInt8]("chat:4"))
    _ = try receive(publisher)
    _ = try receive(publisher)
    let long = [UInt8]("chat:42") + [0]
    let short = [UInt8]("chat:4") + [0]
    try publisher.send(multipart: [long, [1]])
    try publisher.send(multipart: [short, [2]])
    #expect(try receive(exact) == [short, [2]])
    #expect(try isEmpty(exact))
    #expect(try receive(loose) == [long, [1]])
    #expect(try receive(loose) == [short, [2]])
  }

  @Test("An XPUB that may not drop refuses at its high-water mark")
  func noDrop() throws {
    let publisher = try socket(context, .xpub) {
      $0.xpubNoDrop = true
      $0.sendHighWaterMark = 2
    }
    let subscriber = try socket(context, .sub) { $0.receiveHighWaterMark = 2 }
    try publisher.bind("inproc://no-drop")
    try subscriber.connect("inproc://no-drop")
    try subscriber.subscribe(to: [])
    _ = try receive(publisher)
    let error = #expect(throws: ZeroMQError.self) {
      for _ in 0..<1000 { try publisher.send([1]) }
    }
    #expect(error?.reason == .wouldBlock)
  }
}
