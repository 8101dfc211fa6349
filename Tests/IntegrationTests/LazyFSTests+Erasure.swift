import Foundation
import TestSupport
import Testing

/// What was deleted, or whose key was destroyed, does not come back when the power goes; and a key that something needs
/// is there. The disk is searched as the cut leaves it, before a server has looked at it.
extension LazyFSTests {
  private static func withHall(_ settings: [String], _ body: (PhoneHall, LazyFS) async throws -> Void) async throws {
    try await withTemporaryFolder { beside in
      try await LazyFS.with("data", in: beside) { lazy in
        try await PhoneHall.with(lazy.settings + settings, in: beside) { try await body($0, lazy) }
      }
    }
  }

  // MARK: Deletions

  /// What one person may do in a day, for people who do it in every round.
  private static let manyADay = [
    "clique.max_requests_per_day=1000000", "clique.max_request_messages_per_day=0", "clique.max_visits_per_day=1000000",
    "state.max_received_per_day=1000000",
  ]

  @Test("A deletion that was answered as done has left nothing of the users on the disk, and none of their pictures")
  func deletions() async throws {
    let seed = Fire.seed(of: "power cuts and deletions")
    var random = SeededGenerator(seed: seed)
    try await Self.withHall(DeletionDesk.settings + Self.manyADay) { hall, lazy in
      let desk = DeletionDesk(hall: hall)
      for round in 1...Fire.rounds(usually: 4) {
        let what = "round \(round), seed \(seed)"
        let people = try await Self.people(of: round, desk, lazy)
        for person in people { _ = try desk.call("user_delete", "{\"user\":\"\(person.user)\"}") }
        // In every other round the power goes as soon as all is done, else after a few looks.
        var looks = round.isMultiple(of: 2) ? Int.random(in: 0...1000, using: &random) : .max
        var done: Set<String> = []
        while looks > 0, done.count < people.count {
          looks -= 1
          for person in people where try desk.state(of: person.user) == "done" { done.insert(person.user) }
        }
        try await hall.killAndRestart {
          try await lazy.cutPower()
          try Self.expectNothing(of: people.filter { done.contains($0.user) }, on: lazy, "\(what), at once")
        }
        for person in people {
          let isDone = try await eventually(within: DeletionDesk.patience) { try desk.state(of: person.user) == "done" }
          try #require(isDone, "\(what)")
        }
        try await hall.killAndRestart {
          try await lazy.cutPower()
          try Self.expectNothing(of: people, on: lazy, "\(what), after a restart")
        }
      }
    }
  }

  /// Users who have something in every file of a server, and on the disk.
  private static func people(
    of round: Int, _ desk: DeletionDesk, _ lazy: LazyFS
  ) async throws -> [DeletionDesk.Person] {
    let people = (0..<3).map { DeletionDesk.Person($0, marker: "zQ\(round)p\($0)x") }
    for person in people {
      let friend = try await desk.hall.phone(of: person.friend)
      try await desk.furnish(person, friend: friend)
      friend.cut()
    }
    let isEverywhere = try await eventually {
      try DeletionDesk.kinds(in: lazy.folder, holding: traces(of: people))
        .isSuperset(of: ["fanfare", "search", "coverage"])
    }
    #expect(isEverywhere, "round \(round)")
    let isOnDisk = try DeletionDesk.kinds(in: lazy.disk, holding: traces(of: people)).contains("fanfare")
    #expect(isOnDisk, "round \(round)")
    return people
  }

  private static func traces(of people: [DeletionDesk.Person]) -> [String] {
    people.flatMap { [$0.marker, $0.marker.lowercased()] }
  }

  private static func expectNothing(of people: [DeletionDesk.Person], on lazy: LazyFS, _ what: String) throws {
    let left = try ByteSearch.files(in: lazy.disk, holding: traces(of: people))
    #expect(left == [:], "\(what)")
    let own = people.flatMap(\.ownPictures)
    let names = try FileManager.default.contentsOfDirectory(atPath: lazy.disk.path + "/pictures")
    #expect(names.filter { name in own.contains { name.hasPrefix($0) } } == [], "\(what)")
  }

