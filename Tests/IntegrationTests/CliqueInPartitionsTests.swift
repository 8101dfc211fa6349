import Apps
import Foundation
import TestSupport
import Testing
import Wire

/// Clique that is shared among the partitions of a log (docs/decisions/0074-clique-in-all-partitions.md): two people's
/// conversation is where its id says, what a person sees is where the person is, and what is of many is at home.
@Suite("Clique in partitions", .skipUnlessStrict(.postgresql, isThere: PostgresServer.isThere), .ownThread)
struct CliqueInPartitionsTests {
  static let partitioning = Partitioning(count: 3, namespaces: NamespaceTable())

  /// Runs the body for each of the places of two people and of their conversation.
  func everywhere(
    _ prefix: String, _ machines: Machines, _ body: (PlacedCouple) async throws -> Void
  ) async throws {
    for number in 0..<27 {
      let places = [number / 9, number / 3 % 3, number % 3]
      let couple = try await PlacedCouple("\(prefix)\(number)", at: places, Self.partitioning, of: machines)
      do { try await body(couple) } catch { throw Failure("\(couple.what): \(error)") }
      couple.cut()
    }
  }

  // MARK: Two people

  @Test(
    """
    Wherever two people and their conversation are: all that they say comes once and in order to all devices, and lists, \
    totals, drafts, reactions and pictures follow
    """)
  func talk() async throws {
    try await Machines.withClique { machines, folder in
      let eve = try await PlacedFriend("eve", of: machines)
      try await everywhere("t", machines) { couple in
        try await ask(couple)
        try await converse(couple)
        try await keep(couple)
        try await show(couple, eve, in: folder)
        try await part(couple)
      }
    }
  }

  private static let requests = ["hello", "are you there?"]

