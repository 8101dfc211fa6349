import Foundation
import TestSupport
import Testing

/// Two people who write to each other in Clique under fire, and what their devices are told of it.
final class NotifiedCouple {
  /// What becomes of a message.
  private enum Scene: CaseIterable {
    case unheeded, delivered, read, muted, blocked, retracted
    /// While one of the reader's devices is registered no more.
    case unregistered
  }

  private let people: [NotifiedPerson]
  private var conversation = ""
  private let name: String
  private var random: SeededGenerator
  private var count = 0

  /// - Parameters:
  ///   - first: the number of the first of the two; the other has the next.
  ///   - isShared: Clique is, among partitions.
  init(
    _ name: String, _ deployment: Deployment, _ watch: FireWatch, _ random: SeededGenerator, _ receiver: PushReceiver,
    first: Int, isShared: Bool
  ) throws {
    (self.name, self.random) = (name, random)
    people = try [("ann", "a"), ("bob", "b")].enumerated().map { place, person in
      try NotifiedPerson(
        FireDevice("\(name)-\(person.0)", at: person.1, of: deployment, watch), receiver, number: first + place,
        isHeardLate: isShared)
    }
  }

  /// What went wrong.
  var faults: [String] { people.flatMap(\.faults) }

  /// One asks, and is accepted.
  func begin() async throws {
    let (ann, bob) = (people[0], people[1])
    for person in people { try await person.register() }
    bob.expect("clique.request")
    let text = next()
    let sent = try await ann.device.call("clique.send", #"{"to":"\#(bob.user)","text":"\#(text)","key":"\#(text)"}"#)
    conversation = try #require(sent.data["conversation"].string)
    await bob.hear()
    ann.expect("clique.accepted", 1)
    try await bob.device.call("clique.accept", #"{"person":"\#(ann.user)"}"#)
    await bob.close()
    await ann.hear()
    try await mark("read", 1, by: ann)
    await ann.close()
  }

  func step() async throws {
    let place = Int.random(in: 0...1, using: &random)
    let scene = Scene.allCases.randomElement(using: &random) ?? .unheeded
    try await play(scene, from: people[1 - place], to: people[place])
  }

  /// Ends with something that both are told, so that nothing else is left to come.
  func end() async throws {
    for place in 0...1 { try await play(.unheeded, from: people[1 - place], to: people[place]) }
    for person in people { await person.close() }
  }

  private func play(_ scene: Scene, from author: NotifiedPerson, to reader: NotifiedPerson) async throws {
    let began = FireClock.now
    let who = #"{"person":"\#(author.user)"}"#
    switch scene {
    case .unheeded: try await tell(reader, by: author)
    case .delivered, .read:
      let offset = try await send(from: author)
      try await mark(scene == .read ? "read" : "delivered", offset, by: reader)
      reader.expectNothing(of: "clique.message", offset, since: began)
    case .muted:
      try await keep(muted: true, by: reader)
      try await mark("read", try await send(from: author), by: reader)
      try await keep(muted: false, by: reader)
    case .blocked:
      try await reader.device.call("clique.block", who)
      try await send(from: author)
      try await reader.device.call("clique.unblock", who)
    case .retracted:
      let offset = try await send(from: author)
      try await author.device.callOnce(
        "publication.delete", #"{"channel":"clique.chat:\#(conversation)","offset":\#(offset)}"#)
      reader.expectNothing(of: "clique.message", offset, since: began)
    case .unregistered:
      guard reader.isClosed else { return try await tell(reader, by: author) }
      try await reader.unregister()
      try await tell(reader, by: author)
      try await reader.register()
    }
  }

  /// Messages that nobody acknowledges before the reader is told of them.
  private func tell(_ reader: NotifiedPerson, by author: NotifiedPerson) async throws {
    var newest = 0
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      newest = try await send(from: author)
      reader.expect("clique.message", newest)
    }
    await reader.hear()
    try await mark("read", newest, by: reader)
    await reader.close()
  }

  private func next() -> String {
    count += 1
    return "\(name) says \(count)."
  }

  /// - Returns: the message's offset.
  @discardableResult
  private func send(from author: NotifiedPerson) async throws -> Int {
    let text = next()
    let sent = try await author.device.call(
      "clique.send", #"{"conversation":"\#(conversation)","text":"\#(text)","key":"\#(text)"}"#)
    return try #require(sent.data["offset"].int)
  }

  private func mark(_ what: String, _ offset: Int, by reader: NotifiedPerson) async throws {
    try await reader.device.call("clique.\(what)", #"{"conversation":"\#(conversation)","offset":\#(offset)}"#)
  }

  private func keep(muted: Bool, by reader: NotifiedPerson) async throws {
    try await reader.device.call("clique.keep", #"{"conversation":"\#(conversation)","muted":\#(muted)}"#)
  }
}
