import CLinuxIO
import Foundation
import Synchronization

/// Threads that read from the database, so that nobody who decides waits for it: each with a connection of its own.
///
/// A few are enough: they are for the disk to have something to do while one of them waits. The questions that wait are
/// bounded by the requests that wait for their answers.
final class ReaderThreads: Sendable {
  private struct State {
    var waiting = Ring<ReadRequest>()
    var isClosed = false
    var running = 0
  }

  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  private let readers: [any JobReader]
  private let hasThreads: Bool
  private let done: @Sendable (ReadRequest, ReadJob.Found) -> Void

  /// - Parameters:
  ///   - readers: one for each thread.
  ///   - isStepped: there are no threads: whoever calls ``step(_:)`` stands for them.
  ///   - done: called with what was found, on the thread that found it.
  init(
    _ readers: [any JobReader], isStepped: Bool, done: @escaping @Sendable (ReadRequest, ReadJob.Found) -> Void
  ) {
    self.readers = readers
    self.done = done
    hasThreads = !isStepped
    if isStepped { return }
    for (index, reader) in readers.enumerated() {
      let thread = Thread { [self] in
        unsafe linuxio_name_thread("fanfare-read-\(index)")
        work(reader)
        ended.signal()
      }
      thread.start()
    }
  }

  func ask(_ request: ReadRequest) {
    state.withLock { $0.waiting.append(request) }
    if hasThreads { wake.signal() }
  }

  private func next() -> ReadRequest? {
    state.withLock { $0.isClosed ? nil : $0.waiting.popFirst() }
  }

  /// The next request, and those right behind it that can be answered with it.
  private func next(upTo limit: Int) -> [ReadRequest] {
    state.withLock { state in
      guard !state.isClosed, let first = state.waiting.popFirst() else { return [] }
      var requests = [first]
      while first.job.isBatchable, requests.count < limit, state.waiting.first?.job.isBatchable == true,
        let request = state.waiting.popFirst()
      {
        requests.append(request)
      }
      return requests
    }
  }

  private func work(_ reader: any JobReader) {
    while true {
      wake.wait()
      if state.withLock({ $0.isClosed }) { return }
      let requests = next(upTo: reader.batchSize)
      if requests.count > 1 {
        for (request, found) in zip(requests, reader.read(requests.map(\.job))) { done(request, found) }
      } else if let request = requests.first {
        done(request, reader.read(request.job))
      }
    }
  }

  /// Answers up to `limit` questions, where there are no threads.
  ///
  /// - Returns: whether there were any.
  func step(_ limit: Int) -> Bool {
    var left = limit
    while left > 0, let request = next() {
      done(request, readers[0].read(request.job))
      left -= 1
    }
    return left < limit
  }

  /// Ends the threads, and returns when they have ended. Questions that wait are not answered.
  func close() {
    let wasClosed = state.withLock { state in
      defer { state.isClosed = true }
      state.waiting.removeAll()
      return state.isClosed
    }
    if wasClosed { return }
    if hasThreads {
      for _ in readers { wake.signal() }
      for _ in readers { ended.wait() }
    }
    for reader in readers { reader.close() }
  }
}
