import Foundation
import TestSupport
import Testing

/// Two people who exchange States under fire, with two devices each, at different gateways. Each step is done when it is
/// acknowledged.
final class FireExchange {
  /// What becomes of what one has sent.
  private enum Fate {
    case answered, unanswered
    /// The other blocks, or the one who has sent.
    case blocked, regretted
    /// The other blocks before it is sent.
    case unheard
  }

  private static let fates: [Fate] = [.answered, .answered, .unanswered, .blocked, .regretted, .unheard]

  /// How long something sealed waits, and a reveal lasts.
  static let lifetime = 3

  /// In seconds.
  private let lifetime: Int
  let people: [String]
  let devices: [[FireDevice]]
  private(set) var ledger = ExchangeLedger()
  private(set) var faults: [String] = []
  /// Pictures that were found whole by one of the two while they were revealed.
  private(set) var found = 0
  /// Encrypted keys and captions that were in the broker's folder while something was sealed.
  private(set) var boxes: Set<String> = []
  /// What was never revealed, by who must not have it.
  private var secrets: [(text: String, from: String)] = []
  private var pictures: [PictureClient.Picture] = []
  /// Where the log is in a file; nil: it is in none.
  private let log: URL?
  private var random: SeededGenerator

  init(
    _ name: String, _ ground: any FireGround, _ watch: FireWatch, _ random: SeededGenerator, log: URL? = nil,
    lifetime: Int = FireExchange.lifetime
  ) {
    (self.random, self.log, self.lifetime) = (random, log, lifetime)
    people = ["\(name)-ada", "\(name)-bob"]
    devices = people.map { user in
      ["a", "b"].map { FireDevice(user, at: $0, of: ground, watch) }
    }
  }

  func begin() async throws {
    for device in devices.flatMap({ $0 }) {
      try await device.follow(map: "state.threads:\(device.user)")
      try await device.follow("state.events:\(device.user)")
    }
  }

  // MARK: Steps

