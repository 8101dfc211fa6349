/// Which partitions a request is asked of, and what their answers come to together.
public struct PartitionPlan: Sendable, Equatable {
  /// What is asked of one partition.
  public struct Part: Sendable, Equatable {
    public var partition: Int
    public var request: BrokerRequest
  }

  enum Merge: Sendable, Equatable {
    /// The first answer is the answer. Where a part fails, its error is.
    case first
    case channels
    case info
    /// The numbers stand in the order of the channels that were asked for: for each the part that counts it.
    case unread([Int])
    /// The states of a deletion: what lags behind counts.
    case deletion
    /// What is kept of a user, added up.
    case kept
    /// A page of an export, from the partition with this number.
    case page(Int, of: Int)
    case webhooks
    /// Where a part fails, its error is the answer; else the last answer.
    case last
    /// What one partition grants is granted (``any(_:)``).
    case any
    /// Pictures that all partitions say are gone.
    case gone
    /// Pictures are lent for a send, and given back where it is refused (``partsOfSend(after:)``).
    case send
    /// Home is told of somebody with what another partition knows of them (``partsOfReport(after:)``).
    case report
    /// The key of a picture, which home may grant on a condition (``partOfPictureKey(after:in:)``).
    case pictureKey(in: Partitioning)
    /// The newest messages that were found, as many as this.
    case search(Int)
  }

  /// What is asked, home first; of apps (``Merge/send``, ``Merge/last``, ``Merge/report``) in the order of their steps.
  public let parts: [Part]
  /// The second part is asked when the first is answered, and did not fail: whoever is asked first decides whether it may
  /// be done at all.
  public let awaitsFirst: Bool
  let merge: Merge

  init(_ parts: [Part], _ merge: Merge, awaitsFirst: Bool = false) {
    self.parts = parts
    self.merge = merge
    self.awaitsFirst = awaitsFirst
  }

  /// What is asked next, which may depend on answers; nothing: they come to the answer (``merged(_:)``).
  ///
  /// - Parameter answers: to all that was asked until now, in the order of the parts.
  public func next(after answers: [BrokerResponse]) -> [Part] {
    switch merge {
    case .send: return partsOfSend(after: answers)
    case .report: return partsOfReport(after: answers)
    case .pictureKey(let partitioning): return partOfPictureKey(after: answers, in: partitioning)
    default: break
    }
    if answers.isEmpty { return Array(parts.prefix(awaitsFirst ? 1 : parts.count)) }
    if case .failed? = answers.last { return [] }
    return Array(parts.dropFirst(answers.count))
  }

  /// Whether an answer is the plan's whatever the other parts come to: one of them may be of a partition without a broker.
  public func isSettled(by answer: BrokerResponse) -> Bool {
    if case .failed = answer { return false }
    return merge == .any
  }
}

extension Partitioning {
  /// The one partition that a request is for; nil: there are several (``plan(for:)``).
  public func onlyPartition(for request: BrokerRequest) -> Int? {
    if count == 1 { return Self.home }
    if let channel = request.placedBy { return partition(of: channel) }
    switch request {
    case .channels, .info, .unread, .revoke: return nil
    case .user(.data), .user(.export), .user(.deletionStatus): return nil
    case .user(.suspensions(let request)): return request.changes ? nil : Self.home
    case .webhooks(.list): return nil
    case .webhooks(.givenUp(let name, _, _)), .webhooks(.resend(let name, _)): return webhook(name).partition
    case .call(let call): return onlyPlace(of: call.command, by: call.caller.user)
    case .user(.pair("state", let user, let other)): return sharesState ? place(of: user, and: other) : Self.home
    case .user(.pair("clique", let user, let other)), .user(.unblock(let user, let other)):
      return sharesClique ? place(of: .person(other), by: user) : Self.home
    case .once(_, let request): return onlyPartition(for: request)
    default: return Self.home
    }
  }

  private func onlyPlace(of command: AppCommand, by user: String) -> Int? {
    switch command {
    case .state(let command) where sharesState: onlyPlace(of: command, by: user)
    case .clique(let command) where sharesClique: onlyPlace(of: command, by: user)
    default: Self.home
    }
  }

  /// How a request is asked of several partitions.
  ///
  /// - Throws: error 107 where the request can be asked of none, such as with a cursor that no answer has named.
  public func plan(for request: BrokerRequest) throws(ClientError) -> PartitionPlan {
    switch request {
    case .channels: return each(request, .channels)
    case .info: return each(request, .info)
    case .unread(let user, let channels): return unread(by: user, channels)
    case .user(.export(let user, let cursor)): return try page(of: user, after: cursor)
    case .user(.data): return each(request, .kept)
    case .user(.deletionStatus): return each(request, .deletion)
    case .revoke, .user(.suspensions): return each(request, .first, awaitsFirst: true)
    case .webhooks(.list): return each(request, .webhooks)
    case .call(let call):
      switch call.command {
      case .state(let command) where sharesState: return plan(for: command, of: call)
      case .clique(let command) where sharesClique: return plan(for: command, of: call)
      default: return one(request)
      }
    case .once(let key, let request):
      let plan = try plan(for: request)
      return PartitionPlan(
        plan.parts.map { .init(partition: $0.partition, request: $0.request.done(onceAs: key)) }, plan.merge,
        awaitsFirst: plan.awaitsFirst)
    default: return one(request)
    }
  }

