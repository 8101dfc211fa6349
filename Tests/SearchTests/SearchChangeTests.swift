import Foundation
import Log
import TestSupport
import Testing
import Wire

@testable import Search

/// The log is the truth: what was changed, removed or dropped in it.
@Suite("Searching what was changed", .ownThread)
struct SearchChangeTests {
  private let chat: ChannelName

  init() throws { chat = try channel("chat:1") }

  @Test("a search sees what was published before it, every time")
  func fresh() throws {
    let scene = try SearchScene()
    for offset in 1...20 as ClosedRange<UInt64> {
      try scene.publish("word\(offset)", on: chat)
      #expect(try scene.offsets("word\(offset)", in: chat) == [offset])
    }
  }

  @Test("an edited message is found by its new words, where it stands; the notice of it is not a message")
  func edited() throws {
    let scene = try SearchScene()
    let offset = try scene.publish("meet at the park", on: chat, by: "bob")
    try scene.publish("fine", on: chat)
    #expect(try scene.offsets("park", in: chat) == [offset])
    try scene.edit(offset, of: chat, to: "meet at the lake")
    #expect(try scene.offsets("park", in: chat).isEmpty)
    let found = try scene.search("lake", in: [chat])
    #expect(found.map(\.publication.offset) == [offset])
    #expect(found.first.map { String(decoding: $0.publication.data, as: UTF8.self) } == #"{"text":"meet at the lake"}"#)
  }

  @Test("what was edited or deleted before anybody searched is known as it is now")
  func editedBefore() throws {
    let scene = try SearchScene()
    try scene.publish("park one", on: chat)
    try scene.publish("park two", on: chat)
    try scene.edit(1, of: chat, to: "lake one")
    try scene.edit(2, of: chat, to: nil)
    #expect(try scene.offsets("park", in: chat).isEmpty)
    #expect(try scene.offsets("lake", in: chat) == [1])
  }

  @Test("a deleted message is not found")
  func deleted() throws {
    let scene = try SearchScene()
    let offset = try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat) == [offset])
    try scene.edit(offset, of: chat, to: nil)
    #expect(try scene.offsets("park", in: chat).isEmpty)
  }

  @Test("an edit that the index has not come to yet is seen all the same")
  func outdated() throws {
    let scene = try SearchScene { $0.catchUpLimit = 1 }
    try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat) == [1])
    for _ in 0..<3 { try scene.publish("filler", on: chat) }
    try scene.edit(1, of: chat, to: "parking")
    #expect(try scene.search("parking", in: [chat]).allSatisfy { $0.publication.offset == 1 })
    try scene.edit(1, of: chat, to: nil)
    #expect(try scene.offsets("park", in: chat).isEmpty)
  }

  @Test("what the history's size or age dropped is not found, and leaves the index")
  func dropped() throws {
    let scene = try SearchScene()
    for _ in 0..<5 { try scene.publish("sizeable", on: chat, size: 3) }
    #expect(try scene.offsets("sizeable", in: chat) == [5, 4, 3])
    try scene.publish("sizeable", on: chat, size: 3)
    #expect(try scene.offsets("sizeable", in: chat) == [6, 5, 4])
    let aged = try channel("aged:1")
    try scene.publish(data: Array(#"{"text":"aged"}"#.utf8), on: aged, ttl: 1000)
    #expect(try scene.offsets("aged", in: aged) == [1])
    scene.clock.advance(5000)
    #expect(try scene.offsets("aged", in: aged).isEmpty, "too old, swept or not")
    scene.store.sweep(now: scene.clock.now)
    #expect(try scene.offsets("aged", in: aged).isEmpty)
  }

  @Test("a history that was removed is not found, what came after is")
  func removedHistory() throws {
    let scene = try SearchScene()
    for _ in 0..<4 { try scene.publish("park", on: chat) }
    #expect(try scene.offsets("park", in: chat).count == 4)
    try scene.store.removeHistory(of: chat)
    #expect(try scene.offsets("park", in: chat).isEmpty)
    try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat) == [5])
  }

  @Test("after a restart everything is found, and nothing twice")
  func restart() throws {
    let scene = try SearchScene()
    try scene.publish("park one", on: chat)
    #expect(try scene.offsets("park", in: chat) == [1])
    try scene.publish("park two", on: chat)
    try scene.restart()
    try scene.publish("park three", on: chat)
    #expect(try scene.offsets("park", in: chat) == [3, 2, 1])
  }

  @Test("an index that was deleted, damaged or is of another version is built again", arguments: 0..<4)
  func rebuilt(way: Int) throws {
    let scene = try SearchScene()
    try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat) == [1])
    try scene.restart {
      switch way {
      case 0: scene.removeIndexFiles()
      case 1: try FileManager.default.removeItem(atPath: scene.indexPath)
      case 2: try Data("this is no database, whatever its name says".utf8).write(to: URL(filePath: scene.indexPath))
      default:
        var bytes = try Data(contentsOf: URL(filePath: scene.indexPath))
        bytes.replaceSubrange(60..<64, with: [0, 0, 0, 99])  // The header's user_version.
        try bytes.write(to: URL(filePath: scene.indexPath))
      }
    }
    #expect(try scene.offsets("park", in: chat) == [1])
  }

  @Test("an index whose file is deleted while it is in use is built again")
  func deletedInUse() throws {
    let scene = try SearchScene()
    try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat) == [1])
    scene.removeIndexFiles()
    #expect(try scene.offsets("park", in: chat) == [1])
    #expect(FileManager.default.fileExists(atPath: scene.indexPath))
  }

  @Test("a page that was damaged while the index was in use heals it")
  func damagedInUse() throws {
    let scene = try SearchScene()
    for number in 0..<200 {
      try scene.publish(data: Array(#"{"text":"park \#(number)"}"#.utf8), on: chat, waits: false)
    }
    try scene.waitUntilIndexed()
    #expect(try scene.offsets("park", in: chat, limit: 500).count == 200)
    try scene.restart {
      let size = try Data(contentsOf: URL(filePath: scene.indexPath)).count
      let handle = try FileHandle(forUpdating: URL(filePath: scene.indexPath))
      try handle.seek(toOffset: 4096)
      try handle.write(contentsOf: Data(repeating: 0xA5, count: size - 4096))
      try handle.close()
    }
    #expect(try scene.offsets("park", in: chat, limit: 500).count == 200)
  }

  @Test("in a new epoch nothing of the old one is found, though its offsets are given out again")
  func epoch() throws {
    let scene = try SearchScene()
    let log = scene.path + "/fanfare.sqlite"
    try scene.publish("park", on: chat)
    try scene.restart { try FileManager.default.copyItem(atPath: log, toPath: scene.path + "/backup") }
    for _ in 0..<3 { try scene.publish("park that was lost", on: chat) }
    #expect(try scene.offsets("park", in: chat) == [4, 3, 2, 1])
    try scene.restart {
      try FileManager.default.removeItem(atPath: log)
      try FileManager.default.moveItem(atPath: scene.path + "/backup", toPath: log)
    }
    #expect(try scene.offsets("lost", in: chat).isEmpty)
    for _ in 0..<3 { try scene.publish("lake", on: chat) }
    #expect(try scene.offsets("lost", in: chat).isEmpty)
    #expect(try scene.offsets("lake", in: chat) == [4, 3, 2])
    #expect(try scene.offsets("park", in: chat) == [1])
  }
}
