import Foundation
import TestSupport
import Testing

/// Two people who exchange States under fire, and what their devices are told of it.
final class NotifiedExchange {
  /// What becomes of what one has sent.
  private enum Scene: CaseIterable {
    /// Answered when the other was told of it; after a device has acknowledged it; or at once.
    case answered, delivered, answeredAtOnce
    case unanswered, blocked
  }

  /// How long something sealed waits.
  static let lifetime = 4

  private let people: [NotifiedPerson]
  private var random: SeededGenerator

  /// - Parameter first: the number of the first of the two; the other has the next.
  init(
    _ name: String, _ deployment: Deployment, _ watch: FireWatch, _ random: SeededGenerator, _ receiver: PushReceiver,
    first: Int
  ) throws {
    self.random = random
    people = try [("ada", "a"), ("bob", "b")].enumerated().map { place, person in
      try NotifiedPerson(
        FireDevice("\(name)-\(person.0)", at: person.1, of: deployment, watch), receiver, number: first + place)
    }
  }

  /// What went wrong.
  var faults: [String] { people.flatMap(\.faults) }

  func begin() async throws { for person in people { try await person.register() } }

  func step() async throws {
    let place = Int.random(in: 0...1, using: &random)
    let scene = Scene.allCases.randomElement(using: &random) ?? .answered
    try await play(scene, from: people[place], to: people[1 - place])
  }

  /// Ends with something that both are told, so that nothing else is left to come.
  func end() async throws {
    for place in 0...1 { try await play(.answered, from: people[place], to: people[1 - place]) }
    for person in people { await person.close() }
  }

  private func play(_ scene: Scene, from author: NotifiedPerson, to reader: NotifiedPerson) async throws {
    let who = #"{"user":"\#(author.user)"}"#
    if scene == .blocked { try await reader.device.call("state.block", who) }
    let state = try await author.device.record(for: reader.user, pixels: 500)
    let began = FireClock.now
    guard let sent = try await author.device.send(state, to: reader.user) else { return try await forgive() }
    switch scene {
    case .answered, .unanswered:
      reader.expect("state.sealed")
      reader.keepSecret(author.user, with: "state.sealed")
      await reader.hear(before: sent.until)
      if scene == .answered { return try await answer(author, by: reader) }
    case .delivered:
      try await reader.device.call("state.delivered", #"{"with":"\#(author.user)"}"#)
      reader.expectNothing(of: "state.sealed", since: began)
      return try await answer(author, by: reader)
    case .answeredAtOnce:
      try await answer(author, by: reader) { reader.expectNothing(of: "state.sealed", since: began) }
      return
    case .blocked: break
    }
    await pass(sent.until)
    if scene == .blocked { try await reader.device.call("state.unblock", who) }
    await reader.close()
  }

  /// - Parameter isSent: called when the answer was acknowledged.
  private func answer(
    _ author: NotifiedPerson, by reader: NotifiedPerson, _ isSent: () -> Void = {}
  ) async throws {
    let state = try await reader.device.record(for: author.user, pixels: 500)
    guard let sent = try await reader.device.send(state, to: author.user) else { return try await forgive() }
    isSent()
    await reader.close()
    guard sent.phase == "revealed" else {
      // It came too late to be the answer.
      author.expect("state.sealed")
      await author.hear(before: sent.until)
      await pass(sent.until)
      return await author.close()
    }
    author.expect("state.revealed")
    await author.hear()
    let with = #"{"with":"\#(reader.user)"}"#
    if Bool.random(using: &random) {
      try await author.device.call("state.delivered", with)
      author.expect("state.reaction")
      try await reader.device.call("state.react", #"{"with":"\#(author.user)","reaction":"🔥"}"#)
      await author.hear()
    }
    try await author.device.call("state.seen", with)
    try await reader.device.call("state.seen", #"{"with":"\#(author.user)"}"#)
    await author.close()
  }

  /// Nobody knows what was done. Whatever it was, its time passes, and people may be told of it or not.
  private func forgive() async throws {
    for (person, other) in [(people[0], people[1]), (people[1], people[0])] {
      for topic in ["state.sealed", "state.revealed"] { person.expectNothing(of: topic, since: 0) }
      try await person.device.call("state.unblock", #"{"user":"\#(other.user)"}"#)
    }
    await pass(FireClock.now + Self.lifetime * 1000)
    for (person, other) in [(people[0], people[1]), (people[1], people[0])] {
      try await person.device.call("state.seen", #"{"with":"\#(other.user)"}"#)
    }
  }

  private func pass(_ time: Int) async { _ = await eventually(within: .seconds(60)) { FireClock.now > time } }
}
