import Foundation
import SQLite
import Log
import TestSupport
import Testing
import Wire

@testable import Search

/// The index as a file and a thread.
@Suite("The index of messages", .ownThread)
struct SearchFileTests {
  private let chat: ChannelName

  init() throws { chat = try channel("chat:1") }

  /// Looks at what was changed, and overwrites, as soon as it can.
  private func eager(_ options: inout MessageIndex.Options) {
    options.sweepMilliseconds = 20
    options.scrubMilliseconds = 0
  }

  @Test("the words of a message that is deleted, edited or dropped leave the file, though nobody searches again")
  func forgotten() throws {
    let scene = try SearchScene(eager)
    for number in 0..<300 {
      try scene.publish(data: Array(#"{"text":"ordinary talk \#(number)"}"#.utf8), on: chat, size: 0x1000, waits: false)
    }
    try scene.publish("xylophoneconcert tonight", on: chat, size: 0x1000)
    try scene.publish("quetzalfeathers tomorrow", on: chat, size: 0x1000)
    let short = try channel("short:1")
    try scene.publish("zwiebackcrumbs yesterday", on: short, size: 1)
    #expect(try scene.offsets("xylophone", in: chat) == [301])
    #expect(try scene.offsets("zwieback", in: short) == [1])
    for word in ["lophoneconcert", "etzalfeathers", "iebackcrumbs"] {
      try eventually { scene.indexHolds(word) }
    }
    try scene.edit(301, of: chat, to: nil)
    try scene.edit(302, of: chat, to: "never mind")
    try scene.publish("fresh", on: short, size: 1)
    for word in ["lophoneconcert", "etzalfeathers", "iebackcrumbs"] {
      try eventually { !scene.indexHolds(word) }
    }
    #expect(try scene.offsets("ordinary", in: chat, limit: 500).count == 300)
    #expect(try scene.offsets("never mind", in: chat) == [302])
  }

  @Test("what was removed before a restart is overwritten after it")
  func forgottenAfterRestart() throws {
    let scene = try SearchScene()
    try scene.publish("xylophoneconcert", on: chat)
    #expect(try scene.offsets("xylophone", in: chat) == [1])
    try scene.edit(1, of: chat, to: nil)
    #expect(try scene.offsets("xylophone", in: chat).isEmpty)
    eager(&scene.options)
    try scene.restart()
    try eventually { !scene.indexHolds("lophoneconcert") }
  }

  @Test("messages of a former epoch leave the file")
  func formerEpoch() throws {
    let scene = try SearchScene(eager)
    for _ in 0..<1200 {
      try scene.publish(data: Array(#"{"text":"xylophoneconcert"}"#.utf8), on: chat, size: 5000, waits: false)
    }
    try scene.waitUntilIndexed()
    #expect(try scene.offsets("xylophone", in: chat).count == 50)
    try scene.restart {
      for name in ["fanfare.sqlite", "fanfare.sqlite-wal", "fanfare.sqlite-shm"] {
        try? FileManager.default.removeItem(atPath: scene.path + "/" + name)
      }
    }
    try scene.publish("lake", on: chat)
    try eventually { !scene.indexHolds("lophoneconcert") }
    #expect(try scene.offsets("lake", in: chat) == [1])
  }

  @Test("only its owner can read the file")
  func permissions() throws {
    let scene = try SearchScene()
    try scene.publish("park", on: chat)
    #expect(try scene.offsets("park", in: chat) == [1])
    for suffix in ["", "-wal", "-shm"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: scene.indexPath + suffix)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(suffix)")
    }
  }

  @Test("a search reads a bounded amount, answers with what there is, and the rest follows by itself")
  func bounded() throws {
    let scene = try SearchScene { $0.catchUpLimit = 600 }
    for number in 1...2000 {
      try scene.publish(data: Array(#"{"text":"park \#(number)"}"#.utf8), on: chat, size: 5000, waits: false)
    }
    try scene.waitUntilIndexed()
    let first = try scene.offsets("park", in: chat, limit: 1)
    #expect(first == [600])
    // The index goes on by itself, so this waits by what its file says, and not by searching.
    let reader = try DatabaseConnection(path: scene.indexPath, busyTimeoutMilliseconds: 60_000)
    try eventually { try reader.inDatabase { try $0.integer("SELECT through FROM channels") } == 2000 }
    try reader.close()
    #expect(try scene.offsets("park", in: chat, limit: 1) == [2000])
  }

  @Test("what nobody searches is not indexed")
  func unsearched() throws {
    let scene = try SearchScene(eager)
    try scene.publish("xylophoneconcert", on: chat)
    let other = try channel("chat:2")
    try scene.publish("lake", on: other)
    #expect(try scene.offsets("lake", in: other) == [1])
    #expect(!scene.indexHolds("lophoneconcert"))
  }

  @Test("too many searches are refused at once, and closing answers those that wait")
  func refused() throws {
    let scene = try SearchScene { $0.queueLimit = 2 }
    for number in 0..<3000 {
      try scene.publish(data: Array(#"{"text":"park \#(number)"}"#.utf8), on: chat, size: 5000, waits: false)
    }
    try scene.waitUntilIndexed()
    let answers = SearchAnswers()
    let query = MessageSearch(channels: [chat], text: "park", audience: nil, limit: 10)
    for _ in 0..<50 { scene.index.search(query) { answers.add($0) } }
    #expect(answers.all.contains { if case .failure(.backlog) = $0 { true } else { false } })
    scene.index.close()
    #expect(answers.all.count == 50, "each is answered once")
    scene.index.search(query) { answers.add($0) }
    #expect(answers.all.last == .failure(.closed))
    scene.index.close()
  }

  @Test("a log that cannot be read fails the search alone: what is indexed stays")
  func unreadableLog() throws {
    let folder = try TemporaryFolder()
    let log = ScriptedLog([Publication(offset: 1, time: 1, data: Array(#"{"text":"park"}"#.utf8))])
    let index = try MessageIndex(folder: folder.path, log: log, options: .init(userLimit: 8), logger: quiet)
    defer { index.close() }
    let query = MessageSearch(channels: [chat], text: "park", audience: nil, limit: 10)
    func answer() throws -> Result<[FoundMessage], LogError> {
      let answers = SearchAnswers()
      index.search(query) { answers.add($0) }
      try eventually { answers.all.count == 1 }
      return answers.all[0]
    }
    #expect(try answer().get().count == 1)
    log.fail(.failed("the disk"))
    #expect(try answer() == .failure(.failed("the disk")))
    log.fail(nil)
    #expect(try answer().get().count == 1)
    #expect(log.pagesRead == 1, "the message was not indexed again")
  }

  @Test("rows hold a channel and an offset, and refuse what is larger than both can be")
  func places() {
    let place = MessagePlace(5, 77)
    #expect(place?.channel == 5 && place?.offset == 77)
    #expect(MessagePlace(MessagePlace.largestID, MessagePlace.largestOffset)?.row == .max)
    #expect(MessagePlace(MessagePlace.largestID + 1, 1) == nil)
    #expect(MessagePlace(1, MessagePlace.largestOffset + 1) == nil)
    #expect(MessagePlace(0, 1) == nil && MessagePlace(-1, 1) == nil)
  }
}
