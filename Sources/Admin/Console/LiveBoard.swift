import Synchronization

/// One frame a second for all who watch, worked out once; none while nobody does.
///
///     nobody watches ── the first comes ──▶ a task works out frames ── the last has gone ──▶ nobody watches
final class LiveBoard: Sendable {
  /// Milliseconds between two frames.
  static let interval: Int64 = 1000

  private struct Watcher {
    let mayGoOn: @Sendable () -> Bool
    let frames: AsyncStream<[UInt8]>.Continuation
  }

  private struct State {
    var watchers: [UInt64: Watcher] = [:]
    var next: UInt64 = 0
    var isRunning = false
  }

  private let state = Mutex(State())
  private let clock: ConsoleClock
  private let frame: @Sendable () async -> [UInt8]

  /// - Parameter frame: works out a frame, as JSON.
  init(clock: ConsoleClock, frame: @escaping @Sendable () async -> [UInt8]) {
    self.clock = clock
    self.frame = frame
  }

  /// - Parameters:
  ///   - mayGoOn: asked before each frame: whether the session is still open.
  ///   - ended: called once.
  /// - Returns: events. Whoever takes them slowly gets the newest.
  func watch(
    mayGoOn: @escaping @Sendable () -> Bool, ended: @escaping @Sendable () -> Void
  ) -> AsyncStream<[UInt8]> {
    let (stream, frames) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    frames.onTermination = { [weak self] _ in
      self?.state.withLock { $0.watchers[number] = nil }
      ended()
    }
    let begins = state.withLock { state in
      state.watchers[number] = Watcher(mayGoOn: mayGoOn, frames: frames)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if begins { Task.detached { [self] in await run() } }
    return stream
  }

  /// Ends all streams.
  func close() {
    for watcher in state.withLock({ Array($0.watchers.values) }) { watcher.frames.finish() }
  }

  private func run() async {
    while let watchers = goOn() {
      let open = watchers.filter { $0.mayGoOn() }
      if open.count < watchers.count {
        for watcher in watchers where !watcher.mayGoOn() { watcher.frames.finish() }
        continue
      }
      let event = ConsoleEvents.event(await frame())
      for watcher in open { watcher.frames.yield(event) }
      await clock.pause(Self.interval)
    }
  }

  /// Who watches; nil: nobody, and the task ends.
  private func goOn() -> [Watcher]? {
    state.withLock { state in
      state.isRunning = !state.watchers.isEmpty
      return state.isRunning ? Array(state.watchers.values) : nil
    }
  }
}
