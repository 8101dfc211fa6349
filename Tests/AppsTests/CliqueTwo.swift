import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// Home, and the partition that has the conversations of ann with bob and with cy; or both in one, to compare with. What
/// they send each other comes when a test says so.
struct CliqueTwo {
  /// The partition of the conversations.
  static let place = 2

  let home: CliqueScene
  let chat: CliqueScene
  let ann = "ann"
  /// Two others who each have an open conversation with ann.
  let (bob, cy): (String, String)
  /// These conversations.
  let (id, other): (String, String)

  init(_ rules: CliqueRules = .init(), isShared: Bool = true) throws {
    let partitioning = Self.partitioning(rules)
    let friend = { (name: String) in
      Partitioning.user(name) { partitioning.place(ofConversation: Clique.conversationID("ann", $0)) == Self.place }
    }
    (bob, cy) = (friend("bob"), friend("cy"))
    let scene = { (own: Int) in CliqueScene(rules, places: AppPlaces(own: own, partitioning: partitioning)) }
    home = isShared ? scene(Partitioning.home) : CliqueScene(rules)
    chat = isShared ? scene(Self.place) : home
    id = try chat.befriend("ann", bob)
    other = try chat.befriend("ann", cy)
    try deliver()
  }

  private static func partitioning(_ rules: CliqueRules) -> Partitioning {
    let names = Partitioning(count: 4, namespaces: NamespaceTable())
    let app = Clique(rules, places: AppPlaces(own: place, partitioning: names))
    return Partitioning(
      count: 4, namespaces: NamespaceTable(namespaces: app.namespaces), conversation: Clique.conversationID)
  }

  var isShared: Bool { home !== chat }

  // MARK: Rows

  /// Takes what one has sent to the other, and drops what it has sent to those that are not there.
  private func deliver(_ source: CliqueScene, to target: CliqueScene, at place: Int) throws -> Bool {
    let rows = source.relays.filter { $0.partition == place }
    source.relays = []
    for row in rows { try target.receive(row.data) }
    return !rows.isEmpty
  }

  func toHome() throws { _ = try deliver(chat, to: home, at: Partitioning.home) }

  func toChat() throws { _ = try deliver(home, to: chat, at: Self.place) }

  func deliver() throws {
    while try deliver(chat, to: home, at: Partitioning.home) || deliver(home, to: chat, at: Self.place) {}
  }

  /// Moves both clocks, with each timer at its time, and delivers what there is to hear at the end.
  func pass(_ milliseconds: Int64) throws {
    try home.pass(milliseconds)
    if isShared { try chat.pass(milliseconds) }
    try deliver()
  }

  // MARK: What gateways ask

  @discardableResult
  func lend(
    _ picture: String = CliqueScene.picture, to id: String? = nil, attempt: UInt64 = 1
  ) throws -> [UInt8] {
    try home.decide(
      ann, .lend(.init(conversation: id ?? self.id, picture: picture, attempt: attempt)), source: .gateway)
  }

  func giveBack(_ picture: String = CliqueScene.picture, attempt: UInt64 = 1) throws {
    try home.decide(
      ann, .giveBack(.init(conversation: id, picture: picture, attempt: attempt)), source: .gateway)
  }

  /// Sends a picture with what was lent.
  @discardableResult
  func send(
    _ user: String = "ann", picture: String = CliqueScene.picture, lent: [UInt8], _ more: String = "",
    key: String = "send"
  ) throws -> String {
    let json = #"{"conversation":"\#(id)","picture":{"id":"\#(picture)","hash":"LEHV6n"}\#(more)}"#
    guard case .clique(.send(var send)) = try AppCommand("clique.send", Array(json.utf8), by: user) else {
      throw ClientError.methodNotFound
    }
    send.lent = lent
    return String(decoding: try chat.decide(user, .send(send), source: .client, key: key), as: UTF8.self)
  }

  /// Uploads and sends a picture as a gateway does it.
  func sendNew(_ user: String, _ picture: String, key: String = "send") throws {
    try home.upload(user, picture)
    var lent: [UInt8] = []
    if isShared {
      lent = try home.decide(
        user, .lend(.init(conversation: id, picture: picture, attempt: 7)), source: .gateway)
    }
    try send(user, picture: picture, lent: lent, key: key)
  }

  /// Who of these is given the key of a picture, as gateways ask for it.
  func viewers(_ users: [String], _ picture: String = CliqueScene.picture) throws -> [String] {
    try users.filter { user in
      do {
        let answer = try home.gateway(user, .key(id: picture))
        guard let reading = try Self.reading(in: answer, of: picture) else { return true }
        #expect(try chat.decide(user, .reads(reading), source: .gateway) == Array("{}".utf8))
        return true
      } catch let error as ClientError {
        #expect(error == Clique.noPicture)
        return false
      }
    }
  }

  static func reading(in answer: String, of picture: String) throws -> CliqueCommand.PictureReading? {
    let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    guard let reads = object?["reads"] as? [String: Any] else { return nil }
    let offset = try #require(UInt64("\(reads["offset"] ?? "")"))
    return .init(conversation: "\(reads["conversation"] ?? "")", offset: offset, picture: picture)
  }

  /// Home's record of a picture: `whole`, `lent 2` (attempts), `message 7` (its offset).
  func state(_ picture: String = CliqueScene.picture) throws -> String {
    guard let record = try home.stored(picture) else { return "gone" }
    if record.isBarred { return "barred" }
    return switch record.use {
    case .unsent: record.isWhole ? "whole" : "coming"
    case .lent(let lent): "lent \(lent.attempts.count)"
    case .message(_, let offset): "message \(offset)"
    case .profile: "profile"
    }
  }
}

extension CliqueScene {
  /// The answer to a command with what only gateways add to one.
  @discardableResult
  func decide(
    _ user: String, _ command: CliqueCommand, source: AppCall.Source, key: String = "decide"
  ) throws -> [UInt8] {
    let decision = try app.call(
      AppCall(.clique(command), caller: ClientInfo(user: user, client: "c-" + user), source: source, key: .text(key)),
      self)
    try apply(decision.effects)
    guard case .reply(let bytes) = decision.answer else { throw ClientError.internalError }
    try #require(JSONSyntax.isValid(bytes))
    return bytes
  }

  /// What was sent to other partitions since the last time, of pictures alone: `2 claim`.
  func saidOfPictures() throws -> [String] {
    defer { relays = [] }
    return try relays.compactMap { relay in
      let says: String? =
        switch try AppJSON.decode(CliqueRelay.self, relay.data).says {
        case .used: "used"
        case .dropped: "dropped"
        case .claim: "claim"
        case .looks: "looks"
        case .unused: "unused"
        case .shows, .crossing, .bond, .news, .known: nil
        }
      return says.map { "\(relay.partition) \($0)" }
    }
  }

  func receive(_ says: CliqueRelay.Says) throws {
    try receive(try AppJSON.encode(CliqueRelay(sent: now, says: says)))
  }
}