  func step() async throws {
    let me = Int.random(in: 0...1, using: &random)
    let fate = Self.fates.randomElement(using: &random) ?? .answered
    if fate == .unheard { try await block(1 - me) }
    let state = try await record(me)
    guard let sent = try await any(me).send(state, to: people[1 - me]) else { return try await forgive(me) }
    if sent.phase != "sent" { faults.append("\(people[me]) was answered \(sent.phase) who began") }
    ledger.expect("sent", sent.since, of: [people[me]])
    if fate != .unheard { ledger.expect("received", sent.since, of: [people[1 - me]]) }
    secrets += state.secrets.map { ($0, people[1 - me]) }
    if let log, boxes.isEmpty { try await noteBoxes(in: log) }
    try await look(at: [state], until: nil)
    switch fate {
    case .answered: try await answer(state, sent, by: 1 - me)
    case .unanswered: try await expire(sent, for: people)
    case .blocked, .unheard:
      if fate == .blocked { try await block(1 - me, before: sent) }
      try await expire(sent, for: [people[me]])
      try await any(1 - me).call("state.unblock", #"{"user":"\#(people[me])"}"#)
    case .regretted:
      try await block(me, before: sent)
      try await expire(sent, for: [people[1 - me]])
      try await any(me).call("state.unblock", #"{"user":"\#(people[1 - me])"}"#)
    }
    for device in devices.flatMap({ $0 }) { try await device.mend() }
  }

  private func any(_ person: Int) -> FireDevice { devices[person][Int.random(in: 0...1, using: &random)] }

  private func block(_ person: Int) async throws {
    try await any(person).call("state.block", #"{"user":"\#(people[1 - person])"}"#)
  }

  /// Blocks while something is sealed. Where that has expired meanwhile, whoever blocks may have heard so.
  private func block(_ person: Int, before sent: FireState.Sent) async throws {
    try await block(person)
    if FireClock.now >= sent.until { ledger.expect("expired", sent.until, of: [people[person]], isOptional: true) }
  }

  private func record(_ me: Int) async throws -> FireState {
    let state = try await any(me).record(for: people[1 - me], pixels: Int.random(in: 500...80_000, using: &random))
    pictures += [state.front, state.rear]
    return state
  }

  private func answer(_ theirs: FireState, _ first: FireState.Sent, by me: Int) async throws {
    let mine = try await record(me)
    keepFrom(me, theirs)
    guard let sent = try await any(me).send(mine, to: people[1 - me]) else {
      secrets.removeAll { theirs.secrets.contains($0.text) }
      return try await forgive(me)
    }
    if sent.phase == "sent" {
      // It came too late to be the answer: what it follows has expired.
      if sent.since < first.until { faults.append("\(people[me])'s answer in time was none") }
      ledger.expect("expired", first.until, of: people)
      ledger.expect("sent", sent.since, of: [people[me]])
      ledger.expect("received", sent.since, of: [people[1 - me]])
      secrets += mine.secrets.map { ($0, people[1 - me]) }
      return try await expire(sent, for: people)
    }
    ledger.expect("revealed", sent.since, of: people)
    secrets.removeAll { theirs.secrets.contains($0.text) }
    try await look(at: [theirs, mine], until: sent.until)
    try await show("revealed", since: sent.since, until: sent.until)
    try await any(me).callOnce("state.react", #"{"with":"\#(people[1 - me])","reaction":"🔥"}"#, orRefused: 438)
    if Bool.random(using: &random) {
      for person in 0...1 { try await any(person).call("state.seen", #"{"with":"\#(people[1 - person])"}"#) }
    } else {
      await pass(sent.until)
    }
    ledger.expect("ended", sent.since, of: people)
  }

  /// Waits for the end of what was sent, which each is told who still has something to do with it, and may put away.
  private func expire(_ sent: FireState.Sent, for users: [String]) async throws {
    await pass(sent.until)
    ledger.expect("expired", sent.until, of: users)
    // It may be put away before the timer of its end has run: they are told all the same.
    for (person, user) in people.enumerated() where users.contains(user) && Bool.random(using: &random) {
      try await any(person).call("state.seen", #"{"with":"\#(people[1 - person])"}"#)
    }
  }

  /// Nobody knows what was done: whatever it was, its time passes.
  private func forgive(_ me: Int) async throws {
    for name in ["revealed", "ended", "expired", "sent", "received", "expired"] {
      ledger.expect(name, nil, of: people, isOptional: true)
    }
    await pass(FireClock.now + lifetime * 1000)
    try await any(1 - me).call("state.unblock", #"{"user":"\#(people[me])"}"#)
  }

  private func pass(_ time: Int) async {
    let isPassed = await eventually(within: .seconds(60)) { FireClock.now > time }
    if !isPassed { faults.append("\(time) does not pass") }
  }

  // MARK: Looking

  /// Nothing of it has come to the other before they have sent theirs.
  private func keepFrom(_ person: Int, _ state: FireState) {
    for device in devices[person] {
      let heard = device.heard
      for secret in state.secrets where heard.contains(where: { $0.contains(secret) }) {
        faults.append("\(device.user) was sent \(secret) before they have sent theirs")
      }
    }
  }

  /// - Parameter until: when the reveal ends; nil: it is sealed.
  private func look(at states: [FireState], until: Int?) async throws {
    var ledger = PictureLedger()
    for person in 0...1 {
      for picture in states.flatMap({ [$0.front, $0.rear] }) {
        let look = try await any(person).look(at: picture, of: "state")
        ledger.openTo[picture.id] = until.map { look.began < $0 } == true ? Set(people) : []
        // What ends at this moment may be found or not.
        if let until, look.began < until, look.ended >= until { continue }
        faults += ledger.faults(in: look)
        if until != nil, look.isOpen { found += 1 }
      }
    }
  }

  /// All devices show a phase, unless it ends meanwhile.
  private func show(_ phase: String, since: Int, until: Int) async throws {
    for device in devices.flatMap({ $0 }) {
      let isShown = try await eventually(within: .seconds(60)) {
        try await device.mend()
        let threads = device.map("state.threads:\(device.user)").values
        return FireClock.now >= until
          || threads.contains { $0["since"].int == since && $0["phase"].string == phase }
      }
      if !isShown { faults.append("\(device.user) at \(device.gateway) does not show \(phase)") }
    }
  }

  /// Notes what stands encrypted in the folder of the log.
  private func noteBoxes(in folder: URL) async throws {
    boxes.formUnion(try await onOwnThread { try ByteSearch.boxes(in: folder) })
  }

  /// What is wrong in the end, when everything is over.
  func check() async throws {
    for (person, user) in people.enumerated() {
      try await any(person).call("state.seen", #"{"with":"\#(people[1 - person])"}"#)
      for device in devices[person] {
        func left() -> [String] {
          let thread = device.map("state.threads:\(user)")[people[1 - person]]
          return ledger.faults(in: device.seen("state.events:\(user)"), of: user)
            + (thread.map { ["\(user) still shows \($0)"] } ?? [])
        }
        _ = try await eventually(within: .seconds(60)) {
          try await device.mend()
          return left().isEmpty
        }
        faults += left().map { "\(device.gateway): \($0)" } + device.faults
        let heard = device.heard
        for secret in secrets where secret.from == user && heard.contains(where: { $0.contains(secret.text) }) {
          faults.append("\(user) was sent \(secret.text)")
        }
      }
    }
    for picture in pictures {
      for person in 0...1 {
        faults += PictureLedger().faults(in: try await any(person).look(at: picture, of: "state"))
      }
    }
  }
}