  private func one(_ request: BrokerRequest) -> PartitionPlan { one(request, at: Self.home) }

  func one(_ request: BrokerRequest, at partition: Int) -> PartitionPlan {
    PartitionPlan([.init(partition: partition, request: request)], .first)
  }

  /// What a request for one partition asks of it.
  public func request(_ request: BrokerRequest, within partition: Int) -> BrokerRequest {
    if partition == Self.home { return request }
    switch request {
    case .webhooks(.givenUp(let name, let since, let limit)):
      return .webhooks(.givenUp(webhook(name).name, since: since, limit: limit))
    case .webhooks(.resend(let name, let limit)): return .webhooks(.resend(webhook(name).name, limit: limit))
    case .once(let key, let request): return .once(key, self.request(request, within: partition))
    default: return request
    }
  }

  /// Each partition has outboxes of its own for webhooks: those of partition 3 are called `orders@3`, those of home as
  /// in the settings.
  private func webhook(_ text: String) -> (name: String, partition: Int) {
    guard let at = text.lastIndex(of: "@"), let number = Int(text[text.index(after: at)...]),
      (1..<count).contains(number)
    else { return (text, Self.home) }
    return (String(text[..<at]), number)
  }

  private func each(_ request: BrokerRequest, _ merge: PartitionPlan.Merge, awaitsFirst: Bool = false) -> PartitionPlan
  {
    each(merge, awaitsFirst: awaitsFirst) { _ in request }
  }

  func each(
    _ merge: PartitionPlan.Merge, awaitsFirst: Bool = false, _ request: (Int) -> BrokerRequest
  ) -> PartitionPlan {
    PartitionPlan((0..<count).map { .init(partition: $0, request: request($0)) }, merge, awaitsFirst: awaitsFirst)
  }

  private func unread(by user: String, _ channels: [ChannelName]) -> PartitionPlan {
    var groups: [[ChannelName]] = Array(repeating: [], count: count)
    let places = channels.map { partition(of: $0) }
    for (channel, place) in zip(channels, places) { groups[place].append(channel) }
    // Without any channels somebody asks whether the server answers at all.
    let asked = channels.isEmpty ? [Self.home] : groups.indices.filter { !groups[$0].isEmpty }
    let parts = asked.map { PartitionPlan.Part(partition: $0, request: .unread(user: user, groups[$0])) }
    let order = places.map { place in asked.firstIndex(of: place) ?? 0 }
    return PartitionPlan(parts, .unread(order))
  }

  /// A page of an export is of one partition: home's pages come first. The cursor of a later one is its number, a dot,
  /// and the partition's own cursor.
  private func page(of user: String, after cursor: String) throws(ClientError) -> PartitionPlan {
    var (partition, rest) = (Self.home, cursor[...])
    if !cursor.isEmpty {
      guard let dot = cursor.firstIndex(of: "."), let number = Int(cursor[..<dot]), (0..<count).contains(number) else {
        throw .badRequest.saying("this is no cursor of an export; send the one of the page before, or none")
      }
      (partition, rest) = (number, cursor[cursor.index(after: dot)...])
    }
    let request = BrokerRequest.user(.export(user: user, cursor: String(rest)))
    return PartitionPlan([.init(partition: partition, request: request)], .page(partition, of: count))
  }
}

extension PartitionPlan {
  /// What the answers come to, which stand in the order of the parts.
  public func merged(_ answers: [BrokerResponse]) -> BrokerResponse {
    if merge == .any { return Self.any(answers) }
    // What giving back comes to does not matter.
    if merge == .send { return answers.prefix(2).last ?? .failed(.internalError) }
    for answer in answers { if case .failed = answer { return answer } }
    guard let first = answers.first else { return .failed(.internalError) }
    switch merge {
    case .first, .any, .send: return first
    case .last, .report: return answers.last ?? first
    case .pictureKey: return Self.pictureKey(answers)
    case .search(let limit): return Self.search(answers, limit: limit)
    case .gone: return Self.gone(answers)
    case .channels: return Self.channels(answers)
    case .info: return Self.info(answers, first)
    case .unread(let order): return Self.unread(answers, order)
    case .deletion: return Self.deletion(answers)
    case .kept: return Self.kept(answers)
    case .page(let partition, let count): return Self.page(first, partition, of: count)
    case .webhooks: return Self.webhooks(answers, parts.map(\.partition))
    }
  }

  /// Channels that one answer names, as many as a broker names (docs/PROTOCOL.md).
  static let mostChannels = 10_000

  private static func channels(_ answers: [BrokerResponse]) -> BrokerResponse {
    var names: [ChannelName] = []
    for case .channels(let some) in answers { names += some }
    return .channels(Array(names.sorted().prefix(mostChannels)))
  }

  private static func info(_ answers: [BrokerResponse], _ first: BrokerResponse) -> BrokerResponse {
    guard case .info(var whole) = first else { return first }
    for case .info(let part) in answers.dropFirst() {
      whole.broker.channels += part.broker.channels
      whole.broker.publications += part.broker.publications
    }
    return .info(whole)
  }

  private static func unread(_ answers: [BrokerResponse], _ order: [Int]) -> BrokerResponse {
    var counts = answers.map { answer in
      if case .unread(let some) = answer { some[...] } else { [UInt64]()[...] }
    }
    return .unread(order.map { counts[$0].popFirst() ?? 0 })
  }
}
