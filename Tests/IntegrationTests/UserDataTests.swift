import Foundation
import TestSupport
import Testing

/// What a backend does with one user's data, on a real server with its disk, its search and its pictures.
@Suite("One user's data end to end", .ownThread)
struct UserDataTests {
  private static let key = "a-key-that-only-this-test-has"
  private static let settings = ["admin.api.key=\(key)", "state.record_limit=10m", "state.upload_grace=1h"]
  /// What stands in every id and every text of those who are deleted, and nowhere else; and as an index folds it.
  private static let marker = "zQ7x"
  private static let traces = [marker, marker.lowercased()]

  private func call(_ method: String, _ body: String, _ hall: PhoneHall) throws -> JSON {
    let port = try #require(hall.server.endpoints.admin.flatMap(URL.init(string:))?.port)
    let headers = "X-API-Key: \(Self.key)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n"
    let answer = try HTTPExchange(port: port).ask("POST", "/api/\(method)", headers, Array(body.utf8))
    let json = try JSON(answer.text)
    if !json["error"].isNull { throw Failure("\(method) \(body): \(json["error"])") }
    return json["result"]
  }

  private func http(_ user: String, _ hall: PhoneHall) throws -> PictureClient {
    PictureClient(port: URL(string: hall.url)?.port ?? 0, token: try hall.token(user))
  }

