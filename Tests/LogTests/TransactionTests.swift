import Foundation
import SQLite
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Log

@Suite(.ownThread) struct TransactionTests {
  @Test("What is taken together is all there, over several channels", arguments: TransactionalKind.allCases)
  func all(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    for name in ["s", "t", "m"] { try scene.open(name) }
    let errors = try scene.append([
      scene.entry("s", 1, "1"), scene.entry("m", 1, "a1", key: "a"), scene.entry("s", 2, "2"),
      scene.entry("t", 1, "3"), scene.entry("m", 2, "b1", key: "b"),
    ])
    #expect(errors == [nil, nil, nil, nil, nil])
    #expect(try scene.texts("s") == ["1", "2"])
    #expect(try scene.texts("t") == ["3"])
    #expect(try scene.map("m") == ["a": "a1", "b": "b1"])
    #expect(try scene.open("s").offset == 2)
    #expect(try scene.open("m").offset == 2)
  }

  @Test("One offset that does not follow keeps all of them out", arguments: TransactionalKind.allCases)
  func contiguity(_ kind: TransactionalKind) throws {
    let scene = try TransactionScene(kind)
    for name in ["s", "t", "m"] { try scene.open(name) }
    try scene.append([scene.entry("s", 1, "1")])
    for wrong in [2, 4, 1] as [UInt64] {
      let second: UInt64 = wrong == 1 ? 1 : 2
      let entries = try [
        scene.entry("t", 1, "x"), scene.entry("m", 1, "x", key: "a"), scene.entry("s", second, "x"),
        scene.entry("s", wrong, "x"),
      ]
      #expect(try scene.append(entries) == Array(repeating: .notContiguous, count: 4))
    }
    #expect(try scene.texts("s") == ["1"])
    #expect(try scene.texts("t") == [])
    #expect(try scene.map("m") == [:])
    #expect(try scene.append([scene.entry("t", 1, "2"), scene.entry("s", 2, "2")]) == [nil, nil])
  }

  @Test("A transaction upon one that failed fails, and one that has nothing to do with it does not")
  func uponFailed() throws {
    let scene = try TransactionScene(.sqlite)
    let sqlite = try #require(scene.sqlite)
    for name in ["r", "s", "t"] { try scene.open(name) }
    try scene.append([scene.entry("r", 1), scene.entry("s", 1)])
    let held = HeldWriter(sqlite)
    let transactions = try [
      [scene.entry("r", 3), scene.entry("s", 2)], [scene.entry("r", 4), scene.entry("s", 3)],
      [scene.entry("t", 1), scene.entry("t", 2)], [scene.entry("t", 3), scene.entry("s", 4)],
    ]
    for transaction in transactions { #expect(scene.store.append(transaction) == .pending) }
    try held.letGo()
    try sqlite.completions.wait(for: 10)
    let errors = sqlite.completions.all.suffix(8).map(\.error)
    #expect(
      errors == [.notContiguous, .notContiguous, .notContiguous, .notContiguous, nil, nil]
        + [.notContiguous, .notContiguous])
    #expect(sqlite.completions.all.map(\.ticket) == Array(1...10))
    #expect(try scene.texts("s") == ["x"])
    #expect(try scene.texts("t") == ["x", "x"])
  }

  @Test("A disk that refuses keeps all of it out, and takes it when there is room again", arguments: Refusal.allCases)
  func refused(_ refusal: Refusal) throws {
    let scene = try TransactionScene(.sqlite)
    let sqlite = try #require(scene.sqlite)
    for name in ["s", "m"] { try scene.open(name) }
    try scene.append([scene.entry("s", 1, "1"), scene.entry("m", 1, "1", key: "a")])
    try sqlite.perform(refusal.begin)
    let large = String(repeating: "x", count: 20_000)
    let edit = LogEdit(replacement: Publication(offset: 1, time: 1000, data: Array("edited".utf8)))
    let errors = try scene.append([
      scene.entry("s", 2, large, edit: edit), scene.entry("m", 2, large, key: "a"),
      scene.entry("m", 3, large, key: "b"),
    ])
    #expect(errors.allSatisfy { refusal.matches($0) })
    #expect(try scene.texts("s") == ["1"])
    #expect(try scene.map("m") == ["a": "1"])
    try sqlite.perform(refusal.end)
    #expect(try scene.append([scene.entry("s", 2, "2"), scene.entry("m", 2, "2", key: "a")]) == [nil, nil])
    #expect(try scene.texts("s") == ["1", "2"])
    #expect(try scene.map("m") == ["a": "2"])
  }

