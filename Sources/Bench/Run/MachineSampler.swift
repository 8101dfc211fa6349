/// Reads from `/proc/stat` what all cores did so far (proc(5)).
enum MachineSampler {
  /// Ticks since the machine started.
  struct Ticks: Sendable, Equatable {
    var busy: UInt64 = 0
    var interrupts: UInt64 = 0
    var stolen: UInt64 = 0
    var idle: UInt64 = 0

    /// Reads a line's numbers: user, nice, system, idle, waiting for a disk, hard interrupts, soft interrupts, stolen. What
    /// stands behind them (guests) is in `user` and `nice` already.
    init?(_ numbers: [UInt64]) {
      guard numbers.count >= 8 else { return nil }
      interrupts = numbers[5] &+ numbers[6]
      busy = numbers[0] &+ numbers[1] &+ numbers[2] &+ interrupts
      (stolen, idle) = (numbers[7], numbers[3] &+ numbers[4])
    }
  }

  /// The ticks of each core, by its number.
  typealias Sample = [Int: Ticks]

  static func sample() -> Sample { ServerSampler.text(of: "/proc/stat").map { parse($0) } ?? [:] }

  static func parse(_ text: String) -> Sample {
    var sample: Sample = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("cpu") {
      let words = line.split(separator: " ")
      // The line without a number is all cores' sum.
      guard let core = Int(words[0].dropFirst(3)) else { continue }
      sample[core] = Ticks(words.dropFirst().compactMap { UInt64($0) })
    }
    return sample
  }

  /// What the cores did between two samples; nil where not a tick passed, or nothing is known.
  static func use(from begin: Sample, to end: Sample, serverCores: [Int]) -> MachineUse? {
    var cores: [MachineUse.Core] = []
    for (number, after) in end.sorted(by: { $0.key < $1.key }) {
      guard let before = begin[number] else { continue }
      // Some of the kernel's counters go back by a tick now and then.
      func rise(_ part: (Ticks) -> UInt64) -> Double { Double(max(part(after), part(before)) - part(before)) }
      let (busy, stolen) = (rise { $0.busy }, rise { $0.stolen })
      let all = busy + stolen + rise { $0.idle }
      guard all > 0 else { continue }
      cores.append(
        MachineUse.Core(
          number: number, busy: busy / all, interrupts: rise { $0.interrupts } / all, stolen: stolen / all))
    }
    return cores.isEmpty ? nil : MachineUse(cores: cores, serverCores: serverCores)
  }
}
