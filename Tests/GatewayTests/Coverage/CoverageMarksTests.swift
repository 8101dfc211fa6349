import NIOEmbedded
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Noting how far subscriptions are")
struct CoverageMarksTests {
  private let fanOut = FanOut(limits: .init(queueBytes: 100_000), ring: nil, clock: { 0 })
  private let hub: Hub
  private let loop = EmbeddedEventLoop()

  init() { hub = Hub(fanOut: fanOut, namespaces: NamespaceTable()) }

  private func publish(_ offset: UInt64, on channel: ChannelName) {
    var frames = EncodedFrames(json: [1], protobuf: nil)
    frames.offset = offset
    hub.deliver(frames, on: channel)
    fanOut.runSlice()
  }

  private func pass(_ marks: inout CoverageMarks, isWanted: Bool = true) -> [String] {
    var noted: [String] = []
    marks.pass(in: hub, isWanted: { _ in isWanted }) { session, channel, reach in
      noted.append("\(channel) \(session.id) \(reach.written)")
    }
    return noted.sorted()
  }

  @Test("a channel is noted once for each time that something was published, and not where nothing was")
  func once() {
    var marks = CoverageMarks()
    let (a, b) = (channel("a"), channel("b"))
    for id in 1...2 as ClosedRange<UInt64> { hub.attach(HubMember(id, .json, loop).driver, to: a, []) }
    hub.attach(HubMember(3, .json, loop).driver, to: b, [])
    #expect(pass(&marks).isEmpty)
    publish(7, on: a)
    #expect(pass(&marks, isWanted: false).isEmpty)
    #expect(pass(&marks) == ["a 1 7", "a 2 7"])
    #expect(pass(&marks).isEmpty)
    publish(8, on: a)
    #expect(pass(&marks) == ["a 1 8", "a 2 8"])
    #expect(pass(&marks).isEmpty && pass(&marks).isEmpty)
  }

  @Test("one pass looks at no more than its share, and the next ones at the rest")
  func bounded() {
    var marks = CoverageMarks()
    let member = HubMember(1, .json, loop)
    let count = CoverageMarks.step + 10
    for number in 0..<count {
      hub.attach(member.driver, to: channel("room:\(number)"), [])
      publish(1, on: channel("room:\(number)"))
    }
    let first = pass(&marks)
    #expect(!first.isEmpty && first.count <= CoverageMarks.step)
    var all = Set(first)
    for _ in 0..<4 { all.formUnion(pass(&marks)) }
    #expect(all.count == count)
    #expect((0..<6).allSatisfy { _ in pass(&marks).isEmpty })
  }
}
