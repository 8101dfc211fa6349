import Foundation
import TestSupport
import Testing
import Wire

/// What a backend does with one user's data, on real servers with their disks, their search and their pictures.
@Suite("One user's data end to end", .ownThread)
struct UserDataTests {
  /// What stands in every id and every text of those who are deleted, and nowhere else; and as an index folds it.
  private static let marker = "zQ7x"
  private static let traces = [marker, marker.lowercased()]

  // MARK: Exports

  /// The pictures of ada's export by their ids, and whether each has come once, in parts of which one follows the other.
  private func exported(_ desk: DeletionDesk) throws -> (pictures: [String: [UInt8]], areWhole: Bool) {
    var (found, areWhole): ([String: [UInt8]], Bool) = ([:], true)
    var cursor: String?
    repeat {
      let page = try desk.call("user_export", "{\"user\":\"ada\",\"cursor\":\(JSON.quoted(cursor ?? ""))}")
      for item in page["items"].array where !item["picture"].isNull {
        let id = try #require(item["picture"]["id"].string)
        let part = try #require(item["picture"]["b64data"].string.flatMap { Data(base64Encoded: $0) })
        if item["picture"]["from"].int != found[id, default: []].count || part.count > 1 << 20 { areWhole = false }
        found[id, default: []] += Array(part)
      }
      cursor = page["cursor"].string
    } while cursor != nil
    return (found, areWhole)
  }

