import Foundation
import TestSupport
import Testing

/// Keys of State and of Clique's disappearing messages in the log's database: what one server has sealed the next one
/// opens, which has nothing of the first one's folder.
@Suite("Keys in the log's database", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct SharedKeysTests {
  private static let names = ["seal.keys", "state.key", "vanish.keys"]
  private static let caption = "a caption that nobody may read before its time"
  private static let text = "what nobody may read tomorrow"

  /// What the servers of a test share: the database, the pictures, and the master key.
  private struct Place {
    let folder: URL
    let settings: [String]
    let engine: [String]
    var master: URL { folder.appendingPathComponent("master.key") }

    init(_ folder: URL) throws {
      self.folder = folder
      engine = try Engine.postgres.settings()
      settings = engine + ["state.picture_directory=\(folder.path)/pictures"]
    }

    var keyed: [String] { settings + ["keys.master_file=\(master.path)"] }

    func write(_ lines: String...) throws {
      let text = lines.map { String(repeating: $0, count: 32) + "\n" }.joined()
      try? FileManager.default.removeItem(at: master)
      let isMade = FileManager.default.createFile(
        atPath: master.path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
      if !isMade { throw Failure("\(master.path) cannot be written") }
    }

    /// A data folder with nothing in it.
    func elsewhere(_ name: String) -> URL { folder.appendingPathComponent(name) }
  }

  private struct Person {
    let user: String
    let phone: Phone
    let http: PictureClient
    let pictures: [PictureClient.Picture]

    init(_ user: String, _ hall: PhoneHall, _ pictures: [PictureClient.Picture]? = nil) async throws {
      let http = PictureClient(port: URL(string: hall.url)?.port ?? 0, token: try hall.token(user))
      try await self.init(user, hall.phone(of: user), http, pictures)
    }

    init(
      _ user: String, _ phone: Phone, _ http: PictureClient, _ pictures: [PictureClient.Picture]? = nil
    ) async throws {
      (self.user, self.phone, self.http) = (user, phone, http)
      self.pictures = pictures ?? [.init(bytes: 9_000), .init(bytes: 3_000)]
      try await phone.subscribeMap("state.threads:\(user)")
    }

    func again(_ hall: PhoneHall) async throws -> Person { try await Person(user, hall, pictures) }

    func send(to other: String, _ more: String = "") async throws -> JSON {
      try await phone.call("state.begin", #"{"to":"\#(other)"}"#)
      for picture in pictures { #expect(try http.put(picture) == 201) }
      return try await phone.call(
        "state.send", #"{"to":"\#(other)","front":"\#(pictures[0].id)","rear":"\#(pictures[1].id)"\#(more)}"#)
    }

    func sees(_ other: Person) throws -> Bool { try other.pictures.allSatisfy { try http.get($0).body == $0.bytes } }
  }

  private func files(_ folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter(Self.names.contains).sorted()
  }

  /// What a server says that does not start.
  private func refusal(_ settings: [String], in folder: URL) async throws -> String {
    let given = settings + ["data.directory=\(folder.path)/refused", "server.port=0", "admin.port=0"]
    let run = try await Tool.run(["serve"] + given.flatMap { ["--set", $0] }, in: folder)
    #expect(run.status != nil && run.status != 0)
    return run.tool.errors
  }

  @Test("A State that one server has sealed is opened by the next, on another machine; then the master key is replaced")
  func state() async throws {
    try await withTemporaryFolder { folder in
      let place = try Place(folder)
      try place.write("0f")
      try await PhoneHall.with(place.keyed) { hall in
        var (ada, bob) = (try await Person("ada", hall), try await Person("bob", hall))
        let sent = try await ada.send(to: "bob", #","caption":"\#(Self.caption)""#)
        #expect(sent["phase"].string == "sent")
        #expect(try files(hall.data) == [])
        try await hall.killAndRestart(in: place.elsewhere("two"))
        (ada, bob) = (try await ada.again(hall), try await bob.again(hall))
        #expect(try !bob.sees(ada), "it is sealed still")
        #expect(try await bob.send(to: "ada")["phase"].string == "revealed")
        #expect(try bob.sees(ada) && ada.sees(bob))
        #expect(bob.phone.entry("state.threads:bob", "ada")["data"]["theirs"]["caption"].string == Self.caption)
        try place.write("a1", "0f")
        try await hall.killAndRestart(in: place.elsewhere("three"))
        #expect(hall.server.errorOutput.contains("state.key is wrapped under the first line of"))
        try place.write("a1")
        try await hall.killAndRestart(in: place.elsewhere("four"))
        (ada, bob) = (try await ada.again(hall), try await bob.again(hall))
        #expect(try bob.sees(ada) && ada.sees(bob))
        for name in ["two", "three", "four"] { #expect(try files(place.elsewhere(name)) == []) }
        await hall.server.kill()
        try place.write("0f")
        let refused = try await refusal(place.keyed, in: folder)
        #expect(refused.contains("no line of \(place.master.path) opens seal.keys"), "\(refused)")
      }
    }
  }

  @Test(
    "Keys in files move into the database once, with a message that disappears; without the master key nobody begins")
  func takenOver() async throws {
    try await withTemporaryFolder { folder in
      let place = try Place(folder)
      try place.write("0f")
      try await PhoneHall.with(place.settings) { hall in
        var (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
        try await ada.call("clique.send", #"{"to":"bob","text":"hello"}"#)
        let chat = try await bob.call("clique.accept", #"{"person":"ada"}"#)["conversation"].string ?? ""
        for (phone, other) in [(ada, "bob"), (bob, "ada")] {
          try await phone.call("clique.disappear", #"{"person":"\#(other)","after":86400000}"#)
        }
        try await ada.call("clique.send", #"{"conversation":"\#(chat)","text":"\#(Self.text)"}"#)
        #expect(try files(hall.data) == Self.names)
        try await hall.killAndRestart(["keys.master_file=\(place.master.path)"])
        #expect(try files(hall.data) == [])
        try await hall.killAndRestart(["keys.master_file=\(place.master.path)"], in: place.elsewhere("two"))
        (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
        try await bob.subscribe("clique.chat:\(chat)")
        let history = try await bob.ask(#""history":{"channel":"clique.chat:\#(chat)","limit":100}"#)
        let texts = history["history"]["publications"].array.map { $0["data"]["text"].string }
        #expect(texts.contains(Self.text), "\(texts)")
        await hall.server.kill()
        let refused = try await refusal(place.settings, in: folder)
        #expect(refused.contains("the log's database holds seal.keys, state.key, vanish.keys"), "\(refused)")
        let missing = try await refusal(place.settings + ["keys.master_file=\(folder.path)/none"], in: folder)
        #expect(missing.contains("\(folder.path)/none, which keys.master_file names, does not exist"), "\(missing)")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: place.master.path)
        let open = try await refusal(place.keyed, in: folder)
        #expect(open.contains("has mode 0644"), "\(open)")
      }
    }
  }

  @Test(
    "A State goes on over a broker that is paused, and over the one that followed it: each opens what the other has sealed"
  )
  func cluster() async throws {
    try await withTemporaryFolder { folder in
      let place = try Place(folder)
      try place.write("0f")
      let settings = ["keys.master_file=\(place.master.path)", "state.picture_directory=\(folder.path)/pictures"]
      try await Cluster.with(brokers: 2, settings: settings) { cluster in
        let (one, two) = (try await cluster.phone("ada", at: "a"), try await cluster.phone("bob", at: "b"))
        let (ada, bob) = (
          try await Person("ada", one.phone, one.pictures), try await Person("bob", two.phone, two.pictures)
        )
        #expect(try await ada.send(to: "bob", #","caption":"\#(Self.caption)""#)["phase"].string == "sent")
        let first = try await cluster.owner()
        cluster.process(first).signal(SIGSTOP)
        let isFollowed = await eventually(within: .seconds(60)) {
          (try? cluster.ask("SELECT owner FROM shards WHERE shard = 0"))?.first?
            .hasSuffix("process \(cluster.process(1 - first).identifier)") == true
        }
        try #require(isFollowed)
        #expect(try await bob.send(to: "ada")["phase"].string == "revealed")
        #expect(try bob.sees(ada) && ada.sees(bob))
        cluster.process(first).signal(SIGCONT)
        let notices = await eventually(within: .seconds(60)) {
          cluster.errorOutput(of: first).contains("another broker keeps the log now")
        }
        #expect(notices)
        cluster.process(1 - first).signal(SIGKILL)
        let isBack = await eventually(within: .seconds(60)) {
          cluster.errorOutput(of: first).contains("the log is kept here again")
        }
        #expect(isBack)
        // A request may come before the gateway has its session with that broker.
        #expect(await eventually(within: .seconds(60)) { (try? bob.sees(ada) && ada.sees(bob)) == true })
        for number in 0...1 { #expect(try cluster.files(of: number).filter(Self.names.contains) == []) }
      }
    }
  }
}
