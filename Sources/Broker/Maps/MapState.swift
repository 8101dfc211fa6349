import Log
import Wire

/// The entries of a map channel that is in use: of each key the publication that wrote it last.
///
/// Subscribers see an entry when its publication is delivered. What the log has not answered for yet stands apart, for
/// those alone who work out the next value from the last.
final class MapState {
  private typealias Place = PlaceList.Place

  private var entries: [IdentifierKey: Publication] = [:]
  /// The last change of a key that the log has not answered for, and the ticket of its entry.
  private struct UnderWay {
    var publication: Publication
    var ticket: UInt64
  }

  private var underWay: [IdentifierKey: UnderWay] = [:]
  private var places = PlaceList()
  /// When entries end, by the wall clock: one time for each key, however often it is written.
  private var ends = DueIndex<IdentifierKey>()
  private let ordersByScore: Bool
  /// Memory that the entries take, roughly.
  private(set) var bytes = 0
  /// When the broker looks here for entries that end; nil: it need not.
  var scheduledEnd: Int64?
  /// Monotonic milliseconds.
  var lastWrite: Int64 = 0

  init(order: MapOrder, entries stored: [Publication]) {
    ordersByScore = order != .key
    for entry in stored { apply(entry) }
  }

  var isEmpty: Bool { entries.isEmpty && underWay.isEmpty }
  /// Of entries that subscribers see, and of new ones on their way.
  var count: Int { entries.count + underWay.keys.count { entries[$0] == nil } }
  var keys: [String] { entries.keys.map(\.string) }
  var nextEnd: Int64? { ends.nextTime }
  /// Entries that end by themselves.
  var endCount: Int { ends.count }

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
    let key = IdentifierKey(change.key)
    let before = change.removed ? entries.removeValue(forKey: key) : entries.updateValue(publication, forKey: key)
    if let before { bytes -= before.cost }
    if !change.removed { bytes += publication.cost }
    if change.removed || change.expires == .max { ends.remove(key) } else { ends.set(key, at: change.expires) }
    let (placeBefore, placeNow) = (before.map(place), change.removed ? nil : place(of: publication))
    guard placeBefore != placeNow else { return }
    if let placeBefore { places.remove(placeBefore) }
    if let placeNow { places.insert(placeNow) }
    if change.removed { entries.giveBackMemory() }
  }

  private func settle(_ publication: Publication) {
    guard let key = publication.change.map({ IdentifierKey($0.key) }) else { return }
    if underWay[key]?.publication.offset == publication.offset { underWay[key] = nil }
  }

  // MARK: The end of entries

  /// The next key whose entry ends by `wall`. It is not named again unless ``end(_:at:)`` says so.
  func nextEnding(upTo wall: Int64) -> String? { ends.next(upTo: wall)?.string }

  /// Looks at the key again at that time, where the map still holds it.
  func end(_ key: String, at wall: Int64) {
    if entries[IdentifierKey(key)] != nil { ends.set(IdentifierKey(key), at: wall) }
  }

  // MARK: Reading

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
    var page = Page()
    var size = 0
    places.forEach(after: start(at: cursor), isDescending: isDescending) { place in
      guard let entry = entries[IdentifierKey(place.key)] else { preconditionFailure("the order lost a key") }
      let isFull = page.entries.count >= limit
      size += entry.cost
      if !isFull && size > bytes { page.isCut = true }
      if !page.entries.isEmpty, isFull || page.isCut {
        page.cursor = Self.cursor(after: page.entries)
        return false
      }
      page.entries.append(entry)
      return true
    }
    return page
  }

  private func place(of entry: Publication) -> Place {
    Place(score: ordersByScore ? entry.change?.score ?? 0 : 0, key: entry.change?.key ?? "")
  }

  /// `score:key`.
  private static func cursor(after page: [Publication]) -> String {
    page.last?.change.map { "\($0.score):\($0.key)" } ?? ""
  }

  private func start(at cursor: String) -> Place? {
    guard let colon = cursor.utf8.firstIndex(of: UInt8(ascii: ":")), let score = Int64(cursor[..<colon]) else {
      return nil
    }
    return Place(score: ordersByScore ? score : 0, key: String(cursor[cursor.utf8.index(after: colon)...]))
  }
}
