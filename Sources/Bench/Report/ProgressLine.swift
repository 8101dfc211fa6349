import Foundation
import Glibc
import Synchronization

/// Tells on standard error how a run goes: one line that changes on a terminal, else a line for each turn.
public final class ProgressLine: Sendable {
  private let isTerminal: Bool
  private let write: @Sendable (String) -> Void
  private let state = Mutex(State())

  private struct State {
    var turn = ""
    var phase = ""
  }

  public convenience init() {
    self.init(isTerminal: isatty(2) == 1) { FileHandle.standardError.write(Data($0.utf8)) }
  }

  init(isTerminal: Bool, write: @escaping @Sendable (String) -> Void) {
    (self.isTerminal, self.write) = (isTerminal, write)
  }

  public func show(_ event: RunEvent) {
    state.withLock { state in
      switch event {
      case .skipped(let peer, let reason): line("\(peer) is skipped: \(reason)")
      case .turnBegan(let peer, let number, let count):
        state.turn = "turn \(number)/\(count) \(peer)"
      case .phase(let phase):
        state.phase = phase
        change("\(state.turn): \(phase)")
      case .progress(let progress):
        change(
          "\(state.turn): \(state.phase), \(progress.connections) connected, \(progress.published) published, "
            + "\(Quantity.rate.format(Double(progress.delivered))) delivered, p99 "
            + Quantity.nanoseconds.format(Double(progress.p99)))
      case .stepEnded(let step): line("\(state.turn): \(Self.told(step))")
      case .turnEnded(let turn): line("\(state.turn): \(Self.told(turn))")
      }
    }
  }

  static func told(_ step: Step) -> String {
    "\(Quantity.rate.format(step.rate))/s, p99 \(Quantity.nanoseconds.format(Double(step.report.latency.value(at: 0.99))))"
      + (step.faults.isEmpty ? "" : "; \(step.faults.joined(separator: "; "))")
  }

  static func told(_ turn: Turn) -> String {
    var parts: [String] = []
    if let report = turn.report, report.delivered > 0 {
      if let cost = Metric.cpuPerDelivery.value(turn) {
        parts.append("\(Quantity.microseconds.format(cost)) a delivery")
      }
      parts.append("p50 \(Quantity.nanoseconds.format(Double(report.latency.value(at: 0.5))))")
      parts.append("p99 \(Quantity.nanoseconds.format(Double(report.latency.value(at: 0.99))))")
    } else if let last = turn.steps.last {
      parts.append("\(turn.steps.count) steps up to \(Quantity.rate.format(last.rate))/s")
      let limited = turn.steps.contains { $0.generatorWasLimit == true }
      if limited { parts.append("in some the generator was the limit") }
    } else if let connect = turn.connect {
      parts.append("\(connect.connections) connected in \(Quantity.seconds.format(connect.seconds))")
    }
    if turn.generatorUse > 0 { parts.append("generator \(Quantity.part.format(turn.generatorUse))") }
    if !turn.faults.isEmpty { parts.append("INVALID: \(turn.faults.joined(separator: "; "))") }
    return parts.joined(separator: ", ")
  }

  private func line(_ text: String) { write((isTerminal ? "\r\u{1B}[K" : "") + text + "\n") }

  private func change(_ text: String) {
    guard isTerminal else { return }
    write("\r\u{1B}[K" + String(text.prefix(150)))
  }
}
