import Foundation
import Logging
public import Log
import Synchronization

/// A broker with a process for each partition of a log in PostgreSQL, as far as the log goes: stores that stand in line or
/// work, and that are opened again when they were asked to hand over, as a supervisor would.
///
/// Unchecked: what is no constant is atomic.
public final class StandingBroker: @unchecked Sendable {
  private let isStopped = Atomic(false)
  /// Counted up when the process of the partition is to end.
  private let ends: [DispatchSemaphore]
  private let processes = DispatchGroup()

  /// - Parameter options: of all processes. Their owner's name is followed by `, process` and the partition's number.
  public init(_ options: PostgresStore.Options, partitions: Int) {
    ends = (0..<partitions).map { _ in DispatchSemaphore(value: 0) }
    for partition in 0..<partitions {
      var its = options
      (its.partition, its.partitions) = (partition, partitions)
      its.owner = "\(options.owner), process \(partition)"
      its.isStopping = { [weak self] in self?.isStopped.load(ordering: .acquiring) ?? true }
      its.onDrain = { [end = ends[partition]] in end.signal() }
      processes.enter()
      Thread.detachNewThread { [self, its] in
        while !isStopped.load(ordering: .acquiring) { work(its) }
        processes.leave()
      }
    }
  }

  private func work(_ options: PostgresStore.Options) {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    guard let store = try? PostgresStore(options: options, logger: quiet, onCompletion: { _ in }) else { return }
    ends[options.partition].wait()
    store.close()
  }

  /// Ends all processes in order, and waits until they have ended.
  public func stop() {
    isStopped.store(true, ordering: .releasing)
    for end in ends { end.signal() }
    processes.wait()
  }
}
