import Foundation
import Wire

@testable import Apps

/// Checks the disk after each transaction, and knows which user may be shown what.
struct AppOracle {
  struct Secret {
    var author: String
    var to: String
    /// When the secret was first sent. It is answered within its lifetime from then, or nobody ever sees it.
    var time: Int64
  }

  /// The secrets that were sent, by caption.
  private(set) var secrets: [String: Secret] = [:]
  /// Messages that were acknowledged with an offset.
  private(set) var acknowledged: [(channel: ChannelName, offset: UInt64, text: String)] = []
  private var pairs: [String: Clique.Pair] = [:]
  private var tops: [ChannelName: UInt64] = [:]

  mutating func sending(_ text: String, by author: String, to other: String, time: Int64) {
    if secrets[text] == nil { secrets[text] = Secret(author: author, to: other, time: time) }
  }

  mutating func sent(_ text: String, channel: ChannelName, offset: UInt64) {
    acknowledged.append((channel, offset, text))
  }

  static func chat(_ a: String, _ b: String) -> ChannelName { name("clique.chat:" + Clique.Pair(a, b).id) }
  static func list(_ user: String) -> ChannelName { name("clique.list:" + user) }
  static func threads(_ user: String) -> ChannelName { name("state.threads:" + user) }

  static func name(_ text: String) -> ChannelName {
    guard let name = try? ChannelName(text) else { preconditionFailure("\(text) is no channel") }
    return name
  }

  static var couples: [(String, String)] {
    let people = AppWorld.people
    return people.indices.flatMap { a in people.indices.filter { $0 > a }.map { (people[a], people[$0]) } }
  }

  // MARK: On disk

  static func record<Record: Decodable>(_ type: Record.Type, _ key: String, _ ledger: Ledger, of app: String)
    -> Record?
  {
    guard let entry = ledger.channels[name(app + ".records:all")]?.entries[key] else { return nil }
    return try? JSONDecoder().decode(type, from: Data(entry.data))
  }

  static func object(_ data: [UInt8]?) -> [String: Any]? {
    data.flatMap { try? JSONSerialization.jsonObject(with: Data($0)) as? [String: Any] } ?? nil
  }

  /// Checks the disk after a transaction.
  ///
  /// - Returns: what is not as it must be.
  mutating func committed(_ ledger: Ledger, time: Int64, _ app: StateApp) -> [String] {
    var complaints: [String] = []
    for (a, b) in Self.couples {
      complaints += checkPair(a, b, ledger, time)
      complaints += checkThread(a, b, ledger, time, app)
    }
    return complaints
  }

  private mutating func checkPair(_ a: String, _ b: String, _ ledger: Ledger, _ time: Int64) -> [String] {
    var complaints: [String] = []
    let id = Clique.Pair(a, b).id
    let pair = Self.record(Clique.Pair.self, "pair/" + id, ledger, of: "clique") ?? Clique.Pair(a, b)
    let before = pairs.updateValue(pair, forKey: id) ?? Clique.Pair(a, b)
    if pair.waiting.count > 3 { complaints.append("\(a) and \(b): \(pair.waiting.count) messages wait") }
    complaints += checkChat(pair, before, ledger)
    // Where a timer is late, lists may show what follows from it before the record does.
    guard pair.advanced(to: time) == pair else { return complaints }
    for side in PairState.Side.allCases {
      let entry = Self.object(ledger.channels[Self.list(pair.user(side))]?.entries[id]?.data)
      let shown = entry?["state"] as? String ?? "nothing"
      let sight = pair.state.sight(of: side)
      let expected =
        switch sight {
        case .nothing: "nothing"
        case .asking: "request_out"
        case .asked: "request_in"
        case .active: "active"
        case .ended: "ended"
        case .blocked: pair[mark: side].listed ? "blocked" : "nothing"
        }
      if shown != expected { complaints.append("\(pair.user(side))'s list says \(shown), the pair \(pair.state)") }
      if (entry?["messages"] as? [Any])?.count ?? 0 > 3 { complaints.append("\(pair.user(side)) sees too many") }
    }
    return complaints
  }

  /// Checks that what this transaction published in the chat may be published there.
  private mutating func checkChat(_ pair: Clique.Pair, _ before: Clique.Pair, _ ledger: Ledger) -> [String] {
    var complaints: [String] = []
    let channel = Self.chat(pair.a, pair.b)
    let kept = ledger.channels[channel]?.kept ?? []
    // What is over is removed whatever stands between the two.
    let new = kept.filter { $0.offset > tops[channel] ?? 0 && $0.tags["deletes"] == nil }
    tops[channel] = kept.last?.offset ?? 0
    if pair.state.standing == .active, before.state.standing != .active {
      let texts = new.map { Self.object($0.data)?["text"] as? String ?? "" }
      if !texts.starts(with: before.waiting.map(\.text)) {
        complaints.append("\(channel) opens with \(texts) where \(before.waiting.map(\.text)) waited")
      }
    }
    for publication in new {
      guard pair.state.standing == .active, let side = pair.side(of: publication.info?.user ?? "") else {
        complaints.append("\(channel) \(publication.offset): published, and the pair is \(pair.state)")
        continue
      }
      let isUnseen = publication.tags["only"] == pair.user(side)
      if before.state.isBlocked(by: side.other), pair.state.isBlocked(by: side.other), !isUnseen {
        complaints.append("\(channel) \(publication.offset): from somebody who is blocked")
      }
    }
    return complaints
  }

