internal import NIOCore
public import Wire

/// What is asked of a channel, or of the server, with a subscription or without one. A call waits for the connection
/// and for the answer, together no longer than ``Options/timeout``; where there is a subscription to its channel, it
/// waits for that too. What has a key is kept instead until it is answered: see
/// ``publish(_:to:idempotencyKey:)-(_,_,_)``.
extension RealtimeClient {
  // MARK: Publishing

  /// Publishes bytes.
  ///
  /// With a key the publication may be made at any time, also before ``connect()``. It is kept in memory, sent when
  /// there is a connection, after those of the same channel before it, and sent again until it is answered: the server
  /// publishes it once. Bounded by ``Options/maximumQueuedCalls``, ``Options/maximumQueuedBytes`` and
  /// ``Options/maximumQueuedTime``. Without one it is sent once, and where its answer is lost it fails.
  ///
  /// - Parameters:
  ///   - data: JSON, unless the channel's namespace takes any bytes.
  ///   - idempotencyKey: drawn anew for each publication, such as ``newKey()``.
  public func publish(
    _ data: [UInt8], to channel: String, idempotencyKey: String? = nil
  ) async throws(RealtimeError) {
    var publish = ClientCommand.Publish()
    publish.channel = channel
    publish.data = data
    publish.idempotencyKey = idempotencyKey
    var delivery = Delivery.now
    if let idempotencyKey {
      delivery = .kept("publish:\(channel)", .whileKnown(Self.keyLifetime), key: idempotencyKey)
    }
    guard case .publish = try await call(.publish(publish), delivery, after: channel) else { throw .unexpectedReply }
  }

  /// Publishes a value as JSON. See ``publish(_:to:idempotencyKey:)-(_,_,_)``.
  public func publish(
    _ value: some Encodable & Sendable, to channel: String, idempotencyKey: String? = nil
  ) async throws(RealtimeError) {
    try await publish(try JSON.encode(value), to: channel, idempotencyKey: idempotencyKey)
  }

  /// Changes a publication of one's own, where the namespace allows it.
  ///
  /// - Returns: the offset of the change.
  @discardableResult
  public func edit(
    _ offset: UInt64, of channel: String, to value: some Encodable & Sendable
  ) async throws(RealtimeError) -> UInt64 {
    let change = Change(channel: channel, offset: offset, data: value)
    return try await rpc("publication.edit", change, as: Offset.self, after: channel).offset ?? 0
  }

  /// Removes a publication of one's own, where the namespace allows it.
  ///
  /// - Returns: the offset of the change.
  @discardableResult
  public func delete(_ offset: UInt64, of channel: String) async throws(RealtimeError) -> UInt64 {
    let change = Change<String>(channel: channel, offset: offset, data: nil)
    return try await rpc("publication.delete", change, as: Offset.self, after: channel).offset ?? 0
  }

  // MARK: Reading

  /// - Parameters:
  ///   - limit: most publications; 0 asks for the position alone, a negative one for as many as the server allows.
  ///   - since: exclusive.
  ///   - reverse: newest first.
  public func history(
    of channel: String, limit: Int32 = 0, since: StreamPosition? = nil, reverse: Bool = false
  ) async throws(RealtimeError) -> HistoryPage {
    var history = ClientCommand.History()
    history.channel = channel
    history.limit = limit
    history.since = since
    history.reverse = reverse
    guard case .history(_, let result) = try await call(.history(history), after: channel) else {
      throw .unexpectedReply
    }
    return HistoryPage(
      position: StreamPosition(epoch: result.epoch, offset: result.offset), publications: result.publications)
  }

  /// Who is on the channel, as many as one answer names; ``presenceStats(on:)`` counts all of them.
  public func presence(on channel: String) async throws(RealtimeError) -> PresenceList {
    guard case .presence(_, let members, let isPartial) = try await call(.presence(channel: channel), after: channel)
    else { throw .unexpectedReply }
    let clients = Dictionary(members.map { ($0.client, $0) }, uniquingKeysWith: { _, last in last })
    return PresenceList(clients: clients, isPartial: isPartial)
  }

  /// How many are on the channel.
  public func presenceStats(on channel: String) async throws(RealtimeError) -> PresenceStats {
    let reply = try await call(.presenceStats(channel: channel), after: channel)
    guard case .presenceStats(_, let clients, let users) = reply else { throw .unexpectedReply }
    return PresenceStats(clients: clients, users: users)
  }

  // MARK: Maps without a subscription

  /// One entry of a map; nil where there is none.
  public func mapEntry<Value: Decodable & Sendable>(
    _ key: String, of channel: String, as type: Value.Type = Value.self
  ) async throws(RealtimeError) -> Value? {
    let page = try await rpc("map.get", Key(channel: channel, key: key), as: Page<Value>.self)
    return page.entries.first?.data
  }

  func setEntry(
    _ key: String, of channel: String, to value: some Encodable & Sendable, score: Int64?
  ) async throws(RealtimeError) {
    let entry = Entry(channel: channel, key: key, data: value, score: score)
    _ = try await rpc("map.set", entry, as: Offset.self, after: channel)
  }

  func removeEntry(_ key: String, of channel: String) async throws(RealtimeError) {
    _ = try await rpc("map.remove", Key(channel: channel, key: key), as: Offset.self, after: channel)
  }

  // MARK: Receipts

