import Log
import Wire

/// The entries of a map channel that is in use: of each key the publication that wrote it last.
///
/// Subscribers see an entry when its publication is delivered. What the log has not answered for yet stands apart, for
/// those alone who work out the next value from the last.
final class MapState {
  private struct Place: Comparable {
    var score: Int64
    var key: String

    static func < (a: Place, b: Place) -> Bool {
      a.score != b.score ? a.score < b.score : a.key.utf8.lexicographicallyPrecedes(b.key.utf8)
    }
  }

  private var entries: [IdentifierKey: Publication] = [:]
  /// The last change of a key that the log has not answered for, and the ticket of its entry.
  private struct UnderWay {
    var publication: Publication
    var ticket: UInt64
  }

  private var underWay: [IdentifierKey: UnderWay] = [:]
  /// Keys in order, smallest first; nil where a change has spoilt it.
  private var places: [Place]?
  private let ordersByScore: Bool

  init(order: MapOrder, entries stored: [Publication]) {
    ordersByScore = order != .key
    for entry in stored { apply(entry) }
  }

  var isEmpty: Bool { entries.isEmpty && underWay.isEmpty }
  /// Of entries that subscribers see, and of new ones on their way.
  var count: Int { entries.count + underWay.keys.count { entries[$0] == nil } }
  var keys: [String] { entries.keys.map(\.string) }

  /// What subscribers see.
  func entry(_ key: String) -> Publication? { entries[IdentifierKey(key)] }

  /// What the key holds once everything that is under way is delivered.
  func latest(_ key: String) -> Publication? {
    let key = IdentifierKey(key)
    guard let waiting = underWay[key]?.publication else { return entries[key] }
    return waiting.change?.removed == true ? nil : waiting
  }

  func isUnderWay(_ key: String) -> Bool { underWay[IdentifierKey(key)] != nil }

  /// Of the entry upon which ``latest(_:)`` rests, where the log has not answered for it.
  func ticket(of key: String) -> UInt64? { underWay.isEmpty ? nil : underWay[IdentifierKey(key)]?.ticket }

  /// The log took it and has not answered yet.
  func taken(_ publication: Publication, ticket: UInt64) {
    guard let change = publication.change else { return }
    underWay[IdentifierKey(change.key)] = UnderWay(publication: publication, ticket: ticket)
  }

  func failed(_ publication: Publication) { settle(publication) }

  /// It is delivered now.
  func apply(_ publication: Publication) {
    guard let change = publication.change else { return }
    settle(publication)
    let before = entries.updateValue(publication, forKey: IdentifierKey(change.key))
    if change.removed { entries[IdentifierKey(change.key)] = nil }
    if change.removed || before == nil || ordersByScore && before?.change?.score != change.score { places = nil }
  }

  private func settle(_ publication: Publication) {
    guard let key = publication.change.map({ IdentifierKey($0.key) }) else { return }
    if underWay[key]?.publication.offset == publication.offset { underWay[key] = nil }
  }

  struct Page {
    var entries: [Publication] = []
    /// Where the next page begins; empty: there is none.
    var cursor = ""
    /// The bytes did not hold all that the limit allows, or not even the first entry.
    var isCut = false
  }

  /// - Parameters:
  ///   - cursor: of the page before; one that is not ours begins anew.
  ///   - bytes: of the entries in a page; at least one entry is in it.
  func page(after cursor: String, limit: Int, bytes: Int, isDescending: Bool) -> Page {
    let places = self.places ?? sorted()
    self.places = places
    var index = Self.place(of: cursor).map { start(after: $0, in: places, isDescending) } ?? 0
    var page = Page()
    var size = 0
    while index < places.count {
      let place = places[isDescending ? places.count - 1 - index : index]
      guard let entry = entries[IdentifierKey(place.key)] else { preconditionFailure("the order lost a key") }
      let isFull = page.entries.count >= limit
      size += entry.cost
      if !isFull && size > bytes { page.isCut = true }
      if !page.entries.isEmpty, isFull || page.isCut {
        page.cursor = Self.cursor(after: page.entries)
        return page
      }
      page.entries.append(entry)
      index += 1
    }
    return page
  }

  private func sorted() -> [Place] {
    entries.map { Place(score: ordersByScore ? $0.value.change?.score ?? 0 : 0, key: $0.key.string) }.sorted()
  }

  /// The first index, counted in the direction of reading, that lies after a place: by bisection, so that a key that is
  /// gone meanwhile leaves its place behind.
  private func start(after place: Place, in places: [Place], _ isDescending: Bool) -> Int {
    let place = ordersByScore ? place : Place(score: 0, key: place.key)
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      let other = places[isDescending ? places.count - 1 - middle : middle]
      let isBeforeOrAt = isDescending ? !(other < place) : !(place < other)
      if isBeforeOrAt { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// `score:key`.
  private static func cursor(after page: [Publication]) -> String {
    page.last?.change.map { "\($0.score):\($0.key)" } ?? ""
  }

  private static func place(of cursor: String) -> Place? {
    guard let colon = cursor.utf8.firstIndex(of: UInt8(ascii: ":")), let score = Int64(cursor[..<colon]) else {
      return nil
    }
    return Place(score: score, key: String(cursor[cursor.utf8.index(after: colon)...]))
  }
}