  private func checkThread(
    _ a: String, _ b: String, _ ledger: Ledger, _ time: Int64, _ app: StateApp
  ) -> [String] {
    guard let people = try? StatePair(a, b) else { return ["no pair"] }
    let thread = Self.record(StateThread.self, people.key, ledger, of: "state") ?? StateThread(people: people)
    guard app.advanced(thread, time) == thread else { return [] }
    var complaints: [String] = []
    var phases: [String] = []
    for side in StateSide.allCases {
      let entry = Self.object(ledger.channels[Self.threads(people[side])]?.entries[people[side.other]]?.data)
      let shown = entry?["phase"] as? String ?? "idle"
      phases.append(shown)
      if shown != thread.phase(of: side).rawValue {
        complaints.append("\(people[side])'s thread says \(shown), its record \(thread.phase(of: side))")
      }
    }
    let allowed: Set<Set<String>> = [
      ["idle"], ["sent", "received"], ["sent", "idle"], ["received", "idle"], ["revealed"], ["revealed", "idle"],
      ["expired"], ["expired", "idle"],
    ]
    if !allowed.contains(Set(phases)) { complaints.append("\(a) and \(b) are \(phases)") }
    return complaints
  }

  // MARK: What devices are sent

  /// What is wrong with showing these bytes to a user now; nil: nothing.
  func shown(_ data: [UInt8], to user: String, on channel: ChannelName?, time: Int64, _ rules: StateRules) -> String? {
    let text = String(decoding: data, as: UTF8.self)
    guard text.contains("secret-") else { return nil }
    for (secret, about) in secrets where text.contains(secret) {
      if channel.map({ $0 != Self.threads(user) }) ?? true { return "\(user) is sent \(secret) on \(channel as Any)" }
      guard user == about.author || user == about.to else { return "\(user) is sent \(secret), which is not theirs" }
      let other = user == about.author ? about.to : about.author
      // A secret that is revealed was answered: both sent, one within the lifetime of the other.
      let answers = secrets.values.filter {
        $0.author == (user == about.author ? other : user) && $0.to == (user == about.author ? user : other)
          && abs($0.time - about.time) < rules.lifetime + 260_000
      }
      if answers.isEmpty { return "\(user) is sent \(secret), which nobody answered" }
      if let entry = Self.object(data), entry["phase"] as? String != "revealed" {
        return "\(user) is sent \(secret) in a thread that is \(entry["phase"] ?? "")"
      }
    }
    return nil
  }
}

/// How often each thing happened, under all seeds together.
struct AppCoverage {
  var messages = 0
  var opened = 0
  var revealed = 0
  var expired = 0
  var blocks = 0
  var refused = 0
  var failed = 0
  var repeated = 0
  var letGo = 0
  var unseen = 0
  var recovered = 0
  var unrecoverable = 0
  var brokerCrashes = 0
  var powerCuts = 0
  var diskFaults = 0
  var failedStarts = 0
  /// Transactions that a crash took with it, and those that were on disk although the broker had not heard so.
  var lost = 0
  var found = 0
  var clean = 0
  var gatewayCrashes = 0
  /// Groups that were founded, joined by a link, and left or lost; messages in them.
  var groups = 0
  var joined = 0
  var left = 0
  var groupMessages = 0
  /// Messages that were to disappear, and those that were gone in the end.
  var vanishing = 0
  var vanished = 0
  var pictures = PictureCoverage()

  mutating func add(_ other: AppCoverage) {
    messages += other.messages
    opened += other.opened
    revealed += other.revealed
    expired += other.expired
    blocks += other.blocks
    refused += other.refused
    failed += other.failed
    repeated += other.repeated
    letGo += other.letGo
    unseen += other.unseen
    recovered += other.recovered
    unrecoverable += other.unrecoverable
    brokerCrashes += other.brokerCrashes
    powerCuts += other.powerCuts
    diskFaults += other.diskFaults
    failedStarts += other.failedStarts
    lost += other.lost
    found += other.found
    clean += other.clean
    gatewayCrashes += other.gatewayCrashes
    groups += other.groups
    joined += other.joined
    left += other.left
    groupMessages += other.groupMessages
    vanishing += other.vanishing
    vanished += other.vanished
    pictures.add(other.pictures)
  }

  /// The things that never happened.
  var missing: [String] {
    Mirror(reflecting: self).children.filter { $0.value as? Int == 0 }.compactMap(\.label)
      + pictures.missing.map { "pictures.\($0)" }
  }
}
