import Foundation
import Log
import Wire

/// What partitions say to each other of deletions (``UserDeletions``). It goes the way of what apps say, in the order of
/// commits, so it separates what was said of a user before from what is said afterwards.
///
/// A deletion is done in all partitions or in none: each goes through what it has, and sends all others a barrier when
/// nothing is left there that could be said of the users. Until their barriers have come it drops what names one. Without
/// that, a partition that is late would tell others of a user whom those have forgotten already, and who is deleted for
/// good.
///
/// Home gives the jobs to the others in its own order. So no two partitions wait for each other: of the deletions that
/// are not done, the first is in the batch of each.
enum DeletionRelay: Codable, Equatable {
  /// Home has taken a request in: the receiver's part of it.
  case job(UserDeletions.Job)
  /// The sender says nothing more of the users of these deletions.
  case barrier(partition: Int, numbers: [UInt64])

  /// Stands where relays of apps have the app's name.
  static let sender = "fanfare.deletions"
}

extension BrokerCore {
  private var otherPartitions: [Int] {
    (0..<configuration.partitioning.count).filter { $0 != configuration.partition }
  }

  private func relay(_ says: DeletionRelay, to partition: Int) -> LogRelay {
    LogRelay(to: partition, of: DeletionRelay.sender, UserDeletions.encode(says))
  }

  // MARK: Sending

  /// Makes a job that home takes in home's part of it.
  ///
  /// - Returns: the other partitions' parts; none where the job comes from home, or there are no others.
  func share(_ job: inout UserDeletions.Job, number: UInt64) -> [LogRelay] {
    let others = otherPartitions
    guard !others.isEmpty, configuration.partition == Partitioning.home, job.number == nil else { return [] }
    job.number = number
    let whole = job
    func part(_ partition: Int) -> UserDeletions.Job {
      var part = whole
      part.channels = whole.channels.filter { channel in
        (try? ChannelName(channel)).map(configuration.partitioning.partition(of:)) == partition
      }
      return part
    }
    job = part(Partitioning.home)
    return others.map { relay(.job(part($0)), to: $0) }
  }

  /// Sends the barrier of the batch.
  ///
  /// - Returns: whether the next step can be done at once.
  func part(_ deletions: UserDeletions, in turn: inout Turn) throws(ClientError) -> Bool {
    if deletions.writing > 0 { return false }
    let jobs = deletions.batch.filter { $0.number != nil }
    guard let first = jobs.first else {
      deletions.phase = .readmitting
      return true
    }
    let says = DeletionRelay.barrier(partition: configuration.partition, numbers: jobs.compactMap(\.number))
    let relays = otherPartitions.map { relay(says, to: $0) }
    // A relay needs an entry to go with: this one says nothing new.
    try writeDeletions([(first.key, UserDeletions.encode(first))], relaying: relays, in: &turn)
    deletions.phase = .parted
    return true
  }

  /// - Returns: whether the next step can be done at once.
  func awaitBarriers(_ deletions: UserDeletions) -> Bool {
    if deletions.writing > 0 { return false }
    if deletions.takeWriteFailure() {
      deletions.phase = .parting
    } else if deletions.hasBarriers(of: otherPartitions) {
      deletions.phase = .readmitting
    } else {
      return false
    }
    return true
  }

  // MARK: Taking in

  /// - Throws: why it cannot be taken in, for now or for good.
  func takeInDeletion(_ relay: OutboxMessage, in turn: inout Turn) throws(ClientError) {
    guard let deletions, deletions.isLoaded else { throw .draining }
    let requester = Requester.outbox(relay.id)
    guard let says = UserDeletions.decode(DeletionRelay.self, relay.data ?? []) else {
      throw .badRequest.saying("another partition says of a deletion what this version of Fanfare does not know")
    }
    switch says {
    case .job(let job): try add(job, deletions, for: requester, in: &turn)
    case .barrier(let partition, let numbers):
      let jobs = deletions.note(barrierOf: partition, for: Set(numbers))
      // It was sent again after a restart, and is known.
      if jobs.isEmpty { return answer(requester, .result([]), in: &turn) }
      let barrier = PendingBarrier(requester, of: partition, jobs)
      do throws(ClientError) {
        try writeDeletions(jobs.map { ($0.key, UserDeletions.encode($0)) }, for: barrier, in: &turn)
      } catch {
        deletions.forget(barrierOf: partition, for: barrier.numbers)
        throw error
      }
    }
  }
}
