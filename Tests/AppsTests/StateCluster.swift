import Foundation
import TestSupport
import Testing
import Wire

@testable import Apps

/// State in several partitions: an app for each, what they send each other in rows that come in the order of their
/// partition and otherwise in any, and a gateway that asks one partition after another.
final class StateCluster {
  let partitioning: Partitioning
  let scenes: [StateScene]
  private var rows: [[Int]: [[UInt8]]] = [:]
  private var random: StateRandom
  /// The gateway has lost track of an attempt to send, so that these pictures wait to be claimed.
  private(set) var stray: Set<String> = []

  init(count: Int, seed: UInt64, _ configure: (inout StateRules) -> Void) {
    let partitioning = Partitioning(count: count, namespaces: NamespaceTable())
    self.partitioning = partitioning
    scenes = (0..<count).map { StateScene(places: AppPlaces(own: $0, partitioning: partitioning), configure) }
    random = StateRandom(state: seed ^ 0xC1A5)
  }

  func scene(of user: String) -> StateScene { scenes[partitioning.place(ofUser: user)] }
  func scene(_ a: String, _ b: String) -> StateScene { scenes[partitioning.place(ofPair: a, b)] }

  // MARK: Rows

  private func collect() {
    for (source, scene) in scenes.enumerated() {
      for relay in scene.relays {
        #expect(relay.partition != source)
        rows[[source, relay.partition], default: []].append(relay.data)
      }
      scene.relays = []
    }
  }

  /// Delivers some of what is on its way; nil: all.
  func deliver(_ count: Int? = nil) throws {
    collect()
    var left = count ?? .max
    while left > 0, let queue = rows.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }).randomElement(using: &random)
    {
      left -= 1
      guard let row = rows[queue]?.removeFirst() else { return }
      if rows[queue]?.isEmpty == true { rows[queue] = nil }
      try scenes[queue[1]].receive(row)
      collect()
    }
  }

  /// - Parameters:
  ///   - isLate: nothing is delivered before the time is over.
  ///   - runsTimers: false for brokers whose timers are late; nothing is delivered either.
  func advance(_ milliseconds: Int64, isLate: Bool, runsTimers: Bool = true) throws {
    let end = scenes[0].now + milliseconds
    while !isLate, runsTimers, let next = scenes.compactMap(\.nextDue).min(), next <= end {
      for scene in scenes { try scene.advance(max(0, next - scene.now)) }
      try deliver()
    }
    for scene in scenes { try scene.advance(end - scene.now, runsTimers: runsTimers) }
  }

  // MARK: The gateway

  func call(_ user: String, _ method: String, _ json: String, key: String) throws -> [UInt8] {
    let command = try AppCommand(method, Array(json.utf8), by: user)
    switch command {
    case .state(.begin(let other)), .state(.seen(let other)), .state(.delivered(let other)), .state(.block(let other)),
      .state(.unblock(let other)):
      return try scene(user, other).call(user, command, key: key)
    case .state(.react(let reaction)): return try scene(user, reaction.with).call(user, command, key: key)
    case .state(.send(let send)): return try self.send(send, by: user, key)
    case .state(.cancel(var cancel)):
      if scene(user, cancel.to) !== scene(of: user), !cancel.pictures.isEmpty {
        try scene(of: user).call(user, .state(.discard(cancel.pictures)))
        cancel.pictures = []
      }
      return try scene(user, cancel.to).call(user, .state(.cancel(cancel)), key: key)
    default: return try scene(of: user).call(user, command, key: key)
    }
  }

  private func send(_ send: StateCommand.Send, by user: String, _ key: String) throws -> [UInt8] {
    let (mine, ours) = (scene(of: user), scene(user, send.to))
    if mine === ours { return try ours.call(user, .state(.send(send)), key: key) }
    var send = send
    var lending = StateCommand.Lending(to: send.to, front: send.front, rear: send.rear, attempt: random.next())
    let dies = Int.random(in: 0..<6, using: &random) == 0
    do {
      // Sometimes the gateway is killed behind this, and another one is asked; or it asks again.
      if dies { try mine.call(user, .state(.lend(lending)), source: .gateway) }
      if dies, Bool.random(using: &random) { lending.attempt = random.next() }
      send.lent = try mine.call(user, .state(.lend(lending)), source: .gateway)
    } catch {}
    do {
      if dies { _ = try ours.call(user, .state(.send(send)), key: key) }
      return try ours.call(user, .state(.send(send)), key: key)
    } catch let error as ClientError where !error.temporary && !send.lent.isEmpty {
      for _ in 0..<2 { try mine.call(user, .state(.giveBack(lending)), source: .gateway) }
      if dies { stray.formUnion([send.front, send.rear]) }
      throw error
    }
  }
}

extension Partitioning {
  static let four = Partitioning(count: 4, namespaces: NamespaceTable())

  /// A user whom a rule fits.
  static func user(_ name: String, _ fits: (String) -> Bool) -> String {
    (0...).lazy.map { name + String($0) }.first(where: fits) ?? name
  }
}

extension StateScene {
  /// The person's record of a picture: `whole`, `lent 2` (attempts), `moved`, `gone`.
  func state(_ id: String) throws -> String {
    guard let picture = try record(StatePicture.self, StateKeys.picture + id) else { return "gone" }
    return switch picture.away {
    case nil: picture.thread != nil ? "sent" : picture.isBarred ? "barred" : "whole"
    case .lent(_, _, let attempts): "lent \(attempts.count)"
    case .moved: picture.key == nil ? "moved" : "moved with its key"
    }
  }

  func receive(_ says: StateRelay.Says) throws {
    try receive(try AppJSON.encode(StateRelay(sent: now, says: says)))
  }

  /// Opens the recorder and sends pictures that lie in another partition.
  func send(_ user: String, to other: String, _ ids: [String], _ more: String = "", lent: [UInt8]) throws {
    let json = #"{"to":"\#(other)","front":"\#(ids[0])","rear":"\#(ids[1])"\#(more)}"#
    guard case .state(.send(var send)) = try AppCommand("state.send", Array(json.utf8), by: user) else {
      throw Failure()
    }
    send.lent = lent
    try call(user, .state(.begin(to: other)))
    try call(user, .state(.send(send)))
  }

  /// What was sent to other partitions since the last time: `2 shows`.
  func said() throws -> [String] {
    defer { relays = [] }
    return try relays.map { relay in
      let object = try JSONSerialization.jsonObject(with: Data(relay.data)) as? [String: Any]
      return "\(relay.partition) \((object?["says"] as? [String: Any])?.keys.first ?? "")"
    }
  }
}
