import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: pictures that reports keep")
struct CliqueKeptPictureTests {
  private static let picture = CliqueScene.picture
  private static let day: Int64 = 24 * 3_600_000

  private func look(_ scene: CliqueScene, _ number: UInt64) throws -> String {
    guard case .reply(let bytes) = try scene.app.moderate(.look(number), scene).answer else { return "no reply" }
    try #require(JSONSyntax.isValid(bytes))
    return String(decoding: bytes, as: UTF8.self)
  }

  private func shows(_ scene: CliqueScene, _ number: UInt64, _ id: String = picture) -> AppPicture? {
    try? scene.app.reportedPicture(.init(number: number, id: id), scene)
  }

  private func settle(_ scene: CliqueScene, _ number: UInt64) throws {
    try scene.apply(scene.app.moderate(.settle(.init(number: number, outcome: .other)), scene).effects)
  }

  private func kept(_ scene: CliqueScene) throws -> [UInt64] {
    try scene.record(Clique.KeptPictures.self, Clique.KeptPictures.key(Self.picture))?.uploads.flatMap(\.reports) ?? []
  }

  private func bytes(_ scene: CliqueScene) throws -> Int64 {
    try scene.record(Clique.Reports.self, Clique.Reports.key)?.keptBytes ?? 0
  }

