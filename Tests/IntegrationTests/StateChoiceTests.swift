import Foundation
import TestSupport
import Testing

/// What people choose around an exchange, as phones do it: over the public protocol and HTTP, on a real server and disk.
@Suite("State end to end: reactions, ends, limits, discarding, downloads that resume", .ownThread)
struct StateChoiceTests {
  /// Somebody's phone, and their pictures.
  private struct Person {
    let user: String
    let phone: Phone
    let http: PictureClient

    init(_ user: String, _ hall: PhoneHall) async throws {
      self.user = user
      phone = try await hall.phone(of: user)
      http = PictureClient(port: URL(string: hall.url)?.port ?? 0, token: try hall.token(user))
      try await phone.subscribeMap("state.threads:\(user)")
      try await phone.subscribe("state.events:\(user)")
    }

    func upload(_ sizes: [Int] = [70_000, 3_000]) throws -> [PictureClient.Picture] {
      let pictures = sizes.map { PictureClient.Picture(bytes: $0) }
      for picture in pictures { #expect(try http.put(picture) == 201) }
      return pictures
    }

    /// Records, uploads and sends.
    @discardableResult
    func send(to other: String) async throws -> (reply: JSON, pictures: [PictureClient.Picture]) {
      try await phone.call("state.begin", "{\"to\":\"\(other)\"}")
      let pictures = try upload()
      let reply = try await phone.call(
        "state.send", "{\"to\":\"\(other)\",\"front\":\"\(pictures[0].id)\",\"rear\":\"\(pictures[1].id)\"}")
      return (reply, pictures)
    }

    func thread(_ other: String) -> JSON { phone.entry("state.threads:\(user)", other)["data"] }

    var events: [String] {
      phone.publications("state.events:\(user)").map {
        "\($0["data"]["event"].string ?? "") \($0["data"]["with"].string ?? "")"
      }
    }

    func hears(_ expected: [String]) async -> Bool { await eventually(within: .seconds(120)) { events == expected } }
  }

  private func list(_ pictures: [PictureClient.Picture]) -> String {
    pictures.map { "\"\($0.id)\"" }.joined(separator: ",")
  }

  private func code(_ body: () async throws -> Void) async throws -> Int? {
    do {
      try await body()
      return nil
    } catch let fault as Phone.Fault {
      return fault.code
    }
  }

