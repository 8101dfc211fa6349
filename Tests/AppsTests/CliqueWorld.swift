import Foundation
import Testing
import Wire

@testable import Apps

/// All of Clique as people see it, in one partition or in several.
struct CliqueWorld {
  let home: CliqueScene
  let all: [CliqueScene]
  let person: (String) -> CliqueScene
  let conversation: (String) -> CliqueScene
  /// What a gateway is answered that asks for a picture's key in somebody's name.
  let key: (_ user: String, _ picture: String) throws -> String

  init(_ alone: CliqueScene) {
    home = alone
    all = [alone]
    person = { _ in alone }
    conversation = { _ in alone }
    key = { try alone.gateway($0, .key(id: $1)) }
  }

  init(_ cluster: CliqueCluster) {
    home = cluster.home
    all = cluster.scenes
    person = cluster.scene(of:)
    conversation = cluster.scene(with:)
    key = { try cluster.ask(.clique(.picture(.key(id: $1))), by: $0, key: "key", isGateways: true) }
  }

  /// How much of a crossing in a list is compared.
  enum Crossing {
    case whole
    /// While the two are together, an entry says when it was worked out, which is not the same moment everywhere.
    case withoutTime
    case none
  }

  /// What webhooks were told, whoever was first.
  var told: [String] { all.flatMap(\.told).sorted() }

  // MARK: Lists

  /// What a person's own channels show.
  ///
  /// - Parameter crossings: by conversation; those that are not named are compared as a whole.
  func lists(of user: String, _ ids: [String], _ crossings: [String: Crossing]) throws -> [String] {
    let scene = person(user)
    var seen: [String] = []
    for namespace in ["list", "drafts"] {
      let entries = try scene.entries(user, namespace)
      seen.append("\(namespace) of \(entries.keys.sorted())")
      for id in ids { seen.append("\(namespace) \(try Self.text(entries[id], crossings[id] ?? .whole))") }
    }
    let totals = try scene.app.entry("all", of: ChannelName("clique.totals:\(user)"), scene)
    return seen + ["totals \(try Self.text(totals))"]
  }

  /// An entry with its fields in one order.
  static func text(_ entry: AppEntry?, _ crossing: Crossing = .whole) throws -> String {
    guard let entry else { return "-" }
    var object = try JSONSerialization.jsonObject(with: Data(entry.data)) as? [String: Any] ?? [:]
    switch crossing {
    case .whole: break
    case .withoutTime:
      if var fields = object["crossing"] as? [String: Any] {
        fields["time"] = nil
        object["crossing"] = fields
      }
    case .none: object["crossing"] = nil
    }
    return "\(try text(of: object)) \(entry.score) \(entry.expires)"
  }

