import Console
import Wire

/// Works out the frames of the live view, as `fanfare top` does: from the metrics of each process once a frame, and from what
/// the gateways tell of channels and clients every few seconds, because they walk through all of them for it.
actor LiveFrames {
  /// Metrics of other processes, and what could not be looked at.
  struct Others: Sendable {
    var pages: [String] = []
    var troubles: [String] = []
  }

  /// Milliseconds between two questions to the gateways, where there are few channels and clients.
  static let topInterval: Int64 = 5000
  /// Where there are so many that a look takes long, the gateways rest so many times as long before the next: the console
  /// costs them no more with a hundred thousand channels than with a few thousand.
  static let topRest: Int64 = 200
  /// Milliseconds after which they are asked in any case.
  static let longestTopInterval: Int64 = 30_000
  /// Milliseconds after which an earlier look says nothing about now.
  private static let longestGap: Int64 = 10_000

  private let clock: ConsoleClock
  private let metrics: @Sendable () -> [UInt8]
  private let others: @Sendable () async -> Others
  /// The answer to `top`; nil: there is no broker in this process, or it did not answer.
  private let top: @Sendable () async -> JSONValue?
  private var before: TopSnapshot?
  private var looks: (before: TopSnapshot?, now: TopSnapshot)?
  private var topAt: Int64?
  /// Milliseconds until the next question.
  private var interval = LiveFrames.topInterval

  init(
    clock: ConsoleClock, metrics: @escaping @Sendable () -> [UInt8], others: @escaping @Sendable () async -> Others,
    top: @escaping @Sendable () async -> JSONValue?
  ) {
    self.clock = clock
    self.metrics = metrics
    self.others = others
    self.top = top
  }

  /// The next frame, as JSON.
  func next() async -> [UInt8] {
    let now = clock.now()
    let others = await others()
    let pages = [String(decoding: metrics(), as: UTF8.self)] + others.pages
    var snapshot = TopSnapshot(at: Double(now) / 1000, pages: pages.map { MetricsPage($0) })
    snapshot.troubles = others.troubles
    await lookAtTop(now)
    if let earlier = before, snapshot.at - earlier.at > Double(Self.longestGap) / 1000 { before = nil }
    var frame = TopFrame(before, snapshot)
    before = snapshot
    if let looks {
      let seen = TopFrame(looks.before, looks.now)
      (frame.channels, frame.slowest, frame.busiest) = (seen.channels, seen.slowest, seen.busiest)
      frame.troubles += seen.troubles
    }
    return frame.json
  }

  private func lookAtTop(_ now: Int64) async {
    if let topAt, now - topAt < interval { return }
    let isLongAgo = topAt.map { now - $0 > 2 * interval } ?? true
    topAt = now
    let begun = clock.now()
    let answer = await top()
    interval = min(max(Self.topInterval, Self.topRest * (clock.now() - begun)), Self.longestTopInterval)
    guard let answer else {
      looks = nil
      return
    }
    var seen = TopSnapshot(at: Double(now) / 1000, pages: [])
    seen.add(top: answer)
    looks = (isLongAgo ? nil : looks?.now, seen)
  }
}
