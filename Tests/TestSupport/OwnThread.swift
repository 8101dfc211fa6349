import Foundation
import Synchronization
public import Testing

/// Runs code that blocks or takes long on a thread of its own, as a part of the test that calls it.
///
/// Tests share the few threads of Swift's pool: code that stays on one of them for a minute keeps servers of other
/// tests from answering in time. A bare `Thread` would not know which test it belongs to, so its expectations would be
/// lost.
public func onOwnThread<Result: Sendable>(
  _ body: @Sendable () async throws -> Result
) async rethrows -> Result {
  let executor = OwnThreadExecutor()
  defer { executor.end() }
  return try await withTaskExecutorPreference(executor) { try await body() }
}

/// Runs each test of a suite on a thread of its own, with the child tasks that it starts: the test takes none of the
/// pool's threads from others, and waits for none.
public struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await onOwnThread(function)
  }
}

extension Trait where Self == OwnThreadTrait {
  public static var ownThread: Self { Self() }
}

/// One thread that runs jobs in the order in which they come, until it is told to end and has none left.
public final class OwnThreadExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    var hasThread = false
    var hasEnded = false
  }

  private let state = Mutex(State())
  private let comes = DispatchSemaphore(value: 0)

  private static let mark = "fanfare.ownThread"
  /// Whether the caller runs on the thread of such an executor.
  public static var isCurrent: Bool { Thread.current.threadDictionary[mark] != nil }

  public init() {}

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsThread = state.withLock { state in
      state.jobs.append(job)
      defer { state.hasThread = true }
      return !state.hasThread
    }
    if needsThread {
      let thread = Thread { [self] in
        Thread.current.threadDictionary[Self.mark] = true
        run()
      }
      thread.stackSize = 8 << 20
      thread.start()
    }
    comes.signal()
  }

  /// Ends the thread when no jobs are left. Jobs that come afterwards still run, on a new thread if need be.
  public func end() {
    state.withLock { $0.hasEnded = true }
    comes.signal()
  }

  private func run() {
    while true {
      comes.wait()
      let jobs = state.withLock { state in
        defer { state.jobs = [] }
        return state.jobs
      }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
      let isOver = state.withLock { state in
        guard state.hasEnded && state.jobs.isEmpty else { return false }
        state.hasThread = false
        return true
      }
      if isOver { return }
    }
  }
}
