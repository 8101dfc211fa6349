public import Wire

/// One entry of a map channel.
public struct MapEntry<Value: Sendable>: Sendable, Identifiable {
  /// The key, compared byte by byte.
  public let key: String
  /// What was last written there.
  public let value: Value
  /// Where it stands in a map that is ordered by score.
  public let score: Int64
  /// As it came, with its offset, time, tags and author.
  public let publication: Publication
  /// Counts the changes of the view: a greater one is later.
  let revision: UInt64

  /// The key.
  public var id: String { key }
}

/// Whether a map is in step with the server.
public enum MapState: Sendable, Equatable {
  /// It is being read; the view holds nothing, or what it held before the interruption.
  case reading
  /// The view holds what the server has, and follows it.
  case live
  /// Over: by ``MapSubscription/unsubscribe()``, by the server, or with the connection.
  case ended(UnsubscribeCode)
}

/// What a map channel holds at one moment, in its order. A value: it changes no more once you have it.
public struct MapView<Value: Sendable>: Sendable {
  /// All entries, in the order of the map.
  public private(set) var entries: [MapEntry<Value>] = []
  /// Whether this is what the server has.
  public internal(set) var state = MapState.reading
  /// Keys whose data does not fit `Value`: they are left out of ``entries``.
  public var unreadableKeys: [String] { unreadable.map(\.string).sorted { $0.isBefore($1) } }

  let order: MapOrder
  let isReversed: Bool
  private var scores: [IdentifierKey: Int64] = [:]
  private var unreadable: Set<IdentifierKey> = []
  private var revision: UInt64 = 0

  init(order: MapOrder, isReversed: Bool) {
    self.order = order
    self.isReversed = isReversed
  }

  /// How many entries there are.
  public var count: Int { entries.count }
  /// Whether there are none.
  public var isEmpty: Bool { entries.isEmpty }
  /// The values alone, in the order of the map.
  public var values: [Value] { entries.map(\.value) }

  /// What stands at a key; nil where nothing does.
  public subscript(key: String) -> Value? { entry(key)?.value }

  /// The entry of a key; nil where there is none.
  public func entry(_ key: String) -> MapEntry<Value>? {
    guard let score = scores[IdentifierKey(key)] else { return nil }
    return entries[place(score, key)]
  }
}

// MARK: Changes

extension MapView {
  /// Takes one change in; without `value` the key is removed, or its data does not fit.
  mutating func apply(_ publication: Publication, value: Value?) {
    guard let change = publication.change else { return }
    let key = IdentifierKey(change.key)
    if let score = scores.removeValue(forKey: key) { entries.remove(at: place(score, change.key)) }
    unreadable.remove(key)
    if change.removed { return }
    guard let value else {
      unreadable.insert(key)
      return
    }
    revision += 1
    scores[key] = change.score
    let entry = MapEntry(
      key: change.key, value: value, score: change.score, publication: publication, revision: revision)
    entries.insert(entry, at: place(change.score, change.key))
  }

  /// Holds these entries and no others. Those that are as they were keep their revisions: they have not changed.
  mutating func replace(with state: [(publication: Publication, value: Value?)]) {
    let old = Dictionary(entries.map { (IdentifierKey($0.key), $0) }, uniquingKeysWith: { _, last in last })
    (scores, unreadable) = ([:], [])
    var kept: [IdentifierKey: MapEntry<Value>] = [:]
    for (publication, value) in state {
      guard let change = publication.change else { continue }
      let key = IdentifierKey(change.key)
      guard let value else {
        unreadable.insert(key)
        continue
      }
      let before = old[key]
      let isSame = before?.score == change.score && before?.publication.data == publication.data
      if !isSame { revision += 1 }
      kept[key] = MapEntry(
        key: change.key, value: value, score: change.score, publication: publication,
        revision: isSame ? before?.revision ?? revision : revision)
    }
    scores = kept.mapValues(\.score)
    entries = kept.values.sorted { precedes($0.score, $0.key, $1.score, $1.key) }
  }

  /// What has to be done to an older view to make it this one: removals first.
  func changes(since old: MapView<Value>?) -> [MapChange<Value>] {
    guard let old else { return entries.map { .set($0, previous: nil) } }
    var changes: [MapChange<Value>] = []
    for entry in old.entries where scores[IdentifierKey(entry.key)] == nil { changes.append(.removed(entry)) }
    for entry in entries {
      let before = old.entry(entry.key)
      if before?.revision != entry.revision { changes.append(.set(entry, previous: before?.value)) }
    }
    return changes
  }

  private func precedes(_ score: Int64, _ key: String, _ otherScore: Int64, _ otherKey: String) -> Bool {
    let isTurned = (order == .descending) != isReversed
    let (first, second) = isTurned ? ((otherScore, otherKey), (score, key)) : ((score, key), (otherScore, otherKey))
    if order != .key, first.0 != second.0 { return first.0 < second.0 }
    return first.1.isBefore(second.1)
  }

  /// Where the key stands, or is to stand.
  private func place(_ score: Int64, _ key: String) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if precedes(entries[middle].score, entries[middle].key, score, key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// One difference between two views of a map.
public enum MapChange<Value: Sendable>: Sendable {
  /// The key is new, or has another value; `previous` is nil where it is new.
  case set(MapEntry<Value>, previous: Value?)
  /// The key is gone; the entry is the one that was there.
  case removed(MapEntry<Value>)

  /// The key that it is about.
  public var key: String {
    switch self {
    case .set(let entry, _), .removed(let entry): entry.key
    }
  }
}

extension String {
  /// Keys are ordered by their bytes, as the server does.
  fileprivate func isBefore(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
