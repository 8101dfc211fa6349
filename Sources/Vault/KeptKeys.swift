import Dispatch
import Synchronization

/// A set of keys in memory, and in the place where it is kept: what is in memory was saved before.
///
/// Looking at a key never waits. Changing keys waits for the place, on the caller's thread.
final class KeptKeys: Sendable {
  fileprivate struct Contents {
    var keys: HourKeys
    /// What was saved last, without the keys.
    var version: Int64
    var lease: UInt64
    /// The time for which the thread is to prepare keys next; nil: it has nothing to do.
    var wanted: Int64?
    /// In a place that is visited: keys of hours before this one are not taken in.
    var oldest = Int64.min
    /// When such a place may be read next.
    var nextReading = DispatchTime.now()
  }

  let place: any KeyPlace
  private let pause: DispatchTimeInterval
  private let contents: Mutex<Contents>
  /// Locked while the set is saved, so that changes come one after another.
  private let writing = Mutex(())

  /// - Parameter pause: between two readings of a place that is visited at least: commands that wait for keys ask for
  ///   them again and again.
  /// - Throws: where the set cannot be read, or is damaged.
  init(in place: any KeyPlace, pause: DispatchTimeInterval = .seconds(1)) throws(VaultFault) {
    self.place = place
    self.pause = pause
    contents = Mutex(Contents(keys: HourKeys(), version: 0, lease: 0))
    place.whenChanged { [weak self] set throws(VaultFault) in try self?.take(set) }
    try take(place.load())
  }

  subscript(hour: Int64) -> [UInt8]? { contents.withLock { $0.keys[hour] } }

  /// Changes the keys in their place first, then in memory. Where they cannot be saved nothing changes.
  ///
  /// - Parameter body: returns how many keys it changed; 0 saves nothing.
  /// - Returns: what `body` did.
  func change(_ body: (inout HourKeys) -> Int) throws(VaultFault) -> Int {
    let result = writing.withLock { _ -> Result<Int, VaultFault> in
      let (former, base) = contents.withLock { contents in
        (contents.keys, KeySet(bytes: [], version: contents.version, lease: contents.lease))
      }
      var changed = former
      let count = body(&changed)
      if count == 0 { return .success(0) }
      let set = base.next(changed.encoded)
      do throws(VaultFault) { try place.save(set) } catch { return .failure(error) }
      contents.withLock { contents in
        // Taken anew meanwhile: what is there has this change, or one of somebody who came after it.
        guard contents.version == base.version, contents.lease == base.lease else { return }
        contents.replace(by: changed)
        contents.version = set.version
      }
      return .success(count)
    }
    return try result.get()
  }

  /// Takes in a set that was read, unless one of a later lease was taken in meanwhile: leases rise.
  private func take(_ set: KeySet) throws(VaultFault) {
    guard var keys = set.bytes.isEmpty ? HourKeys() : HourKeys(set.bytes) else { throw .damaged(path: place.path) }
    contents.withLock { contents in
      guard set.lease >= contents.lease else { return }
      keys.forget(before: contents.oldest)
      contents.replace(by: keys)
      (contents.version, contents.lease) = (set.version, set.lease)
    }
  }

  /// Forgets keys of hours before this one, in memory alone: whoever keeps the place destroys them there.
  func forget(before hour: Int64) {
    contents.withLock { $0.keys.forget(before: hour) }
  }

  /// Reads again what is kept in a place that is visited. Keys of hours before this one are forgotten whether or not it
  /// can be read, and come back by no reading, another set's included: home destroys them in their place, and may be
  /// away.
  func visit(from hour: Int64) throws(VaultFault) {
    contents.withLock { contents in
      contents.oldest = hour
      contents.keys.forget(before: hour)
    }
    defer { contents.withLock { $0.nextReading = .now() + pause } }
    try place.readAgain()
  }

  // MARK: Preparing on a thread

  /// Has `prepare` called on the queue with a time, and returns at once. Of several times that come meanwhile the newest
  /// counts. Where the place is visited, it is not called before the next reading may be made.
  func prepareSoon(at now: Int64, on queue: DispatchQueue, _ prepare: @escaping @Sendable (Int64) -> Void) {
    let (isIdle, earliest) = contents.withLock { contents in
      defer { contents.wanted = now }
      return (contents.wanted == nil, contents.nextReading)
    }
    guard isIdle else { return }
    let work: @Sendable () -> Void = { [weak self] in
      guard let now = self?.contents.withLock({ $0.wanted }) else { return }
      prepare(now)
    }
    if place.isVisited { queue.asyncAfter(deadline: earliest, execute: work) } else { queue.async(execute: work) }
  }

  /// The thread is through with what was wanted. To be called before anybody is told, who may want more.
  func isPrepared() { contents.withLock { $0.wanted = nil } }
}

extension KeptKeys.Contents {
  /// Overwrites the keys that go, since removing them would leave their bytes in memory.
  fileprivate mutating func replace(by keys: HourKeys) {
    for hour in self.keys.keys.keys where keys[hour] != self.keys[hour] { self.keys.overwrite(hour) }
    self.keys = keys
  }
}
