import Foundation
import TestSupport
import Testing

/// Messages that disappear, under fire.
extension FireCouple {
  /// The shortest time after which messages may disappear, in milliseconds.
  static let minute = 60_000
  /// Stands in the text of each message that disappears, whatever it says then, and in nothing else.
  static let mark = "fleetingly"

  /// The key of a message, which stands on the disk as it is, and for longer than what disappears.
  static func key(of text: String) -> String { text.replacing(" \(mark)", with: "") }

  // MARK: Steps

  /// Messages that disappear one after another: far fewer than the newest hundred publications, among which a list looks
  /// for the last message that is left.
  private static let mostAtOnce = 8
  /// Steps from one time in which messages disappear to the next.
  private static let cycle = 40

  /// Two devices see the beginning of the chat, and do not follow it from here on.
  func putToSleep() async throws {
    sleepers = people.enumerated().map { FireDevice($1, at: $0 == 0 ? "a" : "b", of: ground, watch) }
    for device in sleepers {
      try await device.follow(chat)
      try await device.leave([chat])
    }
  }

  /// Goes over from messages that stay to some that disappear, and back.
  func alternate() async throws {
    if let written = vanishing {
      if written >= Self.mostAtOnce { try await stay() }
    } else if steps % Self.cycle == 0 {
      try await agree(on: Self.minute)
      try await show(Int.random(in: 0...1, using: &random))
    }
  }

  /// What is written from here on stays, and something is.
  func stay() async throws {
    try await agree(on: 0)
    try await say(Int.random(in: 0...1, using: &random))
  }

  /// A picture that disappears, among messages that stay.
  func vanish() async throws {
    try await agree(on: Self.minute)
    try await show(Int.random(in: 0...1, using: &random))
    try await agree(on: 0)
  }

  private func agree(on after: Int) async throws {
    for person in 0...1 {
      try await any(person).call("clique.disappear", #"{"conversation":"\#(conversation)","after":\#(after)}"#)
    }
    vanishing = after > 0 ? 0 : nil
  }

  /// Notes when a message goes, which its author's devices are told.
  ///
  /// - Parameter asked: before it was sent, in milliseconds since 1970.
  func noteEnd(of offset: Int, askedAt asked: Int) async throws {
    vanishing? += 1
    let (earliest, latest) = (asked + Self.minute, FireClock.now + Self.minute)
    // Where the fire lets nobody hear of it until then, it has gone by then all the same.
    ledger.expire(offset, at: latest)
    let author = ledger.messages[offset]?.author
    let own = devices.flatMap { $0 }.filter { $0.user == author }
    var told: Int?
    _ = try await eventually(within: .milliseconds(Self.minute)) {
      for device in own where told == nil {
        try await device.mend()
        told = device.seen(chat).first { $0["offset"].int == offset }?["data"]["expires"].int
      }
      return told != nil
    }
    guard let told else { return }
    ledger.expire(offset, at: told)
    if !(earliest...latest).contains(told) {
      faults.append("\(offset) goes at \(told), and not between \(earliest) and \(latest)")
    }
  }

  /// Does something to a message, and notes it. One that disappears may have gone before.
  func change(
    _ offset: Int, _ body: () async throws -> Void, then note: (inout ChatLedger) -> Void
  ) async throws {
    do { try await body() } catch let refusal as FireDevice.Refusal {
      guard let end = ledger.messages[offset]?.expires, end <= FireClock.now else { throw refusal }
      return
    }
    note(&ledger)
  }

  // MARK: Looking

  /// What is wrong with the chat while messages of it disappear, as somebody reads it and as devices show it.
  func checkChat() async throws {
    try await checkReading()
    for device in devices.flatMap({ $0 }) {
      var found: [String] = []
      _ = try await eventually(within: .seconds(60)) {
        try await device.mend()
        found = ledger.faults(in: ChatView(device.seen(chat)), of: device.user, at: FireClock.now)
        return found.isEmpty
      }
      faults += found.map { "\(device.gateway), while messages disappear: \($0)" }
    }
  }

  private func checkReading() async throws {
    for person in 0...1 {
      let device = any(person)
      let found = ledger.faults(in: try await device.read(chat), of: device.user)
      faults += found.map { "\(device.gateway), in the history: \($0)" }
    }
  }

  /// What is wrong when the last message has gone that disappears: with the history, and with what devices recover that
  /// have not followed the chat meanwhile, or never.
  func checkGone() async throws {
    let last = ledger.messages.values.compactMap(\.expires).max() ?? 0
    let isOver = await eventually(within: .milliseconds(2 * Self.minute)) { FireClock.now > last }
    try #require(isOver, "\(last) is not over at \(FireClock.now)")
    try await checkReading()
    let late = people.map { FireDevice($0, at: Bool.random(using: &random) ? "a" : "b", of: ground, watch) }
    for device in sleepers + late {
      try await device.follow(chat)
      let now = FireClock.now
      let found =
        ledger.faults(in: ChatView(device.seen(chat)), of: device.user, at: now)
        + ledger.leaks(in: device.heard, to: device.user, since: last) + device.faults
      faults += found.map { "\(device.gateway), recovered: \($0)" }
    }
    for person in 0...1 {
      let found = try await any(person).call("clique.search", #"{"text":"\#(Self.mark)"}"#).data["messages"].array
      if !found.isEmpty { faults.append("\(people[person]) finds \(found)") }
    }
  }
}