  // MARK: Keys of hours

  private static let keySettings = [
    "demo.enabled=true", "demo.clock=true", "state.record_limit=10m", "state.upload_grace=1h",
  ]
  private static let hour: Int64 = 3_600_000

  @Test("What was sealed can be opened after a power cut, and the key of an hour that was destroyed does not come back")
  func keys() async throws {
    let seed = Fire.seed(of: "power cuts and keys of hours")
    var random = SeededGenerator(seed: seed)
    try await Self.withHall(Self.keySettings) { hall, lazy in
      for round in 1...Fire.rounds(usually: 3) {
        let what = "round \(round), seed \(seed)"
        let secrets = try await Secrets(in: hall, round)
        let before = try HourKeySets(in: lazy.folder)
        try await hall.killAndRestart {
          try await lazy.cutPower()
          let after = try HourKeySets(in: lazy.disk)
          #expect(before.all.isSubset(of: after.all), "\(what): a key that is needed is gone")
          #expect(try ByteSearch.files(in: lazy.disk, holding: secrets.texts) == [:], "\(what)")
        }
        try await secrets.answer(in: hall)
        if Bool.random(using: &random) { try await hall.killAndRestart { try await lazy.cutPower() } }
        try await secrets.expectOpen(in: hall, what)

        let moved = try DemoDoor(hall: hall).advance(48 * Self.hour, DemoDoor(hall: hall).token("Door"))
        let now = try #require(try JSON(moved.text)["now"].int.map { Int64($0) })
        let doomed = before.doomed(at: now)
        #expect(doomed.count > 40 && before.needed(by: secrets.since).isSubset(of: doomed), "\(what)")
        let search = ByteSearch(for: Array(doomed))
        let areDestroyed = try await eventually(within: .seconds(240)) {
          try HourKeySets(in: lazy.folder).all.isDisjoint(with: doomed)
        }
        try #require(areDestroyed, "\(what)")
        try await hall.killAndRestart {
          try await lazy.cutPower()
          #expect(try search.files(in: lazy.disk) == [], "\(what): a key that was destroyed is back")
          // The search would have found one.
          let stolen = lazy.disk.appendingPathComponent("stolen")
          try Data(Array("a thief has ".utf8) + (doomed.first ?? [])).write(to: stolen)
          #expect(try search.files(in: lazy.disk) == ["stolen"])
          try FileManager.default.removeItem(at: stolen)
        }
        #expect(try HourKeySets(in: lazy.folder).all.isDisjoint(with: doomed), "\(what)")
        try await secrets.expectGone(in: hall, what)
      }
    }
  }
}

/// The keys of hours of State and of messages that disappear, as their files have them
/// (`Sources/Vault/HourKeys.swift`).
private struct HourKeySets {
  private static let hour: Int64 = 3_600_000
  private let sealed: [Int64: [UInt8]]
  private let vanishing: [Int64: [UInt8]]

  init(in folder: URL) throws {
    sealed = try Self.read(folder.appendingPathComponent("seal.keys"))
    vanishing = try Self.read(folder.appendingPathComponent("vanish.keys"))
  }

  /// Four bytes, then for each key its hour in eight and itself in 32, then a sum of 32.
  private static func read(_ file: URL) throws -> [Int64: [UInt8]] {
    let bytes = Array(try Data(contentsOf: file))
    guard bytes.count >= 36, (bytes.count - 36).isMultiple(of: 40) else { throw Failure("\(file.path) is cut off") }
    return Dictionary(
      uniqueKeysWithValues: stride(from: 4, to: bytes.count - 32, by: 40).map { start in
        (bytes[start..<start + 8].reduce(0) { $0 << 8 | Int64($1) }, Array(bytes[start + 8..<start + 40]))
      })
  }

  var all: Set<[UInt8]> { Set(sealed.values).union(vanishing.values) }

  /// Those that something needs which was sealed at a time, or written then to disappear an hour later.
  func needed(by time: Int64) -> Set<[UInt8]> {
    Set([sealed[time / Self.hour], vanishing[time / Self.hour + 1]].compactMap(\.self))
  }