  private static func text(of json: Any) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: json, options: [.sortedKeys]), as: UTF8.self)
  }

  // MARK: Conversations

  /// What a person reads of a conversation, and is told of it.
  func contents(_ user: String, _ id: String) throws -> [String] {
    let scene = conversation(id)
    let history = try scene.history(user, id)?.map { publication in
      let tags = publication.tags.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return "\(publication.offset) \(publication.time) \(String(decoding: publication.data, as: UTF8.self)) \(tags)"
    }
    var seen = ["history of \(id) \(history ?? ["-"])"]
    for namespace in ["reactions", "receipts", "typing"] {
      seen.append("\(namespace) of \(id) \(try scene.members(user, namespace, id))")
    }
    let notification = try home.notification(user, id)
    let data = notification?.data.sorted { $0.key < $1.key } ?? []
    return seen + ["to tell of \(id) \(notification.map { "\($0.withoutData) \(data)" } ?? "-")"]
  }

  /// Messages that the index finds, in whatever partition.
  func found(_ user: String, _ text: String) throws -> String {
    "found \(try all.flatMap { try $0.found(user, text) }.sorted())"
  }

  /// What whoever helps people is told of two of them.
  func standing(_ user: String, _ other: String) throws -> String {
    let scene = conversation(Clique.conversationID(user, other))
    return String(decoding: try scene.app.standing(between: user, and: other, scene), as: UTF8.self)
  }

  // MARK: What is at home

  /// What a person sees of another one.
  func sight(of other: String, by user: String) throws -> [String] {
    var seen: [String] = []
    for namespace in ["blocked", "crossings", "people"] {
      let entry = try home.app.entry(other, of: ChannelName("clique.\(namespace):\(user)"), home)
      seen.append("\(other) in \(namespace) \(try Self.text(entry))")
    }
    return seen + ["\(other) on the list of blocked people \(try home.entry(user, "blocked", other) ?? "-")"]
  }

  /// What a person looks up at home.
  ///
  /// The order of people differs: where Clique is shared, it is by when something changed between the two, and not by the
  /// last message.
  func lookups(of user: String, _ people: [String]) throws -> [String] {
    var seen = ["own profile \(try home.entry(user, "profile", "profile") ?? "-")"]
    seen.append("own reports \(try home.entries(user, "reports").values.map { try Self.text($0) }.sorted())")
    let named = people.map { #""\#($0)""# }.joined(separator: ",")
    seen.append(try home.call(user, "profiles", #"{"people":[\#(named)]}"#))
    for order in ["recent", "time"] { seen.append(try home.call(user, "crossings", #"{"order":"\#(order)"}"#)) }
    for word in people.map({ String($0.prefix(1)) }) + ["new"] {
      let answer = try home.call(user, "people", #"{"text":"\#(word)"}"#)
      seen.append("people like \(word) \(try Self.sorted(answer, "people"))")
    }
    for namespace in ["crossings", "people"] {
      let channel = try ChannelName("clique.\(namespace):\(user)")
      let keys = try home.app.keys(of: channel, home).filter { try home.app.entry($0, of: channel, home) != nil }
      seen.append("keys of \(namespace) \(keys.sorted())")
    }
    let groups = String(decoding: try home.app.groups(.of(user: user), home), as: UTF8.self)
    return seen + ["groups \(try Self.sorted(groups, "groups"))"]
  }

  /// Which pictures somebody may fetch, and what is kept of their own.
  func pictures(of user: String, _ pictures: [String]) throws -> [String] {
    let keys = try pictures.map { picture in
      do { return "\(picture) \(try key(user, picture))" } catch let error as ClientError {
        return "\(picture) \(error.code)"
      }
    }
    let own = try home.pictures(of: user)
    return keys + ["own \(own?.unsent.sorted() ?? []) \(own?.bytes ?? 0)"]
  }

  /// Pictures whose files are gone, or kept for moderators alone, and what moderators are told.
  func ends() throws -> [String] {
    let reports = try home.record(Clique.Reports.self, Clique.Reports.key) ?? Clique.Reports()
    let looks = try (1..<reports.next).map { number in
      do {
        guard case .reply(let bytes) = try home.app.moderate(.look(number), home).answer else { return "-" }
        return String(decoding: bytes, as: UTF8.self)
      } catch let error as ClientError { return "\(number) \(error.code)" }
    }
    let (gone, kept, released) = (Set(home.discarded), Set(home.keptAlone), Set(home.released))
    return ["gone \(gone.sorted())", "kept \(kept.sorted())", "released \(released.sorted())", "reports \(looks)"]
  }

  /// A list of objects of an answer, without its order and that of the blocks in a group.
  private static func sorted(_ answer: String, _ name: String) throws -> [String] {
    let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let list = object?[name] as? [[String: Any]] ?? []
    return try list.map { element in
      var element = element
      if let blocks = element["blocks"] as? [Any] { element["blocks"] = try blocks.map(text(of:)).sorted() }
      return try text(of: element)
    }.sorted()
  }
}

extension AppNotification {
  /// Without what a dictionary gives out in any order, and what only home needs of conversations elsewhere.
  fileprivate var withoutData: AppNotification {
    var plain = self
    (plain.data, plain.newest) = ([:], nil)
    return plain
  }
}
