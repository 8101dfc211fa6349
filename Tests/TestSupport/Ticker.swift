import Foundation
import Synchronization

/// Resumes all tasks that wait for it, every ten milliseconds.
///
/// `Task.sleep` is not used, because its wake-up needs one of the pool's threads, which under load takes a minute.
final class Ticker: Sendable {
  static let shared = Ticker()

  private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

  private init() {
    Thread.detachNewThread { [self] in
      while true {
        usleep(10_000)
        let due = waiting.withLock { waiting in
          defer { waiting = [] }
          return waiting
        }
        for continuation in due { continuation.resume() }
      }
    }
  }

  func next() async {
    await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
  }
}