  @Test("A transaction of the broker is never cut by the writer's limits")
  func larger() throws {
    let scene = try TransactionScene(.sqlite)
    let sqlite = try #require(scene.sqlite)
    for name in ["s", "m"] { try scene.open(name) }
    let count = LogWriter.entriesPerTransaction
    let held = HeldWriter(sqlite)
    for offset in 1..<UInt64(count) { #expect(scene.store.append(try scene.entry("s", offset)) == .pending) }
    let together = try (1...10).map { try scene.entry("m", $0, "x", key: "k\($0)") }
    #expect(scene.store.append(together) == .pending)
    let before = sqlite.store.writer.transactionCount.load(ordering: .relaxed)
    try held.letGo()
    try sqlite.completions.wait(for: count + 9)
    #expect(sqlite.store.writer.transactionCount.load(ordering: .relaxed) == before + 1)
    #expect(try scene.map("m").count == 10)
  }

  @Test("Killed at any moment, all of a transaction is there or none")
  func crashImages() throws { try Self.compareImages() }

  private static func compareImages() throws {
    let scene = try TransactionScene(.sqlite)
    let (sqlite, folder) = (try #require(scene.sqlite), try #require(scene.folder))
    var generator = SeededGenerator(seed: 5)
    for name in ["s", "t", "m"] { try scene.open(name) }
    var (offset, held): (UInt64, Int) = (0, 0)
    for _ in 0..<20 {
      for _ in 0..<Int.random(in: 1...150, using: &generator) {
        offset += 1
        // Both channels and the key must show the same number, or a transaction was torn.
        let text = "\(offset) " + String(repeating: "x", count: .random(in: 0...400, using: &generator))
        var entries = try [scene.entry("s", offset, text), scene.entry("m", offset, text, key: "k")]
        entries.append(try scene.entry("t", offset, text))
        #expect(scene.store.append(entries) == .pending)
        held += 3
      }
      let completed = sqlite.completions.all.count / 3
      let image = try TemporaryFolder()
      try CrashImage.copy(folder.path, to: image.path)
      let survivor = try TransactionScene(.sqlite, folder: image)
      let tops = try ["s", "t", "m"].map { try survivor.open($0).offset }
      #expect(Set(tops).count == 1, "torn: \(tops)")
      #expect(tops[0] >= UInt64(completed))
      #expect(try survivor.texts("s") == survivor.texts("t"))
      #expect(try survivor.map("m")["k"] == survivor.texts("s").last)
    }
    try sqlite.completions.wait(for: held)
  }

  @Test("An entry that breaks within a transaction takes back what was written before it")
  func fault() throws {
    let scene = try TransactionScene(.sqlite)
    let sqlite = try #require(scene.sqlite)
    for name in ["s", "m"] { try scene.open(name) }
    try scene.append([scene.entry("m", 1, "1", key: "a")])
    #expect(
      sqlite.store.ask(.intercept { _ in throw DatabaseError(.full, "simulated") }))
    let errors = try scene.append([scene.entry("m", 2, "2", key: "a"), scene.entry("s", 1)])
    #expect(errors.allSatisfy { Refusal.full.matches($0) })
    #expect(sqlite.store.ask(.intercept { _ in }))
    #expect(try scene.map("m") == ["a": "1"])
    #expect(try scene.append([scene.entry("m", 2, "2", key: "a"), scene.entry("s", 1)]) == [nil, nil])
  }
}