  /// bob sends ann a picture at offset 2, which ann reports.
  private func reported() throws -> (CliqueScene, String) {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("bob")
    try scene.send("bob", id)
    try scene.call("ann", "report", #"{"person":"bob","offset":2,"reason":"nudity"}"#)
    return (scene, id)
  }

  @Test("a picture that was reported outlives its message, and goes with the last report on it")
  func life() throws {
    let (scene, id) = try reported()
    let key = try #require(try scene.stored()?.key)
    let upload = try #require(try scene.stored()?.upload)
    #expect(
      try look(scene, 1).contains(
        ##""pictures":[{"id":"\##(Self.picture)","type":"image/jpeg","bytes":1000,"offset":2}]"##))
    try scene.call("ann", "report", #"{"person":"bob","reason":"spam"}"#)
    #expect(try kept(scene) == [1, 2])
    #expect(try bytes(scene) == 1000, "it is there once")
    try scene.change("bob", id, 2, nil)
    #expect(scene.discarded == [Self.picture] && scene.keptAlone == [Self.picture] && scene.scrubs == 1)
    #expect(try scene.viewers(["ann", "bob"]) == [], "nobody but a moderator sees it")
    let shown = try #require(shows(scene, 1))
    #expect(shown.key == key.bytes && shown.upload == upload.bytes && shown.owner == "bob" && shown.bytes == 1000)
    #expect(shows(scene, 2) == shown && shows(scene, 3) == nil && shows(scene, 1, CliqueScene.picture(7)) == nil)
    let asked = try scene.gateway("bob", .gone([Self.picture, CliqueScene.picture(7)]))
    #expect(asked.contains(#""kept":[{"id":"\#(Self.picture)""#) && asked.contains(CliqueScene.picture(7)))
    try settle(scene, 1)
    try scene.pass(31 * Self.day)
    #expect(try kept(scene) == [2] && scene.released == [])
    try scene.pass(60 * Self.day)
    #expect(try kept(scene) == [] && bytes(scene) == 0)
    #expect(scene.released == [Self.picture] && scene.scrubs > 1 && shows(scene, 2) == nil)
    #expect(try !scene.gateway("bob", .gone([Self.picture])).contains("kept"))
  }

  @Test("a report that ends before the message leaves the picture where it is")
  func endsBefore() throws {
    let (scene, id) = try reported()
    try settle(scene, 1)
    try scene.pass(31 * Self.day)
    #expect(scene.released == [Self.picture] && scene.discarded == [])
    #expect(try scene.viewers(["ann", "bob"]) == ["ann", "bob"])
    try scene.change("bob", id, 2, nil)
    #expect(scene.discarded == [Self.picture] && scene.keptAlone == [])
  }

  /// What the owner of a picture can ask and do when its message is gone, and what they are told.
  private func told(isReported: Bool) throws -> [String] {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.upload("bob")
    try scene.send("bob", id)
    if isReported { try scene.call("ann", "report", #"{"person":"bob","offset":2,"reason":"nudity"}"#) }
    var said: [String] = []
    let again = PictureCommand.add(
      .init(
        id: Self.picture, type: "image/jpeg", bytes: 1000, width: 9, height: 9, key: [UInt8](repeating: 3, count: 32),
        upload: [UInt8](repeating: 4, count: 16)))
    func note(andDiscards: Bool) throws {
      said.append("\(try scene.refusal("bob", .key(id: Self.picture)))")
      if andDiscards { said.append("\(try scene.refusal("bob", .discard(id: Self.picture)))") }
      said.append("\(try scene.refusal("bob", again))")
      said.append("\(try scene.pictures(of: "bob")?.bytes ?? 0)")
      said.append("\(try scene.viewers(["ann", "bob", "eve"]))")
      said.append(
        "\(try scene.entries("bob", "list").values.map { String(decoding: $0.data, as: UTF8.self) }.sorted())")
    }
    try note(andDiscards: true)
    try scene.change("bob", id, 2, nil)
    try note(andDiscards: true)
    try scene.pass(600_000)
    // Discarding an id that is unknown bars it.
    try note(andDiscards: false)
    try scene.send("bob", id)
    try note(andDiscards: true)
    said.append("\(scene.discarded)")
    return said
  }

  @Test("whoever is reported is answered in everything as if there were no report, and may use the id again")
  func silence() throws {
    let (with, without) = (try told(isReported: true), try told(isReported: false))
    #expect(with == without)
    #expect(with.count == 24 && Set(with).count > 5)
  }

  @Test("an id that is used again is another picture: each report has its own")
  func again() throws {
    let (scene, id) = try reported()
    let first = try #require(shows(scene, 1))
    try scene.change("bob", id, 2, nil)
    try scene.pass(600_000)
    try scene.gateway(
      "bob",
      .add(
        .init(
          id: Self.picture, type: "image/png", bytes: 70, width: 9, height: 9, key: [UInt8](repeating: 3, count: 32),
          upload: [UInt8](repeating: 4, count: 16))))
    try scene.send("bob", id)
    let offset = try scene.top(of: ChannelName("clique.chat:\(id)"))
    try scene.call("ann", "report", #"{"person":"bob","offset":\#(offset),"reason":"nudity"}"#)
    let second = try #require(shows(scene, 2))
    #expect(second.bytes == 70 && second.type == "image/png" && shows(scene, 1) == first)
    #expect(try bytes(scene) == 1070)
    try settle(scene, 1)
    try scene.pass(31 * Self.day)
    #expect(shows(scene, 1) == nil && shows(scene, 2) == second && scene.released == [Self.picture])
    #expect(try scene.viewers(["ann"]) == ["ann"], "the second one is still sent")
  }

  @Test("a report of a person keeps the profile as the reporter saw it, with its picture")
  func profile() throws {
    let scene = CliqueScene()
    _ = try scene.befriend("ann", "bob")
    try scene.upload("bob")
    try scene.call("bob", "profile.set", #"{"name":"Bob","picture":{"id":"\#(Self.picture)"}}"#)
    try scene.call("ann", "report", #"{"person":"bob","reason":"impersonation"}"#)
    try scene.call("eve", "report", #"{"person":"bob","reason":"spam"}"#)
    try scene.call("bob", "profile.set", #"{"name":"Robert","picture":null}"#)
    #expect(scene.keptAlone == [Self.picture])
    let shown = try look(scene, 1)
    #expect(shown.contains(#""profile":{"name":"Bob","picture":{"id":"\#(Self.picture)"}}"#))
    #expect(shows(scene, 1)?.bytes == 1000)
    #expect(try !look(scene, 2).contains("profile") && shows(scene, 2) == nil, "eve sees nothing of bob")
  }

  @Test("pictures beyond the room for them are not kept, and the report is")
  func limit() throws {
    var rules = CliqueRules()
    rules.reportPictureBytes = 1500
    let scene = CliqueScene(rules)
    let id = try scene.befriend("ann", "bob")
    for number in 0..<2 {
      try scene.upload("bob", CliqueScene.picture(number))
      try scene.send("bob", id, picture: CliqueScene.picture(number))
    }
    try scene.call("ann", "report", #"{"person":"bob","reason":"nudity"}"#)
    #expect(shows(scene, 1, CliqueScene.picture(1)) != nil, "the newest comes first")
    #expect(shows(scene, 1, CliqueScene.picture(0)) == nil)
    #expect(try look(scene, 1).contains(#""picture":true"#))
    #expect(try bytes(scene) == 1000)
  }

  @Test("with the data of whoever is reported all that reports keep of them goes", arguments: [true, false])
  func forgotten(keptFirst: Bool) throws {
    let (scene, id) = try reported()
    try scene.change("bob", id, 2, nil)
    let users = SoughtUsers(["bob"])
    let keys = scene.records.keys.sorted { a, b in keptFirst ? a < b : a > b }
    for key in keys {
      if let decision = try scene.app.forget(users, in: key, scene) { try scene.apply(decision.effects) }
    }
    #expect(scene.released == [Self.picture])
    #expect(try bytes(scene) == 0 && kept(scene) == [])
    #expect(!scene.records.keys.contains { $0.hasPrefix("kept/") || $0.hasPrefix("report/") })
  }
}
