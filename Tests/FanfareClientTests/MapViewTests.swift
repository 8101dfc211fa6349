import TestSupport
import Testing
import Wire

@testable import FanfareClient

@Suite("The view of a map")
struct MapViewTests {
  private func publication(_ key: String, _ value: Int, score: Int64 = 0, removed: Bool = false) -> Publication {
    Publication(data: Array("\(value)".utf8), change: KeyChange(key: key, removed: removed, score: score))
  }

  private func view(
    _ order: MapOrder, reversed: Bool = false, _ entries: [(String, Int, Int64)]
  ) -> MapView<Int> {
    var view = MapView<Int>(order: order, isReversed: reversed)
    for (key, value, score) in entries { view.apply(publication(key, value, score: score), value: value) }
    return view
  }

  @Test("Entries stand in the map's order, those of equal scores by the bytes of their keys")
  func orders() {
    let entries: [(String, Int, Int64)] = [("b", 1, 5), ("a", 2, 5), ("c", 3, 1), ("é", 4, 9), ("z", 5, 9)]
    #expect(view(.key, entries).entries.map(\.key) == ["a", "b", "c", "z", "é"])
    #expect(view(.key, reversed: true, entries).entries.map(\.key) == ["é", "z", "c", "b", "a"])
    #expect(view(.ascending, entries).entries.map(\.key) == ["c", "a", "b", "z", "é"])
    #expect(view(.descending, entries).entries.map(\.key) == ["é", "z", "b", "a", "c"])
    #expect(view(.descending, reversed: true, entries).entries.map(\.key) == ["c", "a", "b", "z", "é"])
  }

  @Test("Keys are told apart by their bytes")
  func bytes() {
    let view = view(.key, [("e\u{301}", 1, 0), ("é", 2, 0)])
    #expect(view.count == 2 && view["é"] == 2 && view["e\u{301}"] == 1 && view["e"] == nil)
  }

  @Test("What does not fit is left out and named, until it fits or is gone")
  func unreadable() {
    var view = view(.key, [("a", 1, 0)])
    view.apply(publication("a", 2), value: nil)
    view.apply(publication("b", 2), value: nil)
    #expect(view.isEmpty && view.unreadableKeys == ["a", "b"])
    view.apply(publication("a", 3), value: 3)
    view.apply(publication("b", 0, removed: true), value: nil)
    #expect(view["a"] == 3 && view.unreadableKeys.isEmpty)
  }

  @Test("A map that is read anew tells the differences alone")
  func replaced() {
    var view = view(.key, [("a", 1, 0), ("b", 2, 0), ("c", 3, 0)])
    let before = view
    view.replace(with: [(publication("a", 1), 1), (publication("b", 9), 9), (publication("d", 4), 4)])
    let changes = view.changes(since: before)
    #expect(changes.map(\.key) == ["c", "b", "d"])
    guard case .removed = changes[0], case .set(_, previous: 2) = changes[1], case .set(_, previous: nil) = changes[2]
    else {
      Issue.record("the kinds of changes differ")
      return
    }
  }

  @Test(
    "Whatever happens, the view is the sorted map, and the changes lead from one view to the next",
    arguments: UInt64(0)..<30)
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let order = [MapOrder.key, .ascending, .descending].randomElement(using: &random) ?? .key
    let isReversed = Bool.random(using: &random)
    var view = MapView<Int>(order: order, isReversed: isReversed)
    var model: [String: (value: Int, score: Int64)] = [:]
    var (last, replayed) = (nil as MapView<Int>?, [:] as [String: Int])
    for step in 0..<300 {
      let key = "k\(Int.random(in: 0..<20, using: &random))"
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1, 2:
        model[key] = nil
        view.apply(publication(key, 0, removed: true), value: nil)
      case 3:
        model = model.filter { _ in Bool.random(using: &random) }
        view.replace(with: model.map { (publication($0.key, $0.value.value, score: $0.value.score), $0.value.value) })
      default:
        let score = Int64.random(in: 0..<5, using: &random)
        model[key] = (step, score)
        view.apply(publication(key, step, score: score), value: step)
      }
      guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
      for change in view.changes(since: last) {
        switch change {
        case .set(let entry, _): replayed[entry.key] = entry.value
        case .removed(let entry): replayed[entry.key] = nil
        }
      }
      last = view
      let isReplayed = replayed == model.mapValues(\.value)
      #expect(isReplayed, "seed \(seed), step \(step)")
    }
    let byKey = model.sorted { $0.key < $1.key }
    let sorted = order == .key ? byKey : byKey.sorted { ($0.value.score, $0.key) < ($1.value.score, $1.key) }
    let isTurned = (order == .descending) != isReversed
    let keys = isTurned ? sorted.reversed().map(\.key) : sorted.map(\.key)
    let isSorted = view.entries.map(\.key) == keys
    #expect(isSorted, "seed \(seed)")
  }
}
