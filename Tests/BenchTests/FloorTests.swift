import CLinuxIO
import Glibc
import TestSupport
import Testing

@testable import Bench

@Suite("The floor and a worker that measures it", .ownThread)
struct FloorTests {
  @Test("Every publication reaches every subscriber once, in order, and is counted for each publication")
  func delivery() async throws {
    let floor = try FloorRunner()
    let report = try await WorkerRunner.run(
      .sample(.sample(burst: 5, publishers: 2), to: floor.url, dialect: "floor"))
    let group = try #require(report.groups.first)
    #expect(group.intended == 80 && group.published == 80)
    #expect(group.expected == 400)
    #expect(group.isWhole)
    for histogram in [group.first, group.median, group.last, report.lateness] { #expect(histogram.count == 80) }
    #expect(report.disconnected == 0 && report.remarks == [])
    #expect(report.acknowledged.count == 80 && group.unanswered == 0)
    // A worker that was held up for the better part of the run may have seen its beginning and its end at once.
    let wasHeldUp = report.lateness.largest >= 150_000_000
    #expect(wasHeldUp || report.wallSeconds > 0 && report.cpuSeconds > 0)
    #expect(report.seconds.reduce(0) { $0 + $1.delivered } == 400)
  }

  @Test("Contents of more than a frame's short length arrive too", arguments: [126, 5000, 100_000])
  func large(_ size: Int) async throws {
    let floor = try FloorRunner()
    let report = try await WorkerRunner.run(
      .sample(.sample(channels: 1, subscribers: 2, rate: 50, payload: size), to: floor.url, dialect: "floor"))
    #expect(report.groups.first?.isWhole == true)
    #expect(report.groups.first?.expected == 40)
  }

  @Test("Two workers share the subscribers; the one that does not publish expects the same")
  func twoWorkers() async throws {
    let floor = try FloorRunner()
    let group = Scenario.Group.sample(channels: 3, subscribers: 4)
    let runners = try (0..<2).map {
      try WorkerRunner(.sample(group, to: floor.url, dialect: "floor", worker: $0, workers: 2))
    }
    for runner in runners { #expect(try await runner.ready.connections >= 6) }
    let start = linuxNow() + 200_000_000
    // First the one that only reads: what comes before it knows when measuring begins is not counted there. The other
    // one may learn of that time late.
    for runner in runners.reversed() {
      try runner.order(.begin(at: start))
      try #require(await eventually(within: .seconds(300)) { runner.hasTakenOrders })
    }
    var published = 0
    for runner in runners {
      let report = try await runner.finished
      #expect(report.groups.first?.isWhole == true)
      #expect(report.groups.first?.expected == 160)
      published += report.groups.first?.intended ?? 0
      try await runner.end()
    }
    #expect(published == 80)
  }

  @Test("A ramp's steps are reported one by one, each with its own numbers")
  func ramp() async throws {
    let floor = try FloorRunner()
    let runner = try WorkerRunner(.sample(.sample(), to: floor.url, dialect: "floor", measure: .saturation))
    _ = try await runner.ready
    try runner.order(.begin(at: 0))
    for rate in [100.0, 200, 400] { try runner.order(.step(at: 0, rate: rate)) }
    try runner.order(.step(at: 0, rate: nil))
    _ = try await runner.finished
    #expect(runner.steps().compactMap { $0.groups.first?.expected } == [150, 300, 600])
    #expect(runner.steps().allSatisfy { $0.groups.allSatisfy(\.isWhole) })
    try await runner.end()
  }

  @Test("Subscribers that stop reading are not expected to get anything, and the others get everything")
  func slow() async throws {
    let floor = try FloorRunner()
    // The floor closes what does not take a message at once, so all of the run has to fit into a healthy socket: a worker
    // that is held up reads nothing.
    let group = Scenario.Group.sample(channels: 1, subscribers: 10, rate: 500, payload: 4000, slow: 0.2)
    let report = try await WorkerRunner.run(.sample(group, to: floor.url, dialect: "floor"))
    #expect(report.groups.first?.expected == 8 * 200)
    #expect(report.groups.first?.isWhole == true)
    #expect(report.disconnected == 0)
  }

  @Test("Subscribers that the server closes because they stopped reading do not count as disconnected")
  func slowAlone() async throws {
    let floor = try FloorRunner()
    // The group publishes more to each subscriber than its socket holds.
    let group = Scenario.Group.sample(channels: 1, subscribers: 10, rate: 500, payload: 50_000, slow: 1)
    let report = try await WorkerRunner.run(.sample(group, to: floor.url, dialect: "floor"))
    #expect(report.groups.first?.published == 200)
    #expect(report.groups.first?.expected == 0)
    #expect(report.groups.first?.isWhole == true)
    #expect(report.disconnected == 0 && report.remarks == [])
  }

  @Test("What cannot be measured is told in a sentence")
  func failures() async throws {
    let floor = try FloorRunner()
    var cases: [(WorkerPlan, String)] = [
      (.sample(.sample(), to: "ws://127.0.0.1:1", dialect: "floor"), "cannot be reached"),
      (.sample(.sample(), to: "127.0.0.1:1", dialect: "floor"), "is not an address"),
      (.sample(.sample(), to: floor.url, dialect: "smoke"), "is not a dialect"),
      (.sample(.sample(), to: floor.url + "/x", dialect: "centrifuge"), "closed the connection"),
    ]
    let limit = linuxio_raise_file_limit()
    // A scenario has at most a million subscribers, so a higher limit of open files is never reached.
    if (1..<1_000_000).contains(limit) {
      let group = Scenario.Group.sample(channels: 1, subscribers: limit)
      cases.append((.sample(group, to: floor.url, dialect: "floor"), "open files"))
    }
    for (plan, part) in cases {
      let runner = try WorkerRunner(plan)
      let error = await #expect(throws: BenchError.self) { try await runner.ready }
      #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }
  }

  @Test("Connections have to leave some of the open files for what else a worker needs")
  func openFiles() throws {
    try ConnectionLimit.check(968, limit: 1000)
    let error = #expect(throws: BenchError.self) { try ConnectionLimit.check(969, limit: 1000) }
    #expect(error?.description.contains("969 connections need more open files than the limit of 1000") == true)
  }

  @Test("What acknowledges a publication is as long as Fanfare's answer")
  func replies() {
    #expect(FloorReply.json.contentSize == 24 && FloorReply.protobuf.contentSize == 6)
    for reply in FloorReply.allCases {
      #expect(reply.frames.count == reply.frameSize * FloorReply.repeated)
      #expect(Array(reply.frames.prefix(2)) == [0x82, UInt8(reply.contentSize)])
    }
  }

  @Test("Both formats are acknowledged, each publication once", arguments: ["json", "protobuf"])
  func formats(_ format: String) async throws {
    let floor = try FloorRunner()
    let report = try await WorkerRunner.run(.sample(.sample(), to: floor.url, dialect: "floor", format: format))
    #expect(report.groups.first?.isWhole == true && report.groups.first?.unanswered == 0)
    #expect(report.acknowledged.count == 80)
  }

  @Test("The kernel's stamps are recorded beside the readings, and are never later")
  func stamps() async throws {
    let floor = try FloorRunner()
    var plan = WorkerPlan.sample(.sample(), to: floor.url, dialect: "floor")
    plan.stampsArrivals = true
    let report = try await WorkerRunner.run(plan)
    let group = try #require(report.groups.first)
    let kernel = try #require(group.kernel)
    #expect(group.isWhole)
    // The kernel begins with stamping a moment after it was asked to.
    #expect(kernel.count > 0 && kernel.count <= group.latency.count)
    #expect(kernel.value(at: 1) <= group.latency.value(at: 1))
    #expect(try #require(report.reading).count > 0)
    plan.stampsArrivals = false
    let without = try await WorkerRunner.run(plan)
    #expect(without.groups.first?.kernel == nil && without.reading == nil)
  }

  @Test("A stamp is told by the clock that the bench measures by, and is no later than the reading")
  func clocks() {
    let stamps = ArrivalStamps()
    let (before, lead, after) = (linuxNow(), linuxio_realtime_lead(), linuxNow())
    let wall = UInt64(bitPattern: Int64(before) + lead)
    // The lead is found anew each time, to within the time that two looks at a clock take.
    let told = stamps.arrival(wall, readAt: after)
    #expect(told <= after && told + 100_000_000 >= before)
    #expect(stamps.arrival(wall + 3_600_000_000_000, readAt: after) == after)
    #expect(stamps.arrival(0, readAt: after) == 0)
  }

  @Test(
    "Acknowledgements that a publisher does not read stay owed, and none is lost or made up",
    arguments: FloorReply.allCases)
  func owed(_ reply: FloorReply) throws {
    let floor = try FloorRunner()
    let address = try ServerAddress(floor.url)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    // Little room, so that the floor's socket fills soon. A test that waits in vain is to end.
    var (room, limit) = (Int32(4096), timeval(tv_sec: 300, tv_usec: 0))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let connected = address.socketAddress.withUnsafeBytes { bytes in
      bytes.baseAddress.map { connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), 16) }
    }
    try #require(connected == 0)
    func say(_ bytes: [UInt8]) throws {
      var place = 0
      while place < bytes.count {
        let count = bytes[place...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        try #require(count > 0)
        place += count
      }
    }
    func hear(_ count: Int) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0xFF, count: count)
      var place = 0
      while place < count {
        let got = bytes[place...].withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        try #require(got > 0)
        place += got
      }
      return bytes
    }
    try say(Array("GET \(reply.path) HTTP/1.1\r\nSec-WebSocket-Key: x\r\n\r\n".utf8))
    var head = ""
    while !head.hasSuffix("\r\n\r\n") { head.unicodeScalars.append(Unicode.Scalar(try hear(1)[0])) }
    // A publication to a channel that nobody reads: a mask of zeros, a name of one letter, no content.
    let publication: [UInt8] = [0x82, 0x83, 0, 0, 0, 0, 0, 1, 0x61]
    let count = 200_000
    try say([UInt8]((0..<count).flatMap { _ in publication }))
    let size = reply.frameSize
    let answers = try hear(count * size)
    let frame = Array(reply.frames.prefix(size))
    #expect((0..<count).allSatisfy { answers[($0 * size)..<(($0 + 1) * size)].elementsEqual(frame) })
    // There is no answer beyond one for each publication: the stream ends behind them.
    try say([0x88, 0x80, 0, 0, 0, 0])
    var rest: UInt8 = 0
    #expect(recv(descriptor, &rest, 1, 0) == 0)
  }
}
