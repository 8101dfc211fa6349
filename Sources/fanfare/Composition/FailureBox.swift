import ServiceLifecycle
import Synchronization

/// Ends the process's wait: the backbone failed, or somebody asked for the end.
final class FailureBox: Sendable {
  private let state = Mutex<(error: (any Error)?, waiter: CheckedContinuation<Void, Never>?)>((nil, nil))

  var error: (any Error)? { state.withLock { $0.error } }

  func fail(_ error: any Error) {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.error = error
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }

  func waitForFailureOrShutdown() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.waitForFailure() }
      group.addTask { try? await gracefulShutdown() }
      await group.next()
      finish()
      group.cancelAll()
    }
  }

  private func waitForFailure() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state -> Bool in
        if state.error != nil { return true }
        state.waiter = continuation
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  private func finish() {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }
}
