import Synchronization
import TestSupport
import Testing
import Wire

@testable import Admin
@testable import Broker

/// The web console's streams without sockets: what they tell, to whom, and when they end.
@Suite("Streams of the web console")
struct ConsoleStreamTests {
  private static let watch = "/console/live"
  private static let tail = "/console/tail?channel=news"

  @Test("Frames are worked out once for all who watch, and none while nobody does")
  func shared() async throws {
    let clock = ConsoleRig.Clock()
    let computed = Mutex(0)
    let board = LiveBoard(clock: clock.console) {
      Array("\(computed.withLock { count in count += 1; return count })".utf8)
    }
    #expect(clock.pauses == 0 && computed.withLock { $0 } == 0)
    var one: Events? = Events(board.watch(mayGoOn: { true }, ended: {}))
    #expect(await one?.next() == "data: 1\n\n")
    var two: Events? = Events(board.watch(mayGoOn: { true }, ended: {}))
    #expect(await eventually { clock.pauses == 1 })
    clock.pass(1000)
    #expect(await one?.next() == "data: 2\n\n")
    #expect(await two?.next() == "data: 2\n\n")
    // One has gone, the other still watches.
    one = nil
    #expect(await eventually { clock.pauses == 2 })
    clock.pass(1000)
    #expect(await two?.next() == "data: 3\n\n")
    two = nil
    #expect(await eventually { clock.pauses == 3 })
    clock.pass(1000)
    // Nobody watches: the task has ended without another frame, and begins with the next who comes.
    let third = Events(board.watch(mayGoOn: { true }, ended: {}))
    #expect(await third.next() == "data: 4\n\n")
    #expect(computed.withLock { $0 } == 4)
    board.close()
    #expect(await third.next() == nil)
    clock.end()
  }

  @Test("Where a look at all channels takes long, the gateways are asked less often")
  func rests() async {
    let time = Mutex<Int64>(0)
    let looks = Mutex(0)
    let frames = LiveFrames(
      clock: ConsoleClock(now: { time.withLock { $0 } }) { _ in }, metrics: { [] }, others: { LiveFrames.Others() },
      top: {
        looks.withLock { $0 += 1 }
        time.withLock { $0 += 50 }
        return nil
      })
    for _ in 0..<21 {
      _ = await frames.next()
      time.withLock { $0 += 1000 }
    }
    // Now, and after each 200 times the 50 milliseconds.
    #expect(looks.withLock { $0 } == 3)
  }

  @Test("The live view tells rates between two frames, and ends with the session")
  func live() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    let frames = try await rig.stream(Self.watch, headers)
    let first = try #require(await frames.next())
    #expect(first.contains(#"{"name":"clients","value":3,"unit":"count"}"#) && !first.contains("seconds"), "\(first)")
    #expect(await eventually { rig.clock.pauses == 1 })
    rig.clock.pass(1000)
    #expect(await frames.next()?.hasPrefix(#"data: {"seconds":1,"#) == true)
    // Watching is no use of the session.
    #expect(await eventually { rig.clock.pauses == 2 })
    rig.clock.pass(1_800_000)
    #expect(await frames.next() == nil)
    rig.end()
  }

  @Test("A tail tells what is published from when it is open, as JSON, and ends with sign-out")
  func tailed() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    let channel = try ChannelName("news")
    let events = try await rig.stream(Self.tail, headers)
    #expect(await events.next() == ":\n\n")
    #expect(rig.desk.isTapped)
    let hostile = #"{"text":"<script>alert(1)</script>"}"#
    rig.desk.tell(Publication(offset: 1, time: 5, data: Array(hostile.utf8)), on: channel)
    rig.desk.tell(Publication(offset: 1, time: 5, data: Array("0".utf8)), on: try ChannelName("other"))
    #expect(await events.next() == "data: {\"data\":\(hostile),\"offset\":1,\"time\":5}\n\n")
    #expect(try await rig.ask("POST", "/console/sign-out", headers).status == 204)
    #expect(await events.next() == nil)
    #expect(!rig.desk.isTapped)
    rig.end()
  }

  @Test("A tail's filter is that of subscriptions, and what it left out is counted")
  func filtered() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    let filter = "%7B%22key%22%3A%22user%22%2C%22cmp%22%3A%22eq%22%2C%22val%22%3A%22ada%22%7D"
    let events = try await rig.stream("\(Self.tail)&filter=\(filter)", headers)
    #expect(await events.next() == ":\n\n")
    for (offset, user) in ["ben", "ada", "ben"].enumerated() {
      let info = ClientInfo(user: user, client: "c")
      rig.desk.tell(
        Publication(offset: UInt64(offset + 1), data: Array("1".utf8), info: info), on: try ChannelName("news"))
    }
    #expect(
      await events.next()
        == #"data: {"data":1,"info":{"user":"ada","client":"c"},"offset":2}"# + "\n\n"
        + #"data: {"skipped":0,"filtered":2}"# + "\n\n")
    for query in ["", "?channel=", "?channel=a%0Ab", "?channel=news&filter=%7B", "?channel=news&filter=1"] {
      let answer = try await rig.ask("GET", "/console/tail\(query)", headers)
      #expect(answer.status == 400 && answer.text.hasPrefix(#"{"message":""#), "\(query)")
    }
    rig.end()
  }

  @Test("Channels that the console may not read it may not follow")
  func forbidden() async throws {
    let rig = try ConsoleRig(allow: ["publish"])
    #expect(try await rig.ask("GET", Self.tail, try await rig.signedIn()).status == 403)
    let reader = try ConsoleRig()
    let headers = try await reader.signedIn()
    #expect(try await reader.ask("GET", "/console/tail?channel=clique.chat:a,b", headers).status == 403)
    for rig in [rig, reader] { rig.end() }
  }

  @Test("There are so many streams and no more; one that was let go leaves its place and its tap")
  func most() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    var open: [Events] = []
    for number in 0..<WebConsole.mostStreams {
      open.append(try await rig.stream(number.isMultiple(of: 2) ? Self.tail : Self.watch, headers))
    }
    #expect(try await rig.ask("GET", Self.tail, headers).status == 503)
    #expect(try await rig.ask("GET", Self.watch, headers).status == 503)
    open = []
    #expect(await eventually { !rig.desk.isTapped })
    open.append(try await rig.stream(Self.tail, headers))
    #expect(rig.desk.isTapped)
    rig.end()
    #expect(await open[0].next() == nil)
  }

  @Test("At the end of the server all streams end, and nobody signs in any more")
  func stopped() async throws {
    let rig = try ConsoleRig()
    let headers = try await rig.signedIn()
    let (frames, events) = (
      try await rig.stream(Self.watch, headers),
      try await rig.stream(Self.tail, headers)
    )
    _ = (await frames.next(), await events.next())
    rig.end()
    #expect(await events.next() == nil)
    #expect(await frames.next() == nil)
    #expect(try await rig.signIn(from: "192.0.2.3").status == 429)
  }
}
