/// When a group's publications are due: evenly spaced bursts from a beginning on. The same on every worker.
struct Schedule: Sendable, Equatable {
  /// Nanoseconds of CLOCK_MONOTONIC.
  var begin: UInt64
  var count: Int
  /// Publications per second.
  var rate: Double
  /// So many publications share an intended time.
  var burst: Int

  static let none = Schedule(begin: 0, count: 0, rate: 1, burst: 1)

  /// All that are due before `seconds` are over.
  init(begin: UInt64, seconds: Double, rate: Double, burst: Int) {
    self.init(begin: begin, count: 0, rate: rate, burst: burst)
    count = Self.number(before: seconds, rate: rate, burst: self.burst)
  }

  init(begin: UInt64, count: Int, rate: Double, burst: Int) {
    self.begin = begin
    self.count = count
    // A group that never publishes has a schedule of none.
    self.rate = max(rate, 1e-9)
    self.burst = max(1, burst)
  }

  /// Intended time of a publication, counted from 0.
  func due(_ index: Int) -> UInt64 {
    begin + UInt64(Double(index / burst) * Double(burst) / rate * 1e9)
  }

  /// When the publication behind the last one would be due.
  var end: UInt64 { due((count + burst - 1) / burst * burst) }

  /// How many are due before this time.
  func number(before time: UInt64) -> Int {
    guard time > begin, count > 0 else { return 0 }
    var number = min(count, Self.number(before: Double(time - begin) / 1e9, rate: rate, burst: burst))
    // The division may be off by one from what rounding does to intended times: those decide.
    while number > 0 && due(number - 1) >= time { number -= 1 }
    while number < count && due(number) < time { number += 1 }
    return number
  }

  private static func number(before seconds: Double, rate: Double, burst: Int) -> Int {
    guard seconds > 0, rate > 0 else { return 0 }
    return Int((seconds * rate / Double(burst) - 1e-9).rounded(.up)) * burst
  }
}
