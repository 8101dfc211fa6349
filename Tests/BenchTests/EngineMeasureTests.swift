import Histogram
import Testing

@testable import Bench

@Suite("Markers, schedules and the table of latencies")
struct EngineMeasureTests {
  @Test("A marker gives back what was written, to the largest numbers")
  func marker() {
    let cases: [(UInt16, UInt64, UInt64)] = [
      (0, 0, 0), (1, 2, 3), (0xFFFF, 0xFF_FFFF_FFFF, .max), (0x0A0B, 0x01_2345_6789, 0xFEDC_BA98_7654_3210),
      (0x0100, 0x10_0000_0000, 0x8000_0000_0000_0001),
    ]
    for (group, sequence, due) in cases {
      var bytes = [UInt8](repeating: 0x78, count: 40)
      bytes.withUnsafeMutableBytes { raw in
        guard let place = raw.baseAddress else { return }
        Marker.write(group: group, sequence: sequence, due: due, to: place)
        #expect(Marker.group(place) == group)
        #expect(Marker.sequence(place) == sequence)
        #expect(Marker.due(place) == due)
      }
      func hexadecimal(_ value: UInt64, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
      }
      #expect(
        String(decoding: bytes, as: UTF8.self)
          == "~ff~" + hexadecimal(UInt64(group), 4) + hexadecimal(sequence, 10) + hexadecimal(due, 16) + "xxxxxx")
    }
  }

  @Test("The bare table records what the library's histogram records")
  func histogram() {
    let table = FlatHistogram()
    var library = EncodedHistogram.makeHistogram()
    var value: UInt64 = 1
    while value < 600_000_000_000 {
      for near in [value - 1, value, value + 1] {
        table.record(near)
        library.record(near)
      }
      value = value * 5 / 4 + 1
    }
    table.record(.max)
    library.record(600_000_000_000)
    #expect(table.encoded == EncodedHistogram(library))
    let values = table.values(at: [0.5, 1])
    #expect(values[0] < values[1])
    #expect(values[1] > 599_000_000_000)
  }

  @Test("A schedule's times and its count agree, alone and in bursts", arguments: [1, 3, 10])
  func schedule(_ burst: Int) {
    for rate in [1.0, 7, 333.3, 20_000] {
      let schedule = Schedule(begin: 1_000_000, seconds: 2, rate: rate, burst: burst)
      #expect(schedule.count >= burst)
      #expect(schedule.due(0) == 1_000_000)
      #expect(schedule.due(schedule.count - 1) < 2_001_000_000)
      #expect(schedule.end >= 2_000_999_990)
      for index in stride(from: 0, to: schedule.count, by: max(1, schedule.count / 50)) {
        let first = index / burst * burst
        #expect(schedule.due(index) == schedule.due(first))
        #expect(schedule.number(before: schedule.due(index)) == first)
        #expect(schedule.number(before: schedule.due(index) + 1) == min(schedule.count, first + burst))
      }
    }
    #expect(Schedule(begin: 5, seconds: 3, rate: 0, burst: burst).count == 0)
  }

  @Test("Workers share the subscribers of each channel evenly, and the first has all publishers")
  func roster() throws {
    let group = Scenario.Group(
      name: "g", channels: 3, subscribers: 10, rate: 1, payload: 64, burst: 1, publishers: 2, slow: 0.2, namespace: "")
    let all = try Roster(plan(group, worker: 0, workers: 1))
    let parts = try (0..<2).map { try Roster(plan(group, worker: $0, workers: 2)) }
    #expect(all.subscribers.count == 30)
    #expect(all.subscribers.count { $0.isSlow } == 6)
    for channel in 0..<3 { #expect(parts.map { $0.subscribers.count { $0.channel == channel } } == [5, 5]) }
    #expect(
      parts.flatMap(\.subscribers).sorted { $0.client < $1.client } == all.subscribers)
    #expect(parts.map(\.publishers.count) == [2, 0])
    #expect(Set(all.subscribers.map(\.client) + all.publishers.map(\.client)).count == 32)
  }

  @Test("A group with a worker of its own is read there alone, and its publishers stay with the first")
  func rosterOfItsOwn() throws {
    var group = Scenario.Group(
      name: "g", channels: 1, subscribers: 10, rate: 1, payload: 64, burst: 1, publishers: 1, slow: 0, namespace: "")
    group.worker = 1
    let parts = try (0..<3).map { try Roster(plan(group, worker: $0, workers: 3)) }
    #expect(parts.map(\.subscribers.count) == [0, 10, 0])
    #expect(parts.map(\.publishers.count) == [1, 0, 0])
  }

  @Test("A scenario that cannot be is refused in a sentence")
  func impossible() {
    let good = Scenario.Group(
      name: "g", channels: 1, subscribers: 1, rate: 1, payload: 64, burst: 1, publishers: 1, slow: 0, namespace: "")
    var (short, mute, many) = (good, good, good)
    short.payload = 20
    mute.publishers = 0
    many.subscribers = 2_000_000
    for group in [short, mute, many] {
      #expect(throws: BenchError.self) { try Roster(plan(group, worker: 0, workers: 1)) }
    }
    #expect(throws: BenchError.self) { try Roster(plan(good, worker: 1, workers: 1)) }
  }

  private func plan(_ group: Scenario.Group, worker: Int, workers: Int) -> WorkerPlan {
    .sample(group, to: "ws://127.0.0.1:1", dialect: "floor", worker: worker, workers: workers)
  }
}
