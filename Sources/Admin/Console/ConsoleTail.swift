import Broker
import Synchronization
import Wire

/// One live tail: a tap of a channel at the broker's desk, from when it is made until it is ended or let go.
final class ConsoleTail: Sendable {
  /// Milliseconds between two looks at what has come.
  static let interval: Int64 = 250
  /// Looks without anything to tell after which a comment is sent.
  private static let quietLooks = 20

  private struct State {
    var tap: UInt64?
    var quiet = ConsoleTail.quietLooks
  }

  private let channel: ChannelName
  private let desk: ServiceDesk
  private let clock: ConsoleClock
  private let sample: SharedSample
  private let state = Mutex(State())
  private let mayGoOn: @Sendable () -> Bool
  private let ended: @Sendable () -> Void

  /// The sample, which the tap holds without holding the tail.
  private final class SharedSample: Sendable {
    let sample: Mutex<TailSample>

    init(_ filter: TagFilter?) { sample = Mutex(TailSample(filter: filter)) }
  }

  /// - Parameters:
  ///   - mayGoOn: asked at each look: whether the session is still open.
  ///   - ended: called once.
  init(
    _ channel: ChannelName, filter: TagFilter?, at desk: ServiceDesk, clock: ConsoleClock,
    mayGoOn: @escaping @Sendable () -> Bool, ended: @escaping @Sendable () -> Void
  ) {
    self.channel = channel
    self.desk = desk
    self.clock = clock
    self.mayGoOn = mayGoOn
    self.ended = ended
    let sample = SharedSample(filter)
    self.sample = sample
    let tap = desk.tap(channel) { publication in
      let now = clock.now()
      sample.sample.withLock { $0.offer(publication, at: now) }
    }
    state.withLock { $0.tap = tap }
  }

  deinit { end() }

  /// The next bytes for whoever reads; nil: the tail has ended.
  func next() async -> [UInt8]? {
    while !Task.isCancelled, mayGoOn() {
      let taken = sample.sample.withLock { $0.take() }
      if !taken.isEmpty {
        state.withLock { $0.quiet = 0 }
        return taken.events(binary: desk.isBinary(channel))
      }
      // The first look tells that the tail is open.
      let isQuiet = state.withLock { state in
        state.quiet += 1
        guard state.quiet > Self.quietLooks else { return false }
        state.quiet = 0
        return true
      }
      if isQuiet { return ConsoleEvents.comment }
      await clock.pause(Self.interval)
    }
    end()
    return nil
  }

  private func end() {
    guard let tap = state.withLock({ $0.tap.take() }) else { return }
    desk.untap(channel, tap)
    ended()
  }
}
