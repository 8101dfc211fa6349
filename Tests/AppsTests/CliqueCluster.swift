import TestSupport
import Testing
import Wire

@testable import Apps

/// Clique in several partitions: an app for each, what they send each other in rows that come in the order of their
/// partition and otherwise in any, and a gateway that asks each command of the partition that decides about it.
final class CliqueCluster {
  let partitioning: Partitioning
  let scenes: [CliqueScene]
  private var rows: [[Int]: [[UInt8]]] = [:]
  private var random: CliqueRandom
  /// Gateways have lost track of an attempt to send these pictures, which are lent until they are claimed.
  private(set) var stray: Set<String> = []

  init(count: Int, seed: UInt64, _ rules: CliqueRules) {
    let partitioning = Partitioning.clique(count, rules)
    self.partitioning = partitioning
    scenes = (0..<count).map { CliqueScene(rules, places: AppPlaces(own: $0, partitioning: partitioning)) }
    random = CliqueRandom(seed: seed ^ 0xC1A5)
  }

  var home: CliqueScene { scenes[Partitioning.home] }
  func scene(of user: String) -> CliqueScene { scenes[partitioning.place(ofUser: user)] }
  func scene(with id: String) -> CliqueScene { scenes[partitioning.place(ofConversation: id)] }

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

  /// Delivers some of what is on its way.
  ///
  /// - Parameters:
  ///   - count: of rows; nil: all, and those that they make.
  ///   - target: the partition whose rows come; nil: any.
  func deliver(_ count: Int? = nil, to target: Int? = nil) throws {
    collect()
    var left = count ?? .max
    while left > 0 {
      let queues = rows.keys.filter { $0[1] == target ?? $0[1] }.sorted { $0.lexicographicallyPrecedes($1) }
      guard let queue = queues.randomElement(using: &random), let row = rows[queue]?.removeFirst() else { return }
      if rows[queue]?.isEmpty == true { rows[queue] = nil }
      left -= 1
      try scenes[queue[1]].receive(row)
      collect()
    }
  }

  /// Moves the clock, with each timer at its time.
  ///
  /// Home has heard by then what stands between people: what it keeps of a block is what it sees when it hears of it.
  ///
  /// - Parameter isLate: nothing else comes before the time is over.
  func pass(_ milliseconds: Int64, isLate: Bool) throws {
    let end = home.now + milliseconds
    try deliver(to: isLate ? Partitioning.home : nil)
    while !isLate, let next = scenes.compactMap(\.nextDue).min(), next <= end {
      for scene in scenes { try scene.pass(max(0, next - scene.now)) }
      try deliver()
    }
    for scene in scenes { try scene.pass(end - scene.now) }
  }

  // MARK: The gateway

  /// The answer that a client gets.
  @discardableResult
  func call(_ user: String, _ method: String, _ json: String, key: String) throws -> String {
    try ask(AppCommand("clique." + method, Array(json.utf8), by: user), by: user, key: key)
  }

  /// Asks one partition after another, as far as what they answer says.
  @discardableResult
  func ask(_ command: AppCommand, by user: String, key: String, isGateways: Bool = false) throws -> String {
    let request = BrokerRequest.call(
      .init(command, caller: ClientInfo(user: user, client: "c-" + user), isGateways: isGateways))
    let plan = try partitioning.plan(for: request)
    guard case .clique(let asked) = command else { throw ClientError.methodNotFound }
    if plan.parts.count == 1 { #expect(plan.parts[0].partition == place(of: asked, by: user), "\(asked.method)") }
    let mayDie = plan.parts.count > 1 && Int.random(in: 0..<5, using: &random) == 0
    guard mayDie, case .send(let send) = asked, let picture = send.message.extras?.picture?.id else {
      return try answer(plan, key)
    }
    // The gateway dies behind some step, and another one is asked. A message without a key of its own is known by its
    // command, as scenes do not know it: it must not have been sent.
    let steps = send.message.key.own.isEmpty ? 1 : Int.random(in: 1...3, using: &random)
    _ = try follow(plan, key, steps: steps)
    do { return try answer(try partitioning.plan(for: request), key) } catch let error as ClientError {
      stray.insert(picture)
      throw error
    }
  }

  private func answer(_ plan: PartitionPlan, _ key: String) throws -> String {
    switch plan.merged(try follow(plan, key)) {
    case .result(let bytes): return String(decoding: bytes, as: UTF8.self)
    case .failed(let error): throw error
    default: throw ClientError.internalError
    }
  }

  private func follow(_ plan: PartitionPlan, _ key: String, steps: Int = .max) throws -> [BrokerResponse] {
    var answers: [BrokerResponse] = []
    while answers.count < steps, let part = plan.next(after: answers).first {
      guard case .call(let call) = part.request else { throw ClientError.methodNotFound }
      let source: AppCall.Source = call.isGateways ? .gateway : .client
      do {
        let scene = scenes[part.partition]
        answers.append(.result(Array(try scene.call(call.caller.user, call.command, key: key, source: source).utf8)))
      } catch let error as ClientError { answers.append(.failed(error)) }
    }
    return answers
  }

  /// As the table of docs/decisions/0074-clique-in-all-partitions.md has it, of what one partition decides alone.
  private func place(of command: CliqueCommand, by user: String) -> Int {
    switch command {
    case .send(let send): place(of: send.target, by: user)
    case .accept(let target), .decline(let target), .disconnect(let target), .block(let target), .unblock(let target):
      place(of: target, by: user)
    case .keep(let keep): place(of: keep.target, by: user)
    case .draft(let draft): place(of: draft.target, by: user)
    case .disappear(let disappear): place(of: disappear.target, by: user)
    case .read(let mark), .delivered(let mark): partitioning.place(ofConversation: mark.conversation)
    case .typing(let id): partitioning.place(ofConversation: id)
    case .react(let react): partitioning.place(ofConversation: react.conversation)
    case .search(let search): partitioning.place(ofConversation: search.conversation ?? "")
    case .totals: partitioning.place(ofUser: user)
    default: Partitioning.home
    }
  }

  private func place(of target: CliqueCommand.Target, by user: String) -> Int {
    switch target {
    case .person(let other): partitioning.place(ofConversation: Clique.conversationID(user, other))
    case .conversation(let conversation): partitioning.place(ofConversation: conversation.id)
    }
  }

  /// The author changes a message, or removes it.
  func change(_ user: String, _ id: String, _ offset: UInt64, _ json: String?) throws {
    try scene(with: id).change(user, id, offset, json)
  }
}

extension Partitioning {
  /// Clique shared among so many partitions.
  static func clique(_ count: Int, _ rules: CliqueRules = .notifying) -> Partitioning {
    let names = Partitioning(count: count, namespaces: NamespaceTable())
    let app = Clique(rules, places: AppPlaces(own: home, partitioning: names))
    return Partitioning(
      count: count, namespaces: NamespaceTable(namespaces: app.namespaces), conversation: Clique.conversationID)
  }
}
