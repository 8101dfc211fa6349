import Foundation
import TestSupport
import Testing

/// What was deleted, or whose key was destroyed, does not come back when the power goes; and a key that something needs is
/// there. The disk is searched as the cut leaves it, before a server has looked at it.
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
        let looks = round.isMultiple(of: 2) ? Int.random(in: 0...60, using: &random) : .max
        var done: Set<String> = []
        for _ in 0..<looks where done.count < people.count {
          for person in people where try desk.state(of: person.user) == "done" { done.insert(person.user) }
        }
        try await hall.killAndRestart {
          try await lazy.cutPower()
          try Self.expectNothing(of: people.filter { done.contains($0.user) }, on: lazy, "\(what), at once")
        }
        for person in people {
          let isDone = try await eventually { try desk.state(of: person.user) == "done" }
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
}
