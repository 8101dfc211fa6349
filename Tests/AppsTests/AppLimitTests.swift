import TestSupport
import Testing
import Wire

@testable import Apps

/// Each limit is reached by somebody, and what refuses them names it: so the broker can count it.
@Suite("Every limit of the apps by its own name")
struct AppLimitTests {
  /// What the last of the steps is refused for, or reaches all the same.
  ///
  /// - Parameter more: what is done after the steps, with the conversation that the last of them answers with.
  private func clique(
    _ change: (inout CliqueRules) -> Void, _ steps: [(user: String, method: String, json: String)],
    then more: ((CliqueScene, String) throws -> Void)? = nil
  ) throws -> AppLimit? {
    var rules = CliqueRules()
    change(&rules)
    let scene = CliqueScene(rules)
    // What comes before the limit must be let through: a scene that refuses early would show another limit.
    for step in steps.dropLast() { try scene.call(step.user, step.method, step.json) }
    let last = try #require(steps.last)
    do {
      let reply = try scene.call(last.user, last.method, last.json)
      try more?(scene, String(reply.split(separator: "\"").dropFirst(3).first ?? ""))
      return scene.reached
    } catch let error as ClientError {
      #expect(error.code == 106, "\(error)")
      return error.limit
    }
  }

  private static func send(_ user: String, _ other: String, _ text: String = "hi") -> (String, String, String) {
    (user, "send", #"{"to":"\#(other)","text":"\#(text)"}"#)
  }
  private static func accept(_ user: String, _ other: String) -> (String, String, String) {
    (user, "accept", #"{"person":"\#(other)"}"#)
  }
  private static func group(_ user: String, _ members: String, _ name: String = "") -> (String, String, String) {
    (user, "group.create", #"{"members":[\#(members)],"name":"\#(name)"}"#)
  }
  private static func block(_ user: String, _ other: String) -> (String, String, String) {
    (user, "block", #"{"person":"\#(other)"}"#)
  }
  private static func place(_ method: String, _ place: String) -> (String, String, String) {
    ("ann", method, #"{"place":"\#(place)"}"#)
  }

  @Test("Clique: requests, messages, conversations, blocks")
  func cliqueTalk() throws {
    let friends = [Self.send("ann", "bob"), Self.accept("bob", "ann")]
    let found: [AppLimit?] = [
      try clique({ $0.requestMessages = 1 }, [Self.send("ann", "bob"), Self.send("ann", "bob")]),
      try clique({ $0.requestCharacters = 3 }, [Self.send("ann", "bob", "long")]),
      try clique({ $0.messageCharacters = 3 }, friends + [Self.send("ann", "bob", "long")]),
      try clique(
        { $0.maximumConversations = 1 }, friends + [Self.send("eve", "ann"), Self.accept("ann", "eve")]),
      try clique({ $0.maximumRequestsOut = 1 }, [Self.send("ann", "bob"), Self.send("ann", "eve")]),
      try clique({ $0.maximumRequestsIn = 1 }, [Self.send("ann", "eve"), Self.send("bob", "eve")]),
      try clique({ $0.requestsPerDay = 4 }, [Self.send("ann", "bob"), Self.send("ann", "eve")]),
      try clique({ $0.requestMessagesPerDay = 4 }, [Self.send("ann", "bob"), Self.send("ann", "eve")]),
      try clique({ $0.maximumBlocked = 1 }, [Self.block("ann", "bob"), Self.block("ann", "eve")]),
      try clique({ $0.blocksPerDay = 4 }, [Self.block("ann", "bob"), Self.block("ann", "eve")]),
      try clique({ _ in }, [("ann", "search", #"{"text":"\#(String(repeating: "x", count: 257))"}"#)]),
    ]
    #expect(
      found == [
        .cliqueRequestMessages, .cliqueRequestCharacters, .cliqueMessageCharacters, .cliqueConversations,
        .cliqueRequestsSent, .cliqueRequestsReceived, .cliqueRequestsPerDay, .cliqueRequestMessagesPerDay,
        .cliqueBlocked, .cliqueBlocksPerDay, .cliqueSearchText,
      ])
    // Nothing is counted of what is within the limits.
    #expect(try clique({ $0.maximumRequestsIn = 1 }, [Self.send("ann", "eve")]) == nil)
    #expect(try clique({ _ in }, friends) == nil)
  }

  @Test("Clique: a message that is changed into one that is too long")
  func cliqueEdit() throws {
    var rules = CliqueRules()
    rules.messageCharacters = 5
    let scene = CliqueScene(rules)
    let id = try scene.befriend("ann", "bob")
    do {
      try scene.change("ann", id, 1, #"{"text":"too long"}"#)
      Issue.record("it was changed")
    } catch let error as ClientError {
      #expect(error.limit == .cliqueMessageCharacters)
    }
  }

  @Test("Clique: groups and places")
  func cliqueGroups() throws {
    let friends = [
      Self.send("ann", "bob"), Self.accept("bob", "ann"), Self.send("eve", "bob"), Self.accept("bob", "eve"),
    ]
    let found: [AppLimit?] = [
      try clique({ $0.groupSize = 2 }, friends + [Self.group("bob", #""ann","eve""#)]),
      try clique({ $0.maximumGroups = 1 }, friends + [Self.group("ann", #""bob""#), Self.group("ann", #""bob""#)]),
      try clique({ $0.groupsPerDay = 4 }, friends + [Self.group("ann", #""bob""#), Self.group("ann", #""bob""#)]),
      try clique({ $0.invitationsPerDay = 4 }, friends + [Self.group("ann", #""bob""#), Self.group("eve", #""bob""#)]),
      try clique({ _ in }, friends + [Self.group("ann", #""bob""#, String(repeating: "x", count: 101))]),
      try clique({ _ in }, friends + [Self.group("ann", #""bob""#)]) { scene, id in
        for _ in 0...10 { try scene.call("ann", "group.link", #"{"conversation":"\#(id)"}"#) }
      },
      try clique({ $0.maximumPlaces = 1 }, [Self.place("enter", "a"), Self.place("enter", "b")]),
      try clique(
        { $0.visitsPerDay = 4 }, [Self.place("enter", "a"), Self.place("leave", "a"), Self.place("enter", "b")]),
    ]
    #expect(
      found == [
        .cliqueGroupSize, .cliqueGroups, .cliqueGroupsPerDay, .cliqueInvitationsPerDay, .cliqueGroupName,
        .cliqueGroupLinks, .cliquePlaces, .cliqueVisitsPerDay,
      ])
  }

  @Test("State: recorders, threads, blocks, pictures, changes, captions")
  func state() throws {
    var scene = StateScene { $0.openRecorders = 1 }
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    #expect(scene.refusal("ada", "state.begin", #"{"to":"eve"}"#)?.limit == .stateRecorders)

    scene = StateScene { $0.waitingThreads = 1 }
    try scene.send("ada", to: "bob")
    try scene.call("ada", "state.begin", #"{"to":"eve"}"#)
    #expect(scene.refusal("ada", "state.send", try scene.prepare("ada", to: "eve").json)?.limit == .stateThreads)

    scene = StateScene { $0.blocks = 1 }
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    #expect(scene.refusal("ada", "state.block", #"{"user":"eve"}"#)?.limit == .stateBlocks)

    scene = StateScene { $0.changesPerMinute = 1 }
    try scene.call("ada", "state.block", #"{"user":"bob"}"#)
    #expect(scene.refusal("ada", "state.block", #"{"user":"eve"}"#)?.limit == .stateChanges)

    scene = StateScene { $0.unsentPictures = 1 }
    _ = try scene.upload("ada")
    #expect(throws: ClientError.self) { try scene.upload("ada") }
    #expect(limit { try scene.upload("ada") } == .stateUnsentPictures)

    scene = StateScene { $0.pictureBytes = 999 }
    #expect(limit { try scene.upload("ada") } == .statePictureBytes)

    scene = StateScene()
    try scene.call("ada", "state.begin", #"{"to":"bob"}"#)
    let caption = #","caption":"\#(String(repeating: "x", count: 281))""#
    let captioned = try scene.prepare("ada", to: "bob", caption).json
    #expect(scene.refusal("ada", "state.send", captioned)?.limit == .stateCaption)
  }

  private func limit(_ body: () throws -> Any) -> AppLimit? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? ClientError)?.limit
    }
  }

  @Test("the cases of this suite are all there are, and no two have one name")
  func complete() {
    let shown: Set<AppLimit> = [
      .cliqueRequestMessages, .cliqueRequestCharacters, .cliqueMessageCharacters, .cliqueConversations,
      .cliqueRequestsSent, .cliqueRequestsReceived, .cliqueRequestsPerDay, .cliqueRequestMessagesPerDay,
      .cliqueBlocked, .cliqueBlocksPerDay, .cliqueSearchText, .cliqueGroupSize, .cliqueGroups, .cliqueGroupsPerDay,
      .cliqueInvitationsPerDay,
      .cliqueGroupName, .cliqueGroupLinks, .cliquePlaces, .cliqueVisitsPerDay, .stateRecorders, .stateThreads,
      .stateReceived, .stateReceivedPerDay,  // StateReceivingTests shows them.
      .stateBlocks, .stateChanges, .stateUnsentPictures, .statePictureBytes, .stateCaption,
      .cliquePinned,  // CliqueKeepingTests shows it.
      .cliqueDrafts,  // CliqueDraftTests shows it.
      .cliqueReactions,  // CliqueReactionTests shows it.
      .cliqueReportsPerDay, .cliqueReports, .cliqueReportText,  // CliqueReportTests shows them.
      .pushChanges,  // NoticeDeviceTests shows it.
      .cliqueProfileChangesPerDay, .cliqueProfileText,  // CliqueProfileTests shows them.
      .cliqueDisappearTimes,  // CliqueVanishingTests shows it.
      .cliqueUnsentPictures, .cliquePictureBytes, .cliquePictureDiscards,  // CliquePictureTests shows them.
    ]
    #expect(Set(AppLimit.allCases) == shown)
    #expect(Set(AppLimit.allCases.map(\.name)).count == AppLimit.allCases.count)
  }
}