  /// On a channel of receipts: says up to which offset something has arrived on this device.
  public func delivered(_ offset: UInt64, on channel: String) async throws(RealtimeError) {
    _ = try await rpc("receipt.delivered", Receipt(channel: channel, offset: offset), as: Nothing.self)
  }

  /// On a channel of receipts: says up to which offset this user has seen.
  public func read(_ offset: UInt64, on channel: String) async throws(RealtimeError) {
    _ = try await rpc("receipt.read", Receipt(channel: channel, offset: offset), as: Nothing.self)
  }

  /// How much of each channel of receipts this user has not seen.
  public func unread(on channels: [String]) async throws(RealtimeError) -> [String: Int] {
    try await rpc("receipt.unread", ["channels": channels], as: [String: Int].self)
  }

  // MARK: Methods

  /// Calls a method of the server or of a backend: bytes of JSON, and the answer's.
  public func rpc(_ method: String, _ data: [UInt8] = []) async throws(RealtimeError) -> [UInt8] {
    guard case .rpc(_, let result) = try await call(.rpc(method: method, data: data)) else { throw .unexpectedReply }
    return result
  }

  /// Calls a method of the server or of a backend.
  ///
  /// - Throws: ``RealtimeError/undecodable(_:)`` where the answer is of another form. What was called was done then.
  public func rpc<Answer: Decodable & Sendable>(
    _ method: String, _ data: some Encodable & Sendable, as type: Answer.Type = Answer.self
  ) async throws(RealtimeError) -> Answer {
    try await rpc(method, data, as: type, .now)
  }

  func rpc<Answer: Decodable & Sendable>(
    _ method: String, _ data: some Encodable & Sendable, as type: Answer.Type, _ delivery: Delivery = .now,
    after channel: String? = nil
  ) async throws(RealtimeError) -> Answer {
    let reply = try await call(.rpc(method: method, data: try JSON.encode(data)), delivery, after: channel)
    guard case .rpc(_, let result) = reply else { throw .unexpectedReply }
    return try JSON.decode(type, result)
  }
}

// MARK: How a call is made

/// What became of a call.
enum CallAnswer: Sendable {
  case reply(ClientReply)
  /// What the call has said stands in its channel at this offset; its own answer was lost, or comes later.
  case witnessed(offset: UInt64)
}

/// What becomes of a call while there is no connection.
enum Delivery {
  /// It waits as long as for an answer, and is sent once.
  case now
  /// It is kept in a lane, in order.
  case kept(_ lane: String, CallOptions.Repetition, key: String? = nil)
}

extension RealtimeClient {
  /// How long the server knows a key.
  static let keyLifetime = Duration.seconds(300)

  func call(
    _ body: ClientCommand.Body, _ delivery: Delivery = .now, after channel: String? = nil
  ) async throws(RealtimeError) -> ClientReply {
    guard case .reply(let reply) = try await answer(to: body, delivery, after: channel) else { return .publish(id: 0) }
    return reply
  }

  func answer(
    to body: ClientCommand.Body, _ delivery: Delivery, after channel: String?
  ) async throws(RealtimeError) -> CallAnswer {
    let bytes = CommandEncoder.encode(ClientCommand(id: .max, body: body)).count
    if bytes > options.maximumCommandBytes {
      throw .commandTooLarge(bytes: bytes, limit: options.maximumCommandBytes)
    }
    var callOptions = CallOptions()
    callOptions.after = channel.flatMap { try? ChannelName($0, limit: .max) }
    if case .kept(let lane, let repetition, let key) = delivery {
      callOptions.keep = .init(lane: lane, repetition: repetition, key: key, bytes: bytes)
    }
    let id = makeID()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<CallAnswer, RealtimeError>, Never>) in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        calls[id] = continuation
        feed(.call(id, body, callOptions))
      }
    } onCancel: {
      eventLoop.execute { [weak self] in self?.assumeIsolated { $0.feed(.cancel(id)) } }
    }
    return try result.get()
  }
}

// MARK: Shapes of calls

/// An answer of which nothing is read.
struct Nothing: Codable, Sendable {}

private struct Change<Value: Encodable & Sendable>: Encodable, Sendable {
  var channel: String
  var offset: UInt64
  var data: Value?
}

private struct Offset: Decodable, Sendable { var offset: UInt64? }

private struct Key: Encodable, Sendable {
  var channel: String
  var key: String
}

private struct Entry<Value: Encodable & Sendable>: Encodable, Sendable {
  var channel: String
  var key: String
  var data: Value
  var score: Int64?
}

private struct Receipt: Encodable, Sendable {
  var channel: String
  var offset: UInt64
}

private struct Page<Value: Decodable & Sendable>: Decodable, Sendable {
  struct Item: Decodable, Sendable { var data: Value }

  var entries: [Item]
}

// MARK: Answers

/// Who is on a channel.
public struct PresenceList: Sendable, Equatable {
  /// The members, by the identifier of their connection.
  public var clients: [String: ClientInfo]
  /// There are more members than the answer names: show the number from ``PresenceStats``, and these as some of them.
  public var isPartial: Bool

  /// For tests and previews of your own.
  public init(clients: [String: ClientInfo], isPartial: Bool = false) {
    self.clients = clients
    self.isPartial = isPartial
  }
}

/// How many are on a channel.
public struct PresenceStats: Sendable, Equatable {
  /// Connections.
  public var clients: UInt32
  /// Different users; one may have several connections.
  public var users: UInt32

  /// For tests and previews of your own.
  public init(clients: UInt32, users: UInt32) {
    self.clients = clients
    self.users = users
  }
}