  @Test(
    "an export holds the user's pictures byte by byte, over HTTP and as a folder, and nothing that is sealed",
    arguments: HallPlace.here)
  func export(at place: HallPlace) async throws {
    try await PhoneHall.with(DeletionDesk.settings, at: place) { hall in
      let desk = DeletionDesk(hall: hall)
      let (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let mine = [PictureClient.Picture(bytes: 1_200_000), .init(bytes: 70_000)]
      let theirs = [PictureClient.Picture(bytes: 1000), .init(bytes: 65_536)]
      let unsent = PictureClient.Picture(bytes: 9)
      try await desk.send(mine, from: ada, of: "ada", to: "dan")
      try await desk.send(theirs, from: dan, of: "dan", to: "ada")
      let sealed = [PictureClient.Picture(bytes: 100), .init(bytes: 200)]
      try await desk.send(sealed, from: ada, of: "ada", to: "eve")
      #expect(try desk.http("ada").put(unsent) == 201)
      try await ada.call("clique.send", #"{"to":"dan","text":"by hand of ada"}"#)
      try await dan.call("clique.send", #"{"to":"ada","text":"by hand of dan"}"#)
      let expected = mine + theirs + [unsent]

      var (found, areWhole): ([String: [UInt8]], Bool) = ([:], false)
      // A picture that is lent is an upload still, until its own partition hears that it was sent.
      _ = try await eventually(within: hall.patience) {
        (found, areWhole) = try exported(desk)
        return areWhole && Set(found.keys) == Set(expected.map(\.id))
      }
      #expect(areWhole && Set(found.keys) == Set(expected.map(\.id)))
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
      #expect(!lines.contains { $0["data"]["text"].string == "by hand of dan" }, "what others wrote is theirs")
      let again = try await Tool.run(
        arguments + ["--folder", folder.path], in: hall.data.deletingLastPathComponent())
      #expect(again.status == 1 && again.tool.errors.contains("is there already"), "\(again.tool.errors)")
      let printed = try await Tool.run(arguments, in: hall.data.deletingLastPathComponent())
      #expect(printed.status == 0 && printed.tool.lines.count > 1 && printed.tool.output.contains("b64data"))
    }
  }

  // MARK: Deletions

  @Test(
    "deletions over kill -9 leave nothing of the users in any file or table, and none of their pictures",
    arguments: HallPlace.here)
  func deletions(at place: HallPlace) async throws {
    try await PhoneHall.with(DeletionDesk.settings, at: place) { hall in
      let desk = DeletionDesk(hall: hall)
      let people = (0..<20).map { DeletionDesk.Person($0, marker: Self.marker) }
      let kept = PictureClient.Picture(bytes: 600)
      var friends: [String: Phone] = [:]
      for friend in ["friend0", "friend1", "friend2"] { friends[friend] = try await hall.phone(of: friend) }
      for person in people {
        try await desk.furnish(person, friend: try #require(friends[person.friend]))
      }
      #expect(try desk.http("friend0").put(kept) == 201)
      let everywhere: Set = ["fanfare", "search", "coverage"]
      var places: Set<String> = []
      let isEverywhere = try await eventually {
        places = DeletionDesk.kinds(of: try hall.holders(of: Self.traces))
        return places.isSuperset(of: everywhere)
      }
      #expect(isEverywhere, "it is in \(places)")
      #expect(try desk.pictures().isSuperset(of: people.flatMap(\.ownPictures)))

      // Several batches, each of them interrupted a little later than the one before.
      for (round, batch) in stride(from: 0, to: people.count, by: 5).enumerated() {
        let users = people[batch..<batch + 5].map(\.user)
        for user in users {
          let asked = try desk.call("user_delete", "{\"user\":\"\(user)\"}")
          #expect(asked["state"].string == "waiting")
        }
        var looks = 0
        while looks < round * 8, try desk.state(of: users[4]) != "done" { looks += 1 }
        try await hall.killAndRestart()
      }
      for person in people {
        let isDone = try await eventually(within: DeletionDesk.patience) { try desk.state(of: person.user) == "done" }
        let last = try desk.state(of: person.user) ?? ""
        try #require(isDone, "it is \(last)")
      }
      // Where one broker decides, nothing is waited for here: a deletion that is "done" has left no picture.
      let own = Set(people.flatMap(\.ownPictures))
      var left: Set<String> = []
      _ = try await eventually(within: hall.patience) {
        left = try desk.pictures().filter { name in own.contains { name.hasPrefix($0) } }
        return left.isEmpty
      }
      #expect(left == [])
      try await expectNoTraces(in: hall)
      let areGone = try await eventually { try desk.pictures() == [kept.id] }
      let files = try desk.pictures()
      #expect(areGone, "there are \(files)")
      #expect(try hall.holders(of: ["keep this of friend0", "keep this of friend2"]).count == 2)
      await hall.kill()
      #expect(try hall.holders(of: Self.traces) == [:])
    }
  }

  @Test(
    "what a partition has still to say of a user when others have deleted what they have leaves nothing with them",
    .enabled(if: HallPlace.here.contains(.partitions)))
  func late() async throws {
    try await PhoneHall.with(DeletionDesk.settings, at: .partitions) { hall in
      let desk = DeletionDesk(hall: hall)
      let (friend, home) = ("friend1", try await hall.phone(of: "friend1"))
      let (user, id, place) = try await somebody(whoTalksTo: friend, home, desk)
      let phone = try await hall.phone(of: user)
      let words = "{\"conversation\":\"\(id)\",\"text\":\"\(Self.marker)words\"}"
      try await phone.call("clique.send", words)
      let list = "fanfare.\(HallPlace.place(ofUser: friend)).publications"
      let isShown = try await eventually(within: hall.patience) {
        try hall.holders(of: [Self.marker]).values.joined().contains(list)
      }
      #expect(isShown)
      // What the friend's list shows of these is worked out some moments later, which come after the deletion here.
      for _ in 0..<5 { try await phone.call("clique.send", words) }
      try hall.signal(SIGSTOP, broker: place)
      let asked = Task.detached { try desk.call("user_delete", "{\"user\":\"\(user)\"}") }
      let isDeleted = try await eventually(within: hall.patience) {
        try !hall.holders(of: [Self.marker]).values.joined().contains(list)
      }
      try hall.signal(SIGCONT, broker: place)
      #expect(isDeleted)
      #expect(try await asked.value["state"].string == "waiting")
      #expect(try await eventually(within: DeletionDesk.patience) { try desk.state(of: user) == "done" })
      try await expectNoTraces(in: hall)
    }
  }

  /// Somebody whose conversation with a friend is decided about neither at home nor where the friend's list is.
  private func somebody(
    whoTalksTo friend: String, _ phone: Phone, _ desk: DeletionDesk
  ) async throws -> (user: String, conversation: String, place: Int) {
    for number in 0..<100 {
      let user = "\(Self.marker)-late\(number)"
      let sent = try await phone.call("clique.send", "{\"to\":\"\(user)\",\"text\":\"keep this of \(friend)\"}")
      let id = try #require(sent["conversation"].string)
      let place = HallPlace.place(ofConversation: id)
      if place != Partitioning.home, place != HallPlace.place(ofUser: friend) { return (user, id, place) }
      _ = try desk.call("user_delete", "{\"user\":\"\(user)\"}")
      #expect(try await eventually(within: DeletionDesk.patience) { try desk.state(of: user) == "done" })
    }
    throw Failure("no conversation is where it is looked for")
  }

  /// What one partition says to another may name a user until it was heard.
  private func expectNoTraces(in hall: PhoneHall) async throws {
    var traces: [String: [String]] = [:]
    _ = try await eventually(within: hall.patience) {
      traces = try hall.holders(of: Self.traces)
      return traces.isEmpty
    }
    #expect(traces == [:])
  }

  @Test(
    "somebody exports what is kept of them, and has it deleted, from their own phone", arguments: HallPlace.here)
  func byThemselves(at place: HallPlace) async throws {
    let settings = DeletionDesk.settings + ["account.allow_export=true", "account.allow_delete=true"]
    try await PhoneHall.with(settings, at: place) { hall in
      let desk = DeletionDesk(hall: hall)
      let user = "\(Self.marker)-self"
      let (own, dan) = (try await hall.phone(of: user), try await hall.phone(of: "dan"))
      let words = "\(Self.marker)words by hand"
      try await own.call("clique.send", "{\"to\":\"dan\",\"text\":\"\(words)\"}")
      try await dan.call("clique.send", "{\"to\":\"\(user)\",\"text\":\"dan answers\"}")
      let picture = PictureClient.Picture(bytes: 1_300_000)
      #expect(try desk.http(user).put(picture) == 201)
      var (text, bytes, cursor): (String, [UInt8], String?) = ("", [], nil)
      repeat {
        let page = try await own.call("fanfare.account.export", "{\"cursor\":\"\(cursor ?? "")\"}")
        for item in page["items"].array {
          if let part = item["picture"]["b64data"].string { bytes += Array(Data(base64Encoded: part) ?? Data()) }
          text += item["data"]["text"].string ?? ""
        }
        cursor = page["cursor"].string
      } while cursor != nil
      #expect(text.contains(words) && !text.contains("dan answers"))
      let isSame = bytes == picture.bytes
      #expect(isSame)
      #expect(try await !own.call("fanfare.account.data")["kept"].array.isEmpty)

      await #expect(throws: Phone.Fault.self) { try await own.call("fanfare.account.delete", "{\"user\":\"dan\"}") }
      let asked = try await own.call("fanfare.account.delete", "{\"user\":\"\(user)\"}")
      #expect(asked["state"].string == "waiting")
      let isDone = try await eventually(within: DeletionDesk.patience) { try desk.state(of: user) == "done" }
      #expect(isDone)
      try await expectNoTraces(in: hall)
      let areGone = try await eventually(within: hall.patience) { try desk.pictures() == [] }
      #expect(areGone)
      #expect(try desk.state(of: "dan") == "none")
    }
  }
}
