/// What a channel's low lane keeps for readers that lag: the newest frame of each key, in the order of publishing.
///
/// One table serves all lagging readers of a channel and wire format: each remembers the last version that it was
/// sent, and goes on after it. Its memory is bounded in bytes; beyond the bound the oldest frame is dropped, so that a
/// channel with a million keys costs no more than one with a hundred.
///
/// Costs: `put` and `remove` O(1) amortised, finding where a reader goes on O(log n).
struct ConflationTable {
  struct Entry: Equatable {
    /// Rising over the table's life, from 1.
    let version: UInt64
    let frame: [UInt8]
  }

  private struct Held {
    let key: ConflationKey
    let frame: [UInt8]
    var byteCount: Int { frame.count + key.byteCount + ConflationTable.overheadBytes }
  }

  private struct Slot {
    let version: UInt64
    /// Nil where a newer frame of the same key stands further on, or this one was dropped.
    var held: Held?
  }

  /// What an entry costs beside its frame and key: two arrays' headers (64), the slot (24), a place in the
  /// dictionary at three quarters' load (24), and a replaced slot that is not cleared away yet (24).
  static let overheadBytes = 136

  /// Empty slots that are not worth clearing away.
  private static let emptySlotsAllowed = 32

  let limitBytes: Int
  /// Bytes held, with what entries cost beside their frames; at most ``limitBytes``.
  private(set) var byteCount = 0
  /// Version of the newest frame that was ever put; 0 before the first. A reader that begins to lag goes on after it.
  private(set) var latestVersion: UInt64 = 0
  /// All entries and the gaps between them, in order of versions.
  private var slots: [Slot] = []
  /// Every slot before this place is empty.
  private var first = 0
  private var places: [ConflationKey: Int] = [:]

  /// - Parameter limitBytes: of frames and keys, and ``overheadBytes`` for each.
  init(limitBytes: Int) { self.limitBytes = limitBytes }

  var count: Int { places.count }
  var isEmpty: Bool { places.isEmpty }

  // MARK: Writing

  /// Takes the frame in, in place of an older one with the same key.
  ///
  /// A frame that is larger than the limit by itself is dropped at once, and the older one with it: that one would
  /// show a state which is over.
  ///
  /// - Returns: the frame's version, higher than all before.
  @discardableResult
  mutating func put(_ key: ConflationKey, _ frame: [UInt8]) -> UInt64 {
    if let place = places[key] { clear(place) }
    latestVersion += 1
    let held = Held(key: key, frame: frame)
    places[key] = slots.count
    slots.append(Slot(version: latestVersion, held: held))
    byteCount += held.byteCount
    while byteCount > limitBytes, let oldest = oldestPlace() { clear(oldest) }
    compactIfWorthwhile()
    return latestVersion
  }

  /// Forgets everything, because nobody lags any more. Versions go on rising.
  mutating func removeAll() {
    slots = []
    first = 0
    places = [:]
    byteCount = 0
  }

  private mutating func clear(_ place: Int) {
    guard let held = slots[place].held else { return }
    slots[place].held = nil
    places[held.key] = nil
    byteCount -= held.byteCount
  }

  private mutating func oldestPlace() -> Int? {
    while first < slots.count, slots[first].held == nil { first += 1 }
    return first < slots.count ? first : nil
  }

  /// Keeps empty slots fewer than full ones, so that what is cleared away here was paid for by the writes before.
  private mutating func compactIfWorthwhile() {
    guard slots.count - places.count > places.count + Self.emptySlotsAllowed else { return }
    slots.removeAll { $0.held == nil }
    first = 0
    for (place, slot) in slots.enumerated() {
      if let held = slot.held { places[held.key] = place }
    }
  }

  // MARK: Reading

  /// All frames with a higher version, in order of versions.
  func newest(after version: UInt64) -> [Entry] {
    slots[place(after: version)...].compactMap { slot in
      slot.held.map { Entry(version: slot.version, frame: $0.frame) }
    }
  }

  /// The first place, empty or not, with a higher version.
  private func place(after version: UInt64) -> Int {
    var (low, high) = (first, slots.count)
    while low < high {
      let middle = low + (high - low) / 2
      if slots[middle].version <= version { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
