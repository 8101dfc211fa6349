import Wire

/// The keys of a map in their order: found, added and removed by bisection.
///
/// An array in pieces, so that adding a key to a map of 100,000 moves some hundreds of its neighbours and sorts
/// nothing.
struct PlaceList {
  struct Place: Comparable {
    var score: Int64
    var key: String

    static func < (a: Place, b: Place) -> Bool {
      a.score != b.score ? a.score < b.score : a.key.utf8.lexicographicallyPrecedes(b.key.utf8)
    }

    static func == (a: Place, b: Place) -> Bool { a.score == b.score && a.key.hasSameBytes(as: b.key) }
  }

  /// A piece that would be longer is cut in two.
  private static let pieceLimit = 256

  /// The places in order, in pieces of which none is empty.
  private var pieces: [[Place]] = []
  private(set) var count = 0

  /// - Parameter place: one that is not there yet.
  mutating func insert(_ place: Place) {
    count += 1
    guard !pieces.isEmpty else {
      pieces.append([place])
      return
    }
    let piece = min(Self.first(in: pieces) { $0[$0.count - 1] < place }, pieces.count - 1)
    let index = Self.first(in: pieces[piece]) { $0 < place }
    pieces[piece].insert(place, at: index)
    guard pieces[piece].count > Self.pieceLimit else { return }
    let half = Array(pieces[piece][(Self.pieceLimit / 2)...])
    pieces[piece].removeLast(half.count)
    pieces.insert(half, at: piece + 1)
  }

  mutating func remove(_ place: Place) {
    let piece = Self.first(in: pieces) { $0[$0.count - 1] < place }
    guard piece < pieces.count else { return }
    let index = Self.first(in: pieces[piece]) { $0 < place }
    guard index < pieces[piece].count, pieces[piece][index] == place else { return }
    count -= 1
    pieces[piece].remove(at: index)
    if pieces[piece].isEmpty { pieces.remove(at: piece) }
  }

  /// Calls `body` for one place after another in the direction of reading, until it returns false.
  ///
  /// - Parameter start: the place after which to begin; it need not be in the list, as its key may be gone meanwhile.
  ///   Nil: from the beginning.
  func forEach(after start: Place?, isDescending: Bool, _ body: (Place) -> Bool) {
    isDescending ? forEachDown(from: start, body) : forEachUp(from: start, body)
  }

  private func forEachUp(from start: Place?, _ body: (Place) -> Bool) {
    var piece = 0
    var index = 0
    if let start {
      piece = Self.first(in: pieces) { !(start < $0[$0.count - 1]) }
      if piece < pieces.count { index = Self.first(in: pieces[piece]) { !(start < $0) } }
    }
    while piece < pieces.count {
      while index < pieces[piece].count {
        if !body(pieces[piece][index]) { return }
        index += 1
      }
      piece += 1
      index = 0
    }
  }

  private func forEachDown(from start: Place?, _ body: (Place) -> Bool) {
    // The last piece that begins before the start, and in it the last place before the start.
    var piece = (start.map { start in Self.first(in: pieces) { $0[0] < start } } ?? pieces.count) - 1
    guard piece >= 0 else { return }
    var index = (start.map { start in Self.first(in: pieces[piece]) { $0 < start } } ?? pieces[piece].count) - 1
    while piece >= 0 {
      while index >= 0 {
        if !body(pieces[piece][index]) { return }
        index -= 1
      }
      piece -= 1
      if piece >= 0 { index = pieces[piece].count - 1 }
    }
  }

  /// The first element for which `isBefore` is false; those for which it is true stand before all others.
  private static func first<Element>(in elements: [Element], _ isBefore: (Element) -> Bool) -> Int {
    var (low, high) = (0, elements.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(elements[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