  /// Those that are to be destroyed at a time: a State waits for 24 hours, a picture to be sent for one, and both have
  /// an hour more.
  func doomed(at time: Int64) -> Set<[UInt8]> {
    let now = time / Self.hour
    return Set(sealed.filter { $0.key < now - 26 }.values)
      .union(vanishing.filter { $0.key < now - 1 }.values)
  }
}

/// Two exchanges of pictures, of which one is answered, and a message that disappears.
private struct Secrets {
  /// When the first was sealed, in milliseconds since 1970.
  let since: Int64
  private let (ada, bob, cleo, dan): (String, String, String, String)
  private let pictures: [String: [PictureClient.Picture]]
  private let conversation: String
  private let text: String

  init(in hall: PhoneHall, _ round: Int) async throws {
    (ada, bob, cleo, dan) = ("ada\(round)", "bob\(round)", "cleo\(round)", "dan\(round)")
    text = "what nobody may read in an hour, \(round)"
    pictures = Dictionary(
      uniqueKeysWithValues: [ada, bob, cleo].map { ($0, [.init(bytes: 70_000), .init(bytes: 3000)]) })
    let desk = DeletionDesk(hall: hall)
    let (first, second) = (try await hall.phone(of: ada), try await hall.phone(of: bob))
    try await first.call("clique.send", "{\"to\":\"\(bob)\",\"text\":\"hello\"}")
    let accepted = try await second.call("clique.accept", "{\"person\":\"\(ada)\"}")
    conversation = try #require(accepted["conversation"].string)
    try await first.call("clique.disappear", "{\"person\":\"\(bob)\",\"after\":3600000}")
    try await second.call("clique.disappear", "{\"person\":\"\(ada)\",\"after\":3600000}")
    since = Int64(Date().timeIntervalSince1970 * 1000)
    try await desk.send(pictures[ada] ?? [], from: first, of: ada, to: bob)
    try await desk.send(pictures[cleo] ?? [], from: try await hall.phone(of: cleo), of: cleo, to: dan)
    try await first.call("clique.send", "{\"conversation\":\"\(conversation)\",\"text\":\"\(text)\"}")
  }

  /// The text in all forms in which a file could hold it.
  var texts: [String] { ByteSearch.forms(of: text) }

  func answer(in hall: PhoneHall) async throws {
    try await DeletionDesk(hall: hall).send(
      pictures[bob] ?? [], from: try await hall.phone(of: bob), of: bob, to: ada)
  }

  private func isRead(in hall: PhoneHall) async throws -> Bool {
    let history = "\"history\":{\"channel\":\"clique.chat:\(conversation)\",\"limit\":100}"
    let answer = try await hall.phone(of: bob).ask(history)
    return answer["history"]["publications"].array.contains { $0["data"]["text"].string == text }
  }

  /// What was answered is seen by both, and the message is read.
  func expectOpen(in hall: PhoneHall, _ what: String) async throws {
    let desk = DeletionDesk(hall: hall)
    for user in [ada, bob] {
      for picture in (pictures[ada] ?? []) + (pictures[bob] ?? []) {
        let answer = try desk.http(user).get(picture)
        let isSame = answer.body == picture.bytes
        #expect(answer.status == 200 && isSame, "\(what)")
      }
    }
    for picture in pictures[cleo] ?? [] { #expect(try desk.http(dan).get(picture).status == 404, "\(what)") }
    #expect(try await isRead(in: hall), "\(what)")
  }

  /// Nobody sees anything of it any more.
  func expectGone(in hall: PhoneHall, _ what: String) async throws {
    let desk = DeletionDesk(hall: hall)
    for (owner, user) in [(ada, bob), (bob, ada), (cleo, dan), (cleo, cleo)] {
      for picture in pictures[owner] ?? [] { #expect(try desk.http(user).get(picture).status == 404, "\(what)") }
    }
    #expect(try await !isRead(in: hall), "\(what)")
  }
}
