import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("An export of a user's data")
struct UserExportTests {
  private struct Picture: Decodable {
    var id: String
    var type: String
    var bytes: Int
    var user: String
    var with: String?
    var from: Int?
    var b64data: String?
    var lost: String?
  }

  private struct Item: Decodable {
    var channel: String?
    var picture: Picture?
  }

  private struct Page: Decodable {
    var items: [Item]
    var cursor: String?
  }

  private static let gateway: UInt64 = 9

  private func page(_ user: String, _ cursor: String, _ scene: DeletionScene) throws -> Page {
    let answer = scene.answer(to: .user(.export(user: user, cursor: cursor)))
    return try JSONDecoder().decode(Page.self, from: Data(answer.utf8))
  }

  /// All pages, as whoever follows the cursor gets them.
  private func pages(_ user: String, _ scene: DeletionScene) throws -> [Page] {
    var pages = [try page(user, "", scene)]
    while let cursor = pages.last?.cursor, pages.count < 1000 { pages.append(try page(user, cursor, scene)) }
    return pages
  }

  private func bytes(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  private func id(_ name: String) -> String { name + String(repeating: "0", count: 24) }

  /// Two pictures of somebody, sent to somebody.
  private func send(_ user: String, to other: String, sizes: [Int], _ scene: DeletionScene) throws -> [String] {
    let ids = ["front", "rear"].map { id("\(user)-\(other)-\($0)-") }
    for (index, id) in ids.enumerated() {
      scene.upload(id, of: user, bytes(sizes[index], UInt64(index + user.count)), by: Self.gateway)
    }
    try scene.call(user, "state.begin", "{\"to\":\"\(other)\"}")
    for _ in 0..<5 { scene.step() }
    try scene.call(user, "state.send", "{\"to\":\"\(other)\",\"front\":\"\(ids[0])\",\"rear\":\"\(ids[1])\"}")
    for _ in 0..<5 { scene.step() }
    return ids
  }

  private func scene() throws -> DeletionScene {
    let scene = try DeletionScene()
    scene.gatewayComes(Self.gateway)
    return scene
  }

  @Test("every picture that the user may have comes whole, in parts that are bounded, beside what the user wrote")
  func wholePictures() throws {
    let scene = try scene()
    for number in 0..<3 { try scene.publish("word \(number)", by: "ada", in: "room:hall") }
    let large = 2 * PicturePart.longest + 70_000
    let mine = try send("ada", to: "bob", sizes: [large, PicturePart.longest], scene)
    let theirs = try send("bob", to: "ada", sizes: [1, 5000], scene)
    let sealed = try send("ada", to: "eve", sizes: [600, 700], scene)
    let unsent = id("unsent-")
    scene.upload(unsent, of: "ada", bytes(900, 5), by: Self.gateway)

    let pages = try pages("ada", scene)
    #expect(pages.allSatisfy { page in page.items.count { $0.picture != nil } <= 1 }, "a part on a page")
    var found: [String: [UInt8]] = [:]
    for picture in pages.flatMap(\.items).compactMap(\.picture) {
      let text = try #require(picture.b64data)
      let part = try #require(Data(base64Encoded: text))
      #expect(part.count <= PicturePart.longest)
      #expect(picture.from == found[picture.id, default: []].count, "parts follow one another")
      found[picture.id, default: []] += Array(part)
      #expect(picture.type == "image/png" && picture.bytes == scene.pictureFiles[picture.id]?.count)
      #expect(picture.user == (theirs.contains(picture.id) ? "bob" : "ada"))
      #expect(picture.with == (picture.id == unsent ? nil : "bob"))
    }
    #expect(Set(found.keys) == Set(mine + theirs + [unsent]), "and none of \(sealed)")
    for (id, bytes) in found { #expect(bytes == scene.pictureFiles[id]) }
    #expect(pages.flatMap(\.items).count { $0.channel == "room:hall" } == 3)
    #expect(pages.flatMap(\.items).contains { $0.channel == "state.threads:ada" })
    #expect(scene.pictureParts.allSatisfy { $0.range.count <= PicturePart.longest })
    // Eve has got two that she does not see, and no more.
    #expect(try self.pages("eve", scene).flatMap(\.items).allSatisfy { $0.picture == nil })
  }

  @Test("a reaction stands in the exports of both")
  func reactions() throws {
    let scene = try scene()
    _ = try send("ada", to: "bob", sizes: [600, 700], scene)
    _ = try send("bob", to: "ada", sizes: [600, 700], scene)
    try scene.call("ada", "state.react", "{\"with\":\"bob\",\"reaction\":\"🔥\"}")
    for _ in 0..<5 { scene.step() }
    for user in ["ada", "bob"] {
      var (text, cursor) = ("", "")
      for _ in 0..<100 {
        let answer = scene.answer(to: .user(.export(user: user, cursor: cursor)))
        text += answer
        guard let next = try JSONDecoder().decode(Page.self, from: Data(answer.utf8)).cursor else { break }
        cursor = next
      }
      #expect(text.contains("\"reaction\":\"🔥\""), "\(user)'s export")
    }
  }

  @Test("a picture whose file is lost is said to be, once, and the export goes on")
  func lost() throws {
    let scene = try scene()
    let ids = try send("ada", to: "bob", sizes: [3 * PicturePart.longest, 10], scene)
    _ = try send("bob", to: "ada", sizes: [10, 10], scene)
    scene.pictureFiles[ids[0]] = nil
    let pictures = try pages("ada", scene).flatMap(\.items).compactMap(\.picture)
    #expect(pictures.count == 4)
    #expect(pictures.filter { $0.lost != nil }.map(\.id) == [ids[0]])
    #expect(pictures.allSatisfy { ($0.lost == nil) == ($0.b64data != nil) })
  }

  @Test("where pictures cannot be read now the page fails with a sentence, and comes when they can")
  func unavailable() throws {
    let scene = try scene()
    _ = try send("ada", to: "bob", sizes: [10, 10], scene)
    _ = try send("bob", to: "ada", sizes: [10, 10], scene)
    scene.pictureFailure = .unavailable("the folder is away")
    let before = scene.pictureParts.count
    var cursor = ""
    for _ in 0..<100 where scene.pictureParts.count == before {
      let answer = scene.answer(to: .user(.export(user: "ada", cursor: cursor)))
      if answer.contains("the folder is away") { break }
      cursor = try #require(try JSONDecoder().decode(Page.self, from: Data(answer.utf8)).cursor)
    }
    #expect(scene.pictureParts.count == before + 1)
    // Looks that have failed are over: more of them than may be under way.
    for _ in 0..<20 {
      #expect(scene.answer(to: .user(.export(user: "ada", cursor: cursor))).contains("the folder is away"))
    }
    scene.pictureFailure = nil
    #expect(try page("ada", cursor, scene).items.first?.picture != nil)
    #expect(try pages("ada", scene).flatMap(\.items).count { $0.picture != nil } == 4)
  }

  @Test("what others' lists say of the user is not the user's: neither that somebody blocks them nor anything else")
  func othersLists() throws {
    let scene = try scene()
    try scene.set("ada", "mine", by: "ada", in: "map:people")
    for app in ["clique", "state"] {
      try scene.call("eve", "\(app).block", "{\"\(app == "clique" ? "person" : "user")\":\"ada\"}")
      try scene.call("ada", "\(app).block", "{\"\(app == "clique" ? "person" : "user")\":\"joe\"}")
    }
    try scene.call("ada", "clique.send", #"{"to":"bob","text":"hi"}"#)
    for _ in 0..<20 { scene.step() }
    let channels = Set(try pages("ada", scene).flatMap(\.items).compactMap(\.channel))
    #expect(channels == ["map:people", "clique.list:ada", "clique.blocked:ada", "state.threads:ada"])
  }

  @Test("a cursor gives out nothing that is not the user's, and one that was made up is refused or leads on")
  func cursors() throws {
    let scene = try scene()
    let ids = try send("ada", to: "bob", sizes: [2 * PicturePart.longest, 10], scene)
    _ = try send("bob", to: "ada", sizes: [10, 10], scene)
    let cursors = try pages("ada", scene).compactMap(\.cursor).filter { $0.hasPrefix("p.") }
    #expect(cursors.contains { $0.hasSuffix(ids[0]) })
    for cursor in cursors {
      #expect(try page("eve", cursor, scene).items.allSatisfy { $0.picture == nil }, "not with \(cursor)")
    }
    let behind = try #require(cursors.first { $0.hasSuffix(ids[0]) })
    let parts = behind.split(separator: ".", maxSplits: 2)
    let beyond = "p.\(100 * PicturePart.longest).\(parts[2])"
    #expect(try page("ada", beyond, scene).items.allSatisfy { $0.picture?.id != ids[0] })
    for cursor in ["p", "p.", "p.1.\(parts[2])", "p.-1.\(parts[2])", "p.0.9.1.0.x", "p.0.2.1", "x.0.2.1.0.k"] {
      #expect(scene.answer(to: .user(.export(user: "ada", cursor: cursor))).contains("no cursor"), "\(cursor)")
    }
  }
}
