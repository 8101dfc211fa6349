import Log
import Wire

/// The entries of a map channel that is in use: for each key the publication that wrote it last.
///
/// Subscribers see an entry when its publication is delivered. Changes that the log has not answered for stand apart
/// (``latest(_:)``), for requests that work out the next value from the last.
final class MapEntries {
  private typealias Place = PlaceList.Place

  private var entries: [IdentifierKey: Publication] = [:]
  /// The last change of a key that the log has not answered for, and the ticket of its entry.
  private struct UnderWay {
    var publication: Publication
    var ticket: UInt64
  }

  private var underWay: [IdentifierKey: UnderWay] = [:]
  private var places = PlaceList()
  /// When entries end, in milliseconds since 1970: one time for each key, however often it is written.
  private var ends = DueIndex<IdentifierKey>()
  private let ordersByScore: Bool
  /// Memory that the entries take, roughly.
  private(set) var bytes = 0
  /// The end, in milliseconds since 1970, at which the channel table will look at this map; nil: none is noted.
  var scheduledEnd: Int64?
  /// When the map was last written or opened, in monotonic milliseconds.
  var lastWrite: Int64 = 0
  /// The top of the channel's stream when the map was opened.
  var openedAt: UInt64 = 0

  init(order: MapOrder, entries stored: [Publication]) {
    ordersByScore = order != .key
    for entry in stored { apply(entry) }
  }

  var isEmpty: Bool { entries.isEmpty && underWay.isEmpty }
  /// How many keys the map holds, including new ones on their way to the disk.
  var count: Int { entries.count + underWay.keys.count { entries[$0] == nil } }
  var keys: [String] { entries.keys.map(\.string) }
  /// The entries as subscribers see them, in no order.
  var publications: [Publication] { Array(entries.values) }
  var nextEnd: Int64? { ends.nextTime }
  /// How many entries end by themselves. For tests.
  var endCount: Int { ends.count }

  /// The entry as subscribers see it.
  func entry(_ key: String) -> Publication? { entries[IdentifierKey(key)] }

  /// The entry that a publication wrote, where none has written its key since. Looks through all entries.
  func entry(writtenAt offset: UInt64) -> Publication? { entries.values.first { $0.offset == offset } }

  /// The entry as it will be once everything that is under way is delivered; nil: there will be none.
  func latest(_ key: String) -> Publication? {
    let key = IdentifierKey(key)
    guard let waiting = underWay[key]?.publication else { return entries[key] }
    return waiting.change?.removed == true ? nil : waiting
  }

  func isUnderWay(_ key: String) -> Bool { underWay[IdentifierKey(key)] != nil }

  /// The ticket of the change under way that ``latest(_:)`` rests on; nil: none is under way.
  func ticket(of key: String) -> UInt64? { underWay.isEmpty ? nil : underWay[IdentifierKey(key)]?.ticket }

  /// Notes a change that the log has taken and not answered for.
  func pending(_ publication: Publication, ticket: UInt64) {
    guard let change = publication.change else { return }
    underWay[IdentifierKey(change.key)] = UnderWay(publication: publication, ticket: ticket)
  }

  func failed(_ publication: Publication) { clearUnderWay(publication) }

  /// Applies a change, because its publication is delivered.
  func apply(_ publication: Publication) {
    guard let change = publication.change else { return }
    clearUnderWay(publication)
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

  private func clearUnderWay(_ publication: Publication) {
    guard let key = publication.change.map({ IdentifierKey($0.key) }) else { return }
    if underWay[key]?.publication.offset == publication.offset { underWay[key] = nil }
  }

  // MARK: The end of entries

  /// Takes out the next key whose entry ends by `wall`, in milliseconds since 1970. The key is not returned again
  /// unless ``end(_:at:)`` sets a new time.
  func nextEnding(upTo wall: Int64) -> String? { ends.next(upTo: wall)?.string }

  /// Sets the time at which the key is to be looked at again, if the map still holds it.
  func end(_ key: String, at wall: Int64) {
    if entries[IdentifierKey(key)] != nil { ends.set(IdentifierKey(key), at: wall) }
  }

  // MARK: Reading

  struct Page {
    var entries: [Publication] = []
    /// Where the next page begins; empty: this is the last page.
    var cursor = ""
    /// The limit of bytes ended the page before the limit of entries did, or its only entry is larger than that limit.
    var isCut = false
  }

  /// - Parameters:
  ///   - cursor: of the page before; a cursor that no page had begins from the start.
  ///   - bytes: most bytes of the entries in the page. One entry is in it in any case.
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