  @Test("Reactions reach all phones of both, stay encrypted on the disk, outlive a kill, and go with the reveal")
  func reactions() async throws {
    let mark = "👩‍👩‍👧‍👦"
    let early = "{\"with\":\"bob\",\"reaction\":\"!\"}"
    try await PhoneHall.with(["state.reveal_lifetime=30s"]) { hall in
      var (ada, bob) = (try await Person("ada", hall), try await Person("bob", hall))
      let tablet = try await Person("ada", hall)
      try await ada.send(to: "bob")
      #expect(try await code { try await ada.phone.call("state.react", early) } == 438)
      try await bob.send(to: "ada")
      try await ada.phone.call("state.react", "{\"with\":\"bob\",\"reaction\":\"\(mark)\"}")
      let told = ["received ada", "revealed ada", "reacted ada"]
      #expect(await eventually(within: .seconds(60)) { bob.events.starts(with: told) })
      #expect(await eventually(within: .seconds(60)) { bob.thread("ada")["theirs"]["reaction"].string == mark })
      #expect(await eventually(within: .seconds(60)) { tablet.thread("bob")["mine"]["reaction"].string == mark })
      #expect(try ByteSearch.files(in: hall.data, holding: ByteSearch.forms(of: mark)) == [:])
      try await hall.killAndRestart()
      (ada, bob) = (try await Person("ada", hall), try await Person("bob", hall))
      // A machine that is slow has let the reveal end meanwhile.
      if let reaction = bob.thread("ada")["theirs"]["reaction"].string { #expect(reaction == mark) }
      #expect(await eventually(within: .seconds(120)) { ada.thread("bob").isNull && bob.thread("ada").isNull })
      for (person, other) in [(ada, "bob"), (bob, "ada")] {
        let channel = "state.events:\(person.user)"
        let history = try await person.phone.ask("\"history\":{\"channel\":\"\(channel)\",\"limit\":10}")
        let last = history["history"]["publications"].array.last?["data"]
        #expect(last?["event"].string == "ended" && last?["with"].string == other)
      }
      #expect(try await code { try await ada.phone.call("state.react", early) } == 438)
      #expect(try ByteSearch.files(in: hall.data, holding: ByteSearch.forms(of: mark)) == [:])
    }
  }

  @Test("What strangers send beyond a limit looks sent to them and reaches nobody, also after a restart")
  func received() async throws {
    try await PhoneHall.with(["state.max_received=1"]) { hall in
      let ada = try await Person("ada", hall)
      try await Person("bob", hall).send(to: "ada")
      try await hall.killAndRestart()
      let again = try await Person("ada", hall)
      let eve = try await Person("eve", hall)
      let sent = try await eve.send(to: "ada").reply
      #expect(sent["phase"].string == "sent")
      #expect(await eve.hears(["sent ada"]))
      #expect(await eventually(within: .seconds(60)) { eve.thread("ada")["phase"].string == "sent" })
      // What is sent to ada as an answer comes after it, and she hears of nothing else.
      try await again.phone.call("state.begin", "{\"to\":\"cy\"}")
      try await again.send(to: "cy")
      #expect(await eventually(within: .seconds(60)) { again.events.last == "sent cy" })
      #expect(!again.events.contains("received eve") && again.thread("eve").isNull)
      #expect(again.thread("bob")["phase"].string == "received")
      withExtendedLifetime(ada) {}
    }
  }

  @Test("A recorder that is given up frees its place and its pictures, whose files go from the disk, and gives no time")
  func cancels() async throws {
    try await PhoneHall.with(["state.max_recorders=1", "state.max_unsent_pictures=2"]) { hall in
      let ada = try await Person("ada", hall)
      let folder = hall.data.appendingPathComponent("pictures")
      func files() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }
      let begun = try await ada.phone.call("state.begin", "{\"to\":\"bob\"}")
      let pictures = try ada.upload()
      #expect(try ada.http.put(.init(bytes: 100)) == 429)
      #expect(try await code { try await ada.phone.call("state.begin", "{\"to\":\"cy\"}") } == 106)
      try await ada.phone.call("state.cancel", "{\"to\":\"bob\",\"pictures\":[\(list(pictures))]}")
      #expect(await eventually(within: .seconds(60)) { files().isEmpty })
      #expect(try ada.http.put(pictures[0]) == 409, "an id is used once")
      let again = try await ada.phone.call("state.begin", "{\"to\":\"bob\"}")
      #expect(again["deadline"].int == begun["deadline"].int)
      // Over HTTP, too, of an upload that has only begun.
      let cut = PictureClient.Picture(bytes: 200_000)
      #expect(try ada.http.put(cut, 0..<100_000) == 202)
      #expect(try ada.http.discard(cut) == 200 && files().isEmpty)
      let others = try ada.upload()
      try await ada.phone.call(
        "state.send", "{\"to\":\"bob\",\"front\":\"\(others[0].id)\",\"rear\":\"\(others[1].id)\"}")
      #expect(try await code { try await ada.phone.call("state.discard", "{\"pictures\":[\(list(others))]}") } == 435)
      #expect(try ada.http.discard(others[0]) == 409)
      #expect(Set(files()) == Set(others.map(\.id)))
    }
  }

  @Test("A download that was cut off goes on, for as long as the picture may be seen")
  func resumes() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob) = (try await Person("ada", hall), try await Person("bob", hall))
      let picture = try await ada.send(to: "bob").pictures[0]
      #expect(try bob.http.head(picture).status == 404)
      try await bob.send(to: "ada")
      let head = try bob.http.head(picture)
      #expect(head.status == 200 && head.body.isEmpty && head.head.contains("Content-Length: \(picture.bytes.count)"))
      let line = try #require(head.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") })
      let tag = line.dropFirst("ETag: ".count)
      let rest = try bob.http.get(picture, "Range: bytes=66000-\r\nIf-Range: \(tag)\r\n")
      #expect(rest.status == 206 && rest.body == Array(picture.bytes[66_000...]))
      #expect(try bob.http.get(picture, "If-None-Match: \(tag)\r\n").status == 304)
      #expect(try bob.http.get(picture, "Range: bytes=70000-\r\n").status == 416)
      // Bob sees the picture no more once he has blocked ada, whatever tag he shows.
      try await bob.phone.call("state.block", "{\"user\":\"ada\"}")
      for headers in ["", "If-None-Match: \(tag)\r\n", "Range: bytes=0-1\r\n"] {
        #expect(try bob.http.get(picture, headers).status == 404)
      }
      #expect(try ada.http.get(picture, "Range: bytes=0-1\r\n").status == 206, "nobody has told ada")
      #expect(await bob.hears(["received ada", "revealed ada", "ended ada"]))
    }
  }
}
