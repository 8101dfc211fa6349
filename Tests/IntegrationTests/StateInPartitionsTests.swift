import Foundation
import TestSupport
import Testing
import Wire

/// State that is shared among the partitions of a log (docs/decisions/0073-state-in-all-partitions.md): a thread is where
/// its pair is, what a person sees is where the person is.
@Suite("State in partitions", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct StateInPartitionsTests {
  private static let partitioning = Partitioning(count: 3, namespaces: NamespaceTable())
  /// Milliseconds, of somebody's own time to record.
  private static let limit = 61_000

  // MARK: Exchanges

  @Test(
    "Wherever two people and their thread are: both are shown the same, once and in order, and nobody else anything")
  func exchanges() async throws {
    try await Machines.withState { machines, _ in
      let eve = try await PlacedPerson("eve", at: "b", of: machines)
      for place in 0..<27 {
        let wanted = [place / 9, place / 3 % 3, place % 3]
        let ada = try Self.partitioning.name("ada-\(place)-", at: wanted[0])
        let bob = try Self.partitioning.name("bob-\(place)-", at: wanted[1], with: [(ada, wanted[2])])
        let (one, two) = (
          try await PlacedPerson(ada, at: "a", of: machines), try await PlacedPerson(bob, at: "b", of: machines)
        )
        do { try await exchange(one, two, eve) } catch { throw Failure("people and pair in \(wanted): \(error)") }
        one.phone.cut()
        two.phone.cut()
      }
    }
  }

  private func exchange(_ ada: PlacedPerson, _ bob: PlacedPerson, _ eve: PlacedPerson) async throws {
    let what = "\(ada.user), \(bob.user)"
    try await ada.begin(bob.user)
    let (first, kept) = (try ada.upload(), try ada.upload())
    let sent = try await ada.send(first, to: bob.user, #","caption":"from \#(ada.user)","key":"k""#)
    #expect(sent["phase"].string == "sent")
    #expect(await bob.shows(sent, "received", with: ada.user), "\(what): \(bob.thread(ada.user))")
    #expect(await ada.shows(sent, "sent", with: bob.user), "\(what): \(ada.thread(bob.user))")
    let again = try await ada.send(first, to: bob.user, #","caption":"from \#(ada.user)","key":"k""#)
    #expect(again.description == sent.description, "\(what): the same send is answered as the first time")
    #expect(try await ada.refusal(of: kept, to: bob.user, #","key":"k""#) == 400, "\(what)")
    for person in [ada, bob, eve] { #expect(try person.found(first) == [false, false], "\(what): it is sealed") }
    let answer = try await bob.send(to: ada.user, #","caption":"from \#(bob.user)""#)
    let all = first + answer
    let revealed = try await bob.send(answer, to: ada.user)
    #expect(revealed["phase"].string == "revealed", "\(what)")
    for (person, other) in [(ada, bob), (bob, ada)] {
      #expect(await person.shows(revealed, "revealed", with: other.user), "\(what): \(person.thread(other.user))")
      let isTold = await eventually { person.thread(other.user)["theirs"]["caption"].string == "from \(other.user)" }
      #expect(isTold, "\(what): \(person.thread(other.user))")
      let front = person.thread(other.user)["theirs"]["front"].string
      #expect(front == (other.user == ada.user ? first : answer)[0].id, "\(what)")
      #expect(try person.found(all) == [true, true, true, true], "\(what)")
    }
    #expect(try eve.found(all) == [false, false, false, false], "\(what)")
    // The same two pictures are the same send, also where they were lent and are in the thread by now.
    #expect(try await ada.send(first, to: bob.user)["since"].int == sent["since"].int, "\(what)")
    try await ada.phone.call("state.react", #"{"with":"\#(bob.user)","reaction":"🔥"}"#)
    #expect(await eventually { bob.thread(ada.user)["theirs"]["reaction"].string == "🔥" }, "\(what)")
    try await bob.phone.call("state.block", #"{"user":"\#(ada.user)"}"#)
    #expect(await eventually { bob.thread(ada.user)["blocked"].bool }, "\(what): \(bob.thread(ada.user))")
    #expect(try bob.found(first) == [false, false] && ada.found(all) == [true, true, true, true], "\(what)")
    try await bob.phone.call("state.unblock", #"{"user":"\#(ada.user)"}"#)
    #expect(await eventually { bob.thread(ada.user).isNull }, "\(what): \(bob.thread(ada.user))")
    #expect(ada.thread(bob.user)["phase"].string == "revealed", "\(what): nobody has told them")
    let heard = ["received", "revealed", "reacted", "ended"].map { "\($0) \(ada.user)" }
    #expect(await eventually { bob.events.count >= heard.count } && bob.events == heard, "\(what): \(bob.events)")
    #expect(ada.events == ["sent \(bob.user)", "revealed \(bob.user)"], "\(what): \(ada.events)")
  }

  @Test("A person's pictures and settings are one person's over all partitions: sent once, given back, discarded")
  func choices() async throws {
    try await Machines.withState { machines, folder in
      for place in 0..<3 {
        let user = try Self.partitioning.name("ada-\(place)-", at: place)
        let ada = try await PlacedPerson(user, at: "a", of: machines)
        // One friend in each partition, home's and the person's own among them.
        let friends = try (0..<3).map { try Self.partitioning.name("bob-\(place)-\($0)-", with: [(user, $0)]) }
        for (number, friend) in friends.enumerated() {
          try await refuse(ada, friend, friends[(number + 1) % 3], friends[(number + 2) % 3])
        }
        try await cancel(ada, friends, files: folder)
        try await settle(ada)
      }
    }
  }

  /// What is refused for one leaves the pictures to be sent to another, and what is sent is sent to nobody else.
  private func refuse(_ ada: PlacedPerson, _ first: String, _ second: String, _ third: String) async throws {
    let what = "\(ada.user) to \(first)"
    func another(_ name: String) throws -> String {
      try Self.partitioning.name(
        "\(name)-\(first)-", with: [(ada.user, Self.partitioning.place(ofPair: ada.user, name))])
    }
    // Somebody in the place of each, with whom nothing was begun yet.
    let (fresh, rivals) = (try another("new-\(second)"), try [first, third].map(another))
    let pictures = try ada.upload()
    #expect(try await ada.refusal(of: pictures, to: "\(first)-unbegun") == 433, "\(what)")
    #expect(try await ada.refusal(of: pictures, to: first) == 433, "\(what)")
    try await ada.begin(fresh)
    #expect(try await ada.send(pictures, to: fresh)["phase"].string == "sent", "\(what): they can be sent to another")
    let more = try ada.upload()
    for rival in rivals {
      try await ada.begin(rival)
      #expect(try await ada.refusal(of: pictures, to: rival) == 435, "\(what): sent already")
      #expect(try await ada.refusal(of: [pictures[0], more[1]], to: rival) == 435, "\(what): one is sent already")
    }
    // To two at once: one of them gets the pictures.
    async let one = ada.refusal(of: more, to: rivals[0])
    async let other = ada.refusal(of: more, to: rivals[1])
    let refusals = try await [one, other]
    #expect(refusals.filter { $0 == nil }.count == 1 && refusals.contains(435), "\(what): \(refusals)")
    let sent = [fresh, rivals[refusals[0] == nil ? 0 : 1]]
    #expect(await eventually { sent.allSatisfy { ada.thread($0)["phase"].string == "sent" } }, "\(what)")
    #expect(ada.thread(first).isNull, "\(what): what was refused is not shown")
  }

  private func cancel(_ ada: PlacedPerson, _ friends: [String], files folder: URL) async throws {
    for friend in friends {
      let begun = try await ada.begin(friend)
      let (given, kept) = (try ada.upload(), try ada.upload())
      let list = given.map { "\"\($0.id)\"" }.joined(separator: ",")
      try await ada.phone.call("state.cancel", #"{"to":"\#(friend)","pictures":[\#(list)]}"#)
      #expect(try await ada.refusal(of: kept, to: friend) == 433, "\(ada.user) to \(friend)")
      let again = try await ada.begin(friend)
      #expect(again["deadline"].int == begun["deadline"].int, "\(ada.user) to \(friend)")
      #expect(try await ada.refusal(of: given, to: friend) == 435, "they are gone")
      #expect(try await ada.refusal(of: kept, to: friend) == nil, "\(ada.user) to \(friend)")
      var files: Set<String> = []
      let areGone = try await eventually {
        files = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
        return files.isDisjoint(with: given.map(\.id))
      }
      #expect(areGone && files.isSuperset(of: kept.map(\.id)), "\(files)")
    }
  }

  /// A person's own time to record comes to hold in all partitions.
  private func settle(_ ada: PlacedPerson) async throws {
    try await ada.phone.call("state.settings", #"{"limit":\#(Self.limit)}"#)
    #expect(try await ada.phone.call("state.settings")["limit"].int == Self.limit)
    for place in 0..<3 {
      var tries = 0
      let isKnown = try await eventually {
        // A recorder that is open keeps its time.
        tries += 1
        let friend = try Self.partitioning.name("cy-\(tries)-", with: [(ada.user, place)])
        let begun = try await ada.begin(friend)
        try await ada.phone.call("state.cancel", #"{"to":"\#(friend)"}"#)
        return begun["limit"].int == Self.limit
      }
      #expect(isKnown, "\(ada.user) in partition \(place)")
    }
  }

  // MARK: Fire

  @Test("Brokers of partitions and whole machines are killed: lists agree with answers, events come once and in order")
  func underFire() async throws {
    let places = [[0, 0, 1], [1, 1, 0], [0, 1, 1], [2, 1, 2], [1, 2, 0], [2, 2, 2]]
    let names = try places.map { wanted in
      let found = (0..<10_000).lazy.map { "s\($0)" }.first {
        Self.partitioning.places(of: "\($0)-ada", "\($0)-bob") == wanted
      }
      return try #require(found)
    }
    let lifetime = 6
    let settings = ["state.lifetime=\(lifetime)s", "state.reveal_lifetime=\(lifetime)s"]
    try await Machines.withState(["one", "two"], settings) { machines, _ in
      let pairs = names.map { name in
        { @Sendable (watch: FireWatch, random: SeededGenerator) async throws in
          let pair = FireExchange(name, machines, watch, random, lifetime: lifetime)
          try await pair.live(under: watch)
          return (faults: pair.faults, found: pair.found)
        }
      }
      let outcomes = try await Fire.burn("State in partitions under fire", Fire.rounds(usually: 2), pairs) {
        try await machines.strike($0, &$1)
      }
      let faults = outcomes.flatMap(\.faults)
      #expect(faults.isEmpty, "\(faults.prefix(10))")
      #expect(outcomes.contains { $0.found > 0 }, "no picture was looked at in time")
      try await machines.expectHeard()
    }
  }

  // MARK: A user's data

  @Test(
    "An export holds what is revealed in threads of other partitions, and a deletion leaves the user in none of them")
  func userData() async throws {
    let marker = "zQ7x"
    try await Machines.withState { machines, folder in
      let user = try Self.partitioning.name("\(marker)-", at: 1)
      let own = try await PlacedPerson(user, at: "a", of: machines)
      var (mine, revealed): ([PictureClient.Picture], [PictureClient.Picture]) = ([], [])
      var others: [PlacedPerson] = []
      for (place, pair) in [(0, 2), (2, 1), (1, 0), (2, 0)] {
        let name = try Self.partitioning.name("bob-\(place)\(pair)-", at: place, with: [(user, pair)])
        let other = try await PlacedPerson(name, at: "b", of: machines)
        others.append(other)
        let sent = try await own.send(to: name, #","caption":"\#(marker) writes""#)
        mine += sent
        // The last one does not answer.
        if others.count < 4 { revealed += sent + (try await other.send(to: user)) }
        #expect(await eventually { !other.thread(user).isNull })
      }
      try await others[1].phone.call("state.block", #"{"user":"\#(user)"}"#)
      try await own.begin("nobody")
      try await own.phone.call("state.settings", #"{"limit":\#(Self.limit)}"#)
      let (unsent, kept) = (try own.upload(), try others[0].upload())
      // Who is blocked has what was revealed before.
      let pictures = Dictionary(uniqueKeysWithValues: (revealed + unsent).map { ($0.id, $0.bytes) })
      try machines.expect(pictures: pictures, in: machines.export(of: user))
      try await machines.expectDeleted(user, holding: marker)
      for other in others {
        #expect(await eventually { other.thread(user).isNull }, "\(other.user): \(other.thread(user))")
        #expect(try other.found(mine) == mine.map { _ in false }, "\(other.user)")
      }
      var files: Set<String> = []
      let areGone = try await eventually {
        files = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
        return files == Set(kept.map(\.id))
      }
      #expect(areGone, "\(files)")
    }
  }

  // MARK: What is refused

  @Test("State is shared only under a master key, and never in a log in which it has something with the other setting")
  func refused() async throws {
    try await withTemporaryFolder { folder in
      let settings = [
        "data.directory=\(folder.path)/d", "log.engine=postgres", "log.postgres.connection=host=/nowhere",
        "cluster.partitions=3", "state.partitioned=true",
      ]
      let run = try await Tool.run(["broker"] + settings.flatMap { ["--set", $0] }, in: folder)
      #expect(run.status == 1)
      #expect(run.tool.errors.contains("the brokers of all partitions need the same keys"), "\(run.tool.errors)")
    }
    for isShared in [false, true] {
      try await Machines.withState(isShared: isShared) { machines, _ in
        try await expectRefusal(in: machines, ["state.partitioned=\(!isShared)"])
      }
    }
  }

  /// A log in which somebody has sent something is not opened with other settings, and nothing is done to it.
  private func expectRefusal(in machines: Machines, _ settings: [String]) async throws {
    let ada = try await PlacedPerson("ada", at: "a", of: machines)
    _ = try await ada.send(to: "bob")
    #expect(await eventually { ada.thread("bob")["phase"].string == "sent" })
    await (try machines.machine("one")).kill()
    let refused = try await machines.refusal(at: "one", settings)
    #expect(refused.contains("the namespace state.") && refused.contains("in other partitions"), "\(refused)")
    try await machines.start("one")
    let isThere = await eventually {
      (try? await PlacedPerson("ada", at: "a", of: machines))?.thread("bob")["phase"].string == "sent"
    }
    #expect(isThere)
  }
}