  /// One asks with two messages, each of them sent again, and is accepted.
  private func ask(_ couple: PlacedCouple) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    for (number, text) in Self.requests.enumerated() {
      for device in ada.devices {
        let sent = try await device.call("clique.send", #"{"to":"\#(bob.user)","text":"\#(text)","key":"\#(text)"}"#)
        #expect(sent["conversation"].string == id && sent["waiting"].int == number + 1, "\(what): \(sent)")
      }
    }
    for (friend, state) in [(bob, "request_in"), (ada, "request_out")] {
      let isShown = await friend.shows("list", id) { entry in
        entry["state"].string == state && entry["messages"].array.compactMap { $0["text"].string } == Self.requests
      }
      #expect(isShown, "\(what): \(friend.shown("list", id))")
      #expect(try await friend.refusal { try await $0.follow(id) } == 103, "\(what): it is no conversation yet")
    }
    #expect(await bob.shows("totals", "all") { $0["requests"].int == 1 }, "\(what)")
    let accepted = try await bob.tablet.call("clique.accept", #"{"person":"\#(ada.user)"}"#)
    #expect(accepted["conversation"].string == id, "\(what)")
    for friend in couple.people {
      let isShown = await friend.shows("list", id) {
        $0["state"].string == "active" && $0["last"].string == Self.requests[1] && $0["unread"].int == 0
      }
      #expect(isShown, "\(what): \(friend.shown("list", id))")
      try await friend.follow(id)
      #expect(await friend.hears(Self.requests, in: id), "\(what)")
    }
    #expect(await bob.shows("totals", "all") { $0["requests"].int == 0 }, "\(what)")
  }

  /// Both write in turn, from both of their devices, and send each message twice.
  private func converse(_ couple: PlacedCouple) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    var texts = Self.requests
    for number in 3...8 {
      let author = couple.people[number % 2]
      texts.append("\(number) of \(author.user)")
      for device in author.devices {
        #expect(try await author.say(texts[number - 1], in: id, from: device) == number, "\(what)")
      }
    }
    for friend in couple.people {
      #expect(await friend.hears(texts, in: id), "\(what): \(friend.devices.map { friend.heard(id, on: $0) })")
    }
    // The last one is ada's, and the one before it bob's, who has read up to there.
    let isShown = await bob.shows("list", id) { $0["unread"].int == 1 && $0["last"].string == texts[7] }
    #expect(isShown, "\(what): \(bob.shown("list", id))")
    #expect(await bob.shows("totals", "all") { $0["conversations"].int == 1 && $0["messages"].int == 1 }, "\(what)")
    #expect(try await bob.tablet.call("clique.totals")["messages"].int == 1, "\(what)")
    try await ada.phone.subscribeMap("clique.receipts:\(id)")
    try await ada.tablet.subscribeMap("clique.typing:\(id)")
    try await bob.phone.call("clique.read", #"{"conversation":"\#(id)","offset":8}"#)
    let isRead = await eventually { ada.phone.map("clique.receipts:\(id)")[bob.user]?["read"].int == 8 }
    #expect(isRead, "\(what): \(ada.phone.map("clique.receipts:\(id)"))")
    #expect(await bob.shows("list", id) { $0["unread"].int == 0 && $0["read"].int == 8 }, "\(what)")
    #expect(await bob.shows("totals", "all") { $0["messages"].int == 0 }, "\(what)")
    try await bob.tablet.call("clique.typing", #"{"conversation":"\#(id)"}"#)
    // It is gone after some seconds: what counts is that it was told.
    let isTold = await eventually {
      ada.tablet.publications("clique.typing:\(id)").contains {
        $0["key"].string == bob.user && !$0["removed"].bool
      }
    }
    #expect(isTold, "\(what): ada was not told that bob types")
  }

  /// What one keeps of a conversation stands on both of their devices, and on nobody else's.
  private func keep(_ couple: PlacedCouple) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let conversation = #""conversation":"\#(id)""#
    try await ada.phone.call("clique.draft", #"{\#(conversation),"text":"see y","reply":1}"#)
    let isThere = await ada.shows("drafts", id) { $0["text"].string == "see y" && $0["reply"].int == 1 }
    #expect(isThere, "\(what): \(ada.shown("drafts", id))")
    try await ada.say("see you", in: id, from: ada.tablet)
    #expect(await ada.shows("drafts", id, \.isNull), "\(what): \(ada.shown("drafts", id))")
    try await ada.tablet.call("clique.keep", #"{\#(conversation),"pinned":true,"muted":true}"#)
    #expect(await ada.shows("list", id) { $0["pinned"].int != nil && $0["muted"].bool }, "\(what)")
    try await bob.say("quietly", in: id)
    #expect(await ada.shows("list", id) { $0["unread"].int == 1 && $0["muted"].bool }, "\(what)")
    #expect(await ada.shows("totals", "all") { $0["messages"].int == 0 }, "\(what): it is muted")
    try await ada.phone.call("clique.keep", #"{\#(conversation),"muted":false}"#)
    #expect(await ada.shows("totals", "all") { $0["messages"].int == 1 }, "\(what)")
    #expect(await bob.shows("list", id) { $0["last"].string == "quietly" && $0["unread"].int == 0 }, "\(what)")
    #expect(bob.shown("list", id)["pinned"].isNull && bob.shown("drafts", id).isNull, "\(what)")
    let (reactions, key) = ("clique.reactions:\(id)", "1/\(bob.user)")
    for friend in couple.people { try await friend.phone.subscribeMap(reactions) }
    for reaction in ["👍", ""] {
      try await bob.tablet.call("clique.react", #"{\#(conversation),"offset":1,"reaction":"\#(reaction)"}"#)
      for friend in couple.people {
        let isShown = await eventually { (friend.phone.map(reactions)[key]?["reaction"].string ?? "") == reaction }
        #expect(isShown, "\(what): \(friend.user) sees \(friend.phone.map(reactions)) in place of \(reaction)")
      }
    }
  }

  /// A picture, which is at home wherever its message is, goes with it.
  private func show(_ couple: PlacedCouple, _ eve: PlacedFriend, in folder: URL) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    let sample = PictureSample.jpeg(pixels: 3_000)
    let picture = PictureClient.Picture(sample.dirty)
    let all = [ada, bob, eve]
    #expect(try ada.http.put(picture) == 201, "\(what)")
    #expect(try finds(picture, sample, all) == [true, false, false], "\(what): it was not sent")
    let named = #","picture":{"id":"\#(picture.id)","hash":"LEHV6n"}"#
    let offset = try await ada.say("look", in: id, from: ada.tablet, named)
    #expect(try await ada.say("look", in: id, named) == offset, "\(what): a retry")
    #expect(try finds(picture, sample, all) == [true, true, false], "\(what)")
    let again = try await ada.refusal { try await $0.say("look again", in: id, named) }
    #expect(again == 435, "\(what): it was sent already")
    let isShown = await eventually {
      bob.phone.publications("clique.chat:\(id)").last?["data"]["picture"]["id"].string == picture.id
    }
    #expect(isShown, "\(what)")
    let shown = bob.phone.publications("clique.chat:\(id)").last?["data"]["picture"]
    #expect(shown?["bytes"].int == sample.clean.count && shown?["width"].int == sample.width, "\(what)")
    #expect(await bob.shows("list", id) { $0["picture"].bool && $0["last"].string == "look" }, "\(what)")
    #expect(try files(in: folder).contains(picture.id), "\(what)")
    try await ada.phone.call("publication.delete", #"{"channel":"clique.chat:\#(id)","offset":\#(offset)}"#)
    #expect(try finds(picture, sample, all)[1...] == [false, false], "\(what): its message is gone")
    // Home hears of it a moment later.
    #expect(try await eventually { try finds(picture, sample, all) == [false, false, false] }, "\(what)")
    #expect(try await eventually { try !files(in: folder).contains(picture.id) }, "\(what)")
    #expect(await bob.shows("list", id) { $0["last"].string == "quietly" && !$0["picture"].bool }, "\(what)")
  }

  /// Who of them finds a picture, and as it is kept.
  private func finds(
    _ picture: PictureClient.Picture, _ sample: PictureSample, _ friends: [PlacedFriend]
  ) throws -> [Bool] {
    try friends.map { try $0.finds(picture, clean: sample.clean) }
  }

  private func files(in folder: URL) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
  }

  /// One leaves, and the other clears it away.
  private func part(_ couple: PlacedCouple) async throws {
    let (ada, bob, id, what) = (couple.one, couple.other, couple.id, couple.what)
    try await bob.tablet.call("clique.disconnect", #"{"conversation":"\#(id)"}"#)
    #expect(await ada.shows(state: "ended", of: id), "\(what): \(ada.shown("list", id))")
    #expect(await bob.shows("list", id, \.isNull), "\(what): \(bob.shown("list", id))")
    let isOut = await eventually { bob.devices.allSatisfy { $0.unsubscribed("clique.chat:\(id)") != nil } }
    #expect(isOut, "\(what): who has left hears on")
    #expect(try await bob.refusal { try await $0.follow(id) } == 103, "\(what)")
    try await ada.phone.call("clique.disconnect", #"{"person":"\#(bob.user)"}"#)
    #expect(await ada.shows("list", id, \.isNull), "\(what): \(ada.shown("list", id))")
  }

  // MARK: Fire

  @Test(
    """
    Brokers of partitions and whole machines are killed: what was acknowledged is there once and in order on all devices \
    of both, lists agree with it, and nothing stays on its way
    """)
  func underFire() async throws {
    let places = [[0, 0, 1], [1, 1, 2], [0, 1, 1], [2, 1, 2], [1, 2, 0], [2, 0, 1]]
    let names = try places.map { wanted in
      let found = (0..<10_000).lazy.map { "c\($0)" }.first {
        Self.partitioning.places(ofTalk: "\($0)-ann", "\($0)-bob") == wanted
      }
      return try #require(found)
    }
    try await Machines.withClique(["one", "two"]) { machines, folder in
      let couples = names.map { name in
        { @Sendable (watch: FireWatch, random: SeededGenerator) async throws in
          let couple = FireCouple(name, machines, watch, random, isShared: true)
          try await couple.live(under: watch)
          return (ledger: couple.ledger, faults: couple.faults)
        }
      }
      let outcomes = try await Fire.burn("Clique in partitions under fire", Fire.rounds(usually: 2), couples) {
        try await machines.strike($0, &$1)
      }
      let faults = outcomes.flatMap(\.faults)
      #expect(faults.isEmpty, "\(faults.prefix(10))")
      var left: [String] = []
      _ = await eventually {
        var album = PictureLedger()
        for outcome in outcomes { album.kept.formUnion(outcome.ledger.pictures(of: [], at: FireClock.now).kept) }
        // Without a picture there is no folder.
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        left = album.faults(inFiles: Set(files))
        return left.isEmpty
      }
      #expect(left.isEmpty, "\(left.prefix(10))")
      try await machines.expectHeard()
    }
  }

  // MARK: A user's data

  /// What stands in all that is the user's, and nowhere else.
  private static let marker = "zQ7x"

  @Test("An export holds what is the user's in all partitions, and a deletion leaves the user in none of them")
  func userData() async throws {
    try await Machines.withClique { machines, folder in try await forget(machines, folder) }
  }

  private func forget(_ machines: Machines, _ folder: URL) async throws {
    let own = try await PlacedFriend(Self.partitioning.name("\(Self.marker)-", at: 1), of: machines)
    try await own.tell(name: own.name)
    let (friends, pictures) = try await furnishAll(own, machines)
    let kept = try upload(friends[0]).picture
    // The index of messages is filled by searches.
    _ = try await friends[0].phone.call("clique.search", #"{"text":"\#(Self.marker)"}"#)
    let export = try machines.export(of: own.user)
    try machines.expect(pictures: pictures, in: export)
    checkTexts(of: own, friends, export)
    #expect(try await eventually { try indexed(in: machines).contains("search") })
    try await machines.expectDeleted(own.user, holding: Self.marker)
    #expect(try await eventually { try indexed(in: machines) == [] })
    for friend in friends { try await expectForgotten(by: friend, pictures.keys.sorted()) }
    let areGone = try await eventually { try files(in: folder) == [kept.id] }
    let left = try files(in: folder)
    #expect(areGone, "\(left)")
  }

  /// Four people with whom somebody talks, with one of them about to begin, and all pictures that are somebody's own.
  private func furnishAll(
    _ own: PlacedFriend, _ machines: Machines
  ) async throws -> (friends: [PlacedFriend], pictures: [String: [UInt8]]) {
    var friends: [PlacedFriend] = []
    var pictures: [String: [UInt8]] = [:]
    // One with whom nothing was answered comes last.
    for (place, conversation) in [(0, 2), (2, 1), (1, 0), (2, 2)] {
      let name = try Self.partitioning.name(
        "bob-\(place)\(conversation)-", at: place, talkingTo: own.user, in: conversation)
      let friend = try await PlacedFriend(name, of: machines)
      friends.append(friend)
      guard friends.count < 4 else { break }
      for (id, bytes) in try await furnish(own, friend) { pictures[id] = bytes }
    }
    try await own.phone.call("clique.send", #"{"to":"\#(friends[3].user)","text":"\#(Self.marker) waits"}"#)
    try await surround(own, friends)
    let (unsent, sample) = try upload(own)
    pictures[unsent.id] = sample.clean
    return (friends, pictures)
  }

  private func expectForgotten(by friend: PlacedFriend, _ pictures: [String]) async throws {
    let list = "clique.list:\(friend.user)"
    #expect(await eventually { isForgotten(by: friend) }, "\(friend.user) sees \(friend.phone.map(list))")
    for id in pictures { #expect(try friend.http.get(id: id).status == 404, "\(friend.user) finds \(id)") }
  }

  /// The kinds of files beside the log that hold something of the user's.
  private func indexed(in machines: Machines) throws -> Set<String> {
    try DeletionDesk.kinds(in: machines.directory, holding: [Self.marker, Self.marker.lowercased()])
      .intersection(["search", "coverage"])
  }

  /// Nothing that a friend's devices have of others holds anything of the user's.
  private func isForgotten(by friend: PlacedFriend) -> Bool {
    for device in friend.devices {
      for list in ["list", "people", "crossings", "blocked"] {
        if "\(device.map("clique.\(list):\(friend.user)"))".contains(Self.marker) { return false }
      }
    }
    return true
  }

  private func upload(_ friend: PlacedFriend) throws -> (picture: PictureClient.Picture, sample: PictureSample) {
    let sample = PictureSample.jpeg(pixels: 2_000, seed: .random(in: 0...UInt64.max / 2))
    let picture = PictureClient.Picture(sample.dirty)
    #expect(try friend.http.put(picture) == 201, "\(friend.user)")
    return (picture, sample)
  }

  /// Has two people talk, and show each other something.
  ///
  /// - Returns: what the first one has shown, as it is kept.
  private func furnish(_ own: PlacedFriend, _ friend: PlacedFriend) async throws -> [String: [UInt8]] {
    let id = try await own.befriend(friend, saying: "\(Self.marker) asks \(friend.user)")
    try await friend.say("by hand of \(friend.user)", in: id)
    let (picture, sample) = try upload(own)
    let named = #","reply":2,"picture":{"id":"\#(picture.id)","hash":"LEHV6n"}"#
    let offset = try await own.say("\(Self.marker) shows \(friend.user)", in: id, named)
    let conversation = #""conversation":"\#(id)""#
    for (one, other) in [(own, 2), (friend, offset)] {
      try await one.phone.call("clique.react", #"{\#(conversation),"offset":\#(other),"reaction":"👍"}"#)
      try await one.phone.call("clique.read", #"{\#(conversation),"offset":\#(offset)}"#)
    }
    let draft = "\(Self.marker) drafts for \(friend.user)"
    try await own.phone.call("clique.draft", #"{\#(conversation),"text":"\#(draft)"}"#)
    try await own.phone.call("clique.keep", #"{\#(conversation),"pinned":true}"#)
    let last = "\(Self.marker) shows \(friend.user)"
    #expect(await friend.shows("list", id) { $0["last"].string == last }, "\(friend.shown("list", id))")
    return [picture.id: sample.clean]
  }

  /// Groups, blocks, reports and crossings of somebody whose data will be deleted.
  private func surround(_ own: PlacedFriend, _ friends: [PlacedFriend]) async throws {
    let group = try await friends[0].found([own.user])
    try await own.say("\(Self.marker) in the group", in: group)
    try await friends[0].say("by hand, to all", in: group, #","mentions":["\#(own.user)"]"#)
    for friend in [own] + friends {
      try await friend.phone.call("clique.enter", #"{"place":"park"}"#)
    }
    let (first, second, words) = (friends[0].user, friends[1].user, "\(Self.marker) reports")
    try await own.phone.call("clique.report", #"{"person":"\#(first)","reason":"spam","text":"\#(words)"}"#)
    try await friends[0].phone.call("clique.report", #"{"person":"\#(own.user)","reason":"spam"}"#)
    try await friends[2].phone.call("clique.block", #"{"person":"\#(own.user)"}"#)
    try await own.phone.call("clique.block", #"{"person":"\#(second)"}"#)
    #expect(await friends[2].shows("blocked", own.user) { !$0.isNull })
    #expect(await own.shows("blocked", second) { !$0.isNull })
    #expect(await own.shows(state: "request_out", of: Clique.conversationID(own.user, friends[3].user)))
    #expect(await own.shows(state: "active", of: group))
    #expect(await eventually { own.phone.map("clique.drafts:\(own.user)").count == 3 })
    try await own.tell(name: "Another \(own.name)")
  }

  /// An export has all that the user has written, and nothing that others have.
  private func checkTexts(of own: PlacedFriend, _ friends: [PlacedFriend], _ export: [JSON]) {
    let texts = Set(export.compactMap { $0["data"]["text"].string })
    let talked = friends.prefix(3).map(\.user)
    var written = ["\(Self.marker) in the group", "\(Self.marker) reports"]
    for what in ["asks", "shows", "drafts for"] { written += talked.map { "\(Self.marker) \(what) \($0)" } }
    #expect(texts.isSuperset(of: written), "\(texts)")
    #expect(texts.allSatisfy { !$0.contains("by hand") }, "\(texts)")
    let lists = export.filter { $0["channel"].string == "clique.list:\(own.user)" }
    #expect(lists.count == 5, "four people and a group: \(lists)")
    let blocked = export.filter { $0["channel"].string == "clique.blocked:\(own.user)" }
    #expect(blocked.map { $0["data"]["user"].string } == [friends[1].user], "\(blocked)")
  }

  // MARK: What is refused

  @Test("Clique is shared only under a master key, and never in a log in which it has something with the other setting")
  func refused() async throws {
    try await withTemporaryFolder { folder in
      let settings = [
        "data.directory=\(folder.path)/d", "log.engine=postgres", "log.postgres.connection=host=/nowhere",
        "cluster.partitions=3", "clique.partitioned=true",
      ]
      let run = try await Tool.run(["broker"] + settings.flatMap { ["--set", $0] }, in: folder)
      #expect(run.status == 1)
      #expect(run.tool.errors.contains("the brokers of all partitions need the same keys"), "\(run.tool.errors)")
    }
    for isShared in [false, true] {
      try await Machines.withClique(isShared: isShared) { machines, _ in
        let (ada, bob) = (try await PlacedFriend("ada", of: machines), try await PlacedFriend("bob", of: machines))
        let id = try await ada.befriend(bob)
        #expect(await ada.shows(state: "active", of: id))
        await (try machines.machine("one")).kill()
        let refused = try await machines.refusal(at: "one", ["clique.partitioned=\(!isShared)"])
        #expect(refused.contains("the namespace clique.") && refused.contains("in other partitions"), "\(refused)")
        // Nothing was done to it.
        try await machines.start("one")
        let isThere = await eventually {
          (try? await PlacedFriend("ada", of: machines))?.shown("list", id)["state"].string == "active"
        }
        #expect(isThere)
      }
    }
  }
}
