import Metering
import Synchronization

@testable import Telemetry

/// A clock that a test sets.
final class HandClock: Sendable {
  private let time = Mutex<UInt64>(0)

  var now: UInt64 { time.withLock { $0 } }
  func pass(_ nanoseconds: UInt64) { time.withLock { $0 += nanoseconds } }
}

/// What the collector was sent, and what it says.
final class FakeCollector: Sendable {
  private struct State {
    var bodies: [String] = []
    var waiting: [@Sendable (Bool) -> Void] = []
  }

  private let state = Mutex(State())

  var bodies: [String] { state.withLock { $0.bodies } }

  func send(_ body: [UInt8], _ done: @escaping @Sendable (Bool) -> Void) {
    state.withLock { state in
      state.bodies.append(String(decoding: body, as: UTF8.self))
      state.waiting.append(done)
    }
  }

  /// Answers the oldest request.
  func answer(_ isTaken: Bool) {
    let done = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    done?(isTaken)
  }
}

extension PrometheusRegistry {
  /// The number of a line of the page; nil: there is no such line.
  func number(_ line: String) -> Double? {
    let page = String(decoding: render(), as: UTF8.self)
    return page.split(separator: "\n").first { $0.hasPrefix(line + " ") }
      .flatMap { Double($0.dropFirst(line.count + 1)) }
  }
}
