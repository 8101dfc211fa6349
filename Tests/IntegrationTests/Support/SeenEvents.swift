import FanfareClient
import Synchronization
import Wire

/// What a client in Swift was told on a subscription.
final class SeenEvents: Sendable {
  private struct State {
    var data: [String] = []
    var hasBegun = false
    var interruptions = 0
    var failedRecoveries = 0
  }

  private let state = Mutex(State())

  var data: [String] { state.withLock { $0.data } }
  var count: Int { state.withLock { $0.data.count } }
  var hasBegun: Bool { state.withLock { $0.hasBegun } }
  var interruptions: Int { state.withLock { $0.interruptions } }
  var failedRecoveries: Int { state.withLock { $0.failedRecoveries } }

  func read(_ subscription: Subscription) async {
    for await event in subscription.events {
      state.withLock { state in
        switch event {
        case .publication(let publication):
          // Payloads are JSON strings without escapes.
          state.data.append(String(decoding: publication.data.dropFirst().dropLast(), as: UTF8.self))
        case .subscribing: state.interruptions += 1
        case .subscribed(_, wasRecovering: true, recovered: false): state.failedRecoveries += 1
        case .subscribed: state.hasBegun = true
        default: break
        }
      }
    }
  }
}
