import Synchronization

/// Waits for the outcomes of one order.
///
/// States of a place: waiting; known (its service has answered, or the time is over). The whole is over, and told once,
/// when no place waits any more.
final class PushGathering: Sendable {
  private struct State {
    var outcomes: [PushOutcome?]
    var missing: Int
    var timer: Task<Void, Never>?
    var done: (@Sendable ([PushOutcome]) -> Void)?
  }

  private let state: Mutex<State>

  /// - Parameter done: called once, on any thread.
  init(count: Int, then done: @escaping @Sendable ([PushOutcome]) -> Void) {
    state = Mutex(State(outcomes: Array(repeating: nil, count: count), missing: count, done: done))
  }

  /// Ends the whole after a time, whatever is known by then.
  func end(afterMilliseconds milliseconds: Int) {
    let timer = Task {
      // A timer that was cancelled came too late.
      guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil else { return }
      self.timeOut()
    }
    let isOver = state.withLock { state in
      if state.missing > 0 { state.timer = timer }
      return state.missing == 0
    }
    if isOver { timer.cancel() }
  }

  /// The outcome for a place. What comes after the first for a place counts no more.
  func take(_ outcome: PushOutcome, at place: Int) {
    finish { state in
      guard state.outcomes.indices.contains(place), state.outcomes[place] == nil else { return }
      state.outcomes[place] = outcome
      state.missing -= 1
    }
  }

  func timeOut() {
    finish { state in
      for place in state.outcomes.indices where state.outcomes[place] == nil {
        state.outcomes[place] = .unanswered(
          reason: "the service did not answer in time; it may have taken the notification")
      }
      state.missing = 0
    }
  }

  private func finish(_ change: (inout State) -> Void) {
    let (done, outcomes) = state.withLock { state -> ((@Sendable ([PushOutcome]) -> Void)?, [PushOutcome]) in
      change(&state)
      guard state.missing == 0, let done = state.done else { return (nil, []) }
      state.done = nil
      state.timer?.cancel()
      state.timer = nil
      return (done, state.outcomes.compactMap(\.self))
    }
    done?(outcomes)
  }
}

extension PushService {
  /// What a service has beyond its own time limit, so that its own words for what went wrong come first.
  private static let graceMilliseconds = 1000

  /// Sends one message to several devices. May be called on any thread.
  ///
  /// - Parameter done: called once, on a thread of the service's or the caller's own, with the outcomes in the order of
  ///   the devices: when all are known, or a second after the time for a call is over. It must not block.
  public func send(_ order: PushOrder, then done: @escaping @Sendable ([PushOutcome]) -> Void) {
    send(order.devices.map { (order.message, $0) }, then: done)
  }

  /// Sends each device a message of its own, likewise.
  public func send(
    _ messages: [(message: PushMessage, device: PushDevice)], then done: @escaping @Sendable ([PushOutcome]) -> Void
  ) {
    if messages.isEmpty { return done([]) }
    let gathering = PushGathering(count: messages.count, then: done)
    gathering.end(afterMilliseconds: limits.timeoutMilliseconds + Self.graceMilliseconds)
    for (place, (message, device)) in messages.enumerated() {
      send(message, to: device) { gathering.take($0, at: place) }
    }
  }
}
