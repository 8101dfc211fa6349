import Foundation
import Synchronization

/// Wakes whoever waits, every ten milliseconds.
///
/// `Task.sleep` would do, but for its wake-up, which needs a turn on the pool's threads: under load that takes a minute.
final class Ticker: Sendable {
  static let shared = Ticker()

  private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

  private init() {
    let thread = Thread { [self] in
      while true {
        usleep(10_000)
        let due = waiting.withLock { waiting in
          defer { waiting = [] }
          return waiting
        }
        for continuation in due { continuation.resume() }
      }
    }
    thread.name = "ticker"
    thread.start()
  }

  func next() async {
    await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
  }
}