  /// Records and uploads two pictures, and sends them.
  private func send(
    _ pictures: [PictureClient.Picture], from phone: Phone, of user: String, to other: String, _ hall: PhoneHall
  ) async throws {
    try await phone.call("state.begin", "{\"to\":\"\(other)\"}")
    for picture in pictures { #expect(try http(user, hall).put(picture) == 201) }
    try await phone.call(
      "state.send", "{\"to\":\"\(other)\",\"front\":\"\(pictures[0].id)\",\"rear\":\"\(pictures[1].id)\"}")
  }

  // MARK: Exports

  @Test("an export holds the user's pictures byte by byte, over HTTP and as a folder, and nothing that is sealed")
  func export() async throws {
    try await PhoneHall.with(Self.settings) { hall in
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let mine = [PictureClient.Picture(bytes: 1_200_000), .init(bytes: 70_000)]
      let theirs = [PictureClient.Picture(bytes: 1000), .init(bytes: 65_536)]
      let unsent = PictureClient.Picture(bytes: 9)
      try await send(mine, from: ada, of: "ada", to: "bob", hall)
      try await send(theirs, from: bob, of: "bob", to: "ada", hall)
      let sealed = [PictureClient.Picture(bytes: 100), .init(bytes: 200)]
      try await send(sealed, from: ada, of: "ada", to: "eve", hall)
      #expect(try http("ada", hall).put(unsent) == 201)
      try await ada.call("clique.send", #"{"to":"bob","text":"by hand of ada"}"#)
      try await bob.call("clique.send", #"{"to":"ada","text":"by hand of bob"}"#)
      let expected = mine + theirs + [unsent]

      var found: [String: [UInt8]] = [:]
      var cursor: String?
      repeat {
        let page = try call("user_export", "{\"user\":\"ada\",\"cursor\":\(JSON.quoted(cursor ?? ""))}", hall)
        for item in page["items"].array where !item["picture"].isNull {
          let id = try #require(item["picture"]["id"].string)
          let part = try #require(item["picture"]["b64data"].string.flatMap { Data(base64Encoded: $0) })
          #expect(item["picture"]["from"].int == found[id, default: []].count && part.count <= 1 << 20)
          found[id, default: []] += Array(part)
        }
        cursor = page["cursor"].string
      } while cursor != nil
      #expect(Set(found.keys) == Set(expected.map(\.id)))
      for picture in expected {
        let isSame = found[picture.id] == picture.bytes
        #expect(isSame)
      }

      let folder = hall.data.deletingLastPathComponent().appendingPathComponent("export")
      let arguments = ["user", "export", "ada", "--endpoint", hall.server.endpoints.commands ?? ""]
      let made = try await Tool.run(
        arguments + ["--folder", folder.path], in: hall.data.deletingLastPathComponent())
      try #require(made.status == 0, "\(made.tool.errors)")
      for picture in expected {
        let file = try Data(contentsOf: folder.appendingPathComponent("pictures/\(picture.id).png"))
        let isSame = Array(file) == picture.bytes
        #expect(isSame)
      }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("pictures").path).count == 5)
      let lines = try String(contentsOf: folder.appendingPathComponent("items.jsonl"), encoding: .utf8)
        .split(separator: "\n").map { try JSON(String($0)) }
      #expect(Set(lines.compactMap { $0["picture"]["file"].string }) == Set(expected.map { "pictures/\($0.id).png" }))
      #expect(lines.contains { $0["data"]["text"].string == "by hand of ada" })
      #expect(!lines.contains { $0["data"]["text"].string == "by hand of bob" }, "what others wrote is theirs")
      let again = try await Tool.run(
        arguments + ["--folder", folder.path], in: hall.data.deletingLastPathComponent())
      #expect(again.status == 1 && again.tool.errors.contains("is there already"), "\(again.tool.errors)")
      let printed = try await Tool.run(arguments, in: hall.data.deletingLastPathComponent())
      #expect(printed.status == 0 && printed.tool.lines.count > 1 && printed.tool.output.contains("b64data"))
    }
  }

  // MARK: Deletions

  /// Somebody who is deleted, with pictures of theirs.
  private struct Person {
    let user: String
    let friend: String
    let sent = [PictureClient.Picture(bytes: 70_000), .init(bytes: 500)]
    let unsent = PictureClient.Picture(bytes: 300)
    /// What the friend has answered with; empty: nothing.
    let answers: [PictureClient.Picture]

    init(_ number: Int) {
      user = "\(UserDataTests.marker)-\(number)"
      friend = "friend\(number % 3)"
      answers = number % 2 == 0 ? [PictureClient.Picture(bytes: 400), .init(bytes: 400)] : []
    }
  }

  /// Gives somebody some of everything that reaches a file.
  private func furnish(_ person: Person, friend: Phone, _ hall: PhoneHall) async throws {
    let phone = try await hall.phone(of: person.user)
    let words = "\(Self.marker)words of \(person.user)"
    try await phone.subscribe("chat:hall")
    try await phone.ask("\"publish\":{\"channel\":\"chat:hall\",\"data\":{\"text\":\"\(words)\"}}")
    try await phone.call("clique.send", "{\"to\":\"\(person.friend)\",\"text\":\"\(words)\"}")
    try await friend.call("clique.send", "{\"to\":\"\(person.user)\",\"text\":\"keep this of \(person.friend)\"}")
    try await phone.call("clique.send", "{\"to\":\"\(person.friend)\",\"text\":\"\(words) again\"}")
    let found = try await friend.call("clique.search", "{\"text\":\"\(Self.marker)words\",\"limit\":1}")
    #expect(found["messages"].array.count == 1)
    try await phone.call("clique.enter", "{\"place\":\"cafe\"}")
    #expect(try http(person.user, hall).put(person.unsent) == 201)
    try await send(person.sent, from: phone, of: person.user, to: person.friend, hall)
    if !person.answers.isEmpty {
      try await send(person.answers, from: friend, of: person.friend, to: person.user, hall)
    }
    phone.cut()
  }

  private func state(of user: String, _ hall: PhoneHall) throws -> String? {
    try call("user_delete_status", "{\"user\":\"\(user)\"}", hall)["state"].string
  }

  private func pictures(_ hall: PhoneHall) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: hall.data.appendingPathComponent("pictures").path))
  }

  /// The kinds of files in which a trace of the people stands: the journal of a database is of its kind.
  private func kinds(_ hall: PhoneHall) throws -> Set<String> {
    Set(
      try ByteSearch.files(in: hall.data, holding: Self.traces).values.flatMap(\.self)
        .compactMap { $0.split(separator: ".").first.map(String.init) })
  }

  @Test("deletions over kill -9 leave nothing of the users in any file, and none of their pictures")
  func deletions() async throws {
    try await PhoneHall.with(Self.settings) { hall in
      let people = (0..<20).map(Person.init)
      let kept = PictureClient.Picture(bytes: 600)
      var friends: [String: Phone] = [:]
      for friend in ["friend0", "friend1", "friend2"] { friends[friend] = try await hall.phone(of: friend) }
      for person in people {
        try await furnish(person, friend: try #require(friends[person.friend]), hall)
      }
      #expect(try http("friend0", hall).put(kept) == 201)
      let everywhere: Set = ["fanfare", "search", "coverage"]
      let isEverywhere = try await eventually { try kinds(hall).isSuperset(of: everywhere) }
      let places = try kinds(hall)
      #expect(isEverywhere, "it is in \(places)")
      #expect(try pictures(hall).isSuperset(of: people.flatMap { $0.sent.map(\.id) + [$0.unsent.id] }))

      // Several batches, each of them interrupted a little later than the one before.
      for (round, batch) in stride(from: 0, to: people.count, by: 5).enumerated() {
        let users = people[batch..<batch + 5].map(\.user)
        for user in users {
          let asked = try call("user_delete", "{\"user\":\"\(user)\"}", hall)
          #expect(asked["state"].string == "waiting")
        }
        var looks = 0
        while looks < round * 8, try state(of: users[4], hall) != "done" { looks += 1 }
        try await hall.killAndRestart()
      }
      for person in people {
        let isDone = try await eventually { try state(of: person.user, hall) == "done" }
        let last = try state(of: person.user, hall) ?? ""
        try #require(isDone, "it is \(last)")
      }
      // Nothing is waited for here: a deletion that is "done" has left no picture.
      let own = Set(people.flatMap { $0.sent.map(\.id) + [$0.unsent.id] })
      let left = try pictures(hall).filter { name in own.contains { name.hasPrefix($0) } }
      #expect(left == [])
      #expect(try ByteSearch.files(in: hall.data, holding: Self.traces) == [:])
      let areGone = try await eventually { try pictures(hall) == [kept.id] }
      let files = try pictures(hall)
      #expect(areGone, "there are \(files)")
      let others = try ByteSearch.files(in: hall.data, holding: ["keep this of friend0", "keep this of friend2"])
      #expect(others.count == 2)
      await hall.server.kill()
      #expect(try ByteSearch.files(in: hall.data, holding: Self.traces) == [:])
    }
  }

  @Test("somebody exports what is kept of them, and has it deleted, from their own phone")
  func byThemselves() async throws {
    let settings = Self.settings + ["account.allow_export=true", "account.allow_delete=true"]
    try await PhoneHall.with(settings) { hall in
      let user = "\(Self.marker)-self"
      let (own, bob) = (try await hall.phone(of: user), try await hall.phone(of: "bob"))
      let words = "\(Self.marker)words by hand"
      try await own.call("clique.send", "{\"to\":\"bob\",\"text\":\"\(words)\"}")
      try await bob.call("clique.send", "{\"to\":\"\(user)\",\"text\":\"bob answers\"}")
      let picture = PictureClient.Picture(bytes: 1_300_000)
      #expect(try http(user, hall).put(picture) == 201)
      var (text, bytes, cursor): (String, [UInt8], String?) = ("", [], nil)
      repeat {
        let page = try await own.call("fanfare.account.export", "{\"cursor\":\"\(cursor ?? "")\"}")
        for item in page["items"].array {
          if let part = item["picture"]["b64data"].string { bytes += Array(Data(base64Encoded: part) ?? Data()) }
          text += item["data"]["text"].string ?? ""
        }
        cursor = page["cursor"].string
      } while cursor != nil
      #expect(text.contains(words) && !text.contains("bob answers"))
      let isSame = bytes == picture.bytes
      #expect(isSame)
      #expect(try await !own.call("fanfare.account.data")["kept"].array.isEmpty)

      await #expect(throws: Phone.Fault.self) { try await own.call("fanfare.account.delete", "{\"user\":\"bob\"}") }
      let asked = try await own.call("fanfare.account.delete", "{\"user\":\"\(user)\"}")
      #expect(asked["state"].string == "waiting")
      let isDone = try await eventually { try state(of: user, hall) == "done" }
      #expect(isDone)
      #expect(try ByteSearch.files(in: hall.data, holding: Self.traces) == [:])
      #expect(try pictures(hall) == [])
      #expect(try state(of: "bob", hall) == "none")
    }
  }
}
