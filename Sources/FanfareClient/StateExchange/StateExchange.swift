/// Pictures that neither of two people sees before both have sent: the methods, channels and pictures of the app State,
/// as docs/STATE.md says. Get it from ``RealtimeClient/state``.
///
/// All but ``begin(to:)``, which needs a connection because the time to record is the server's, is kept while there is
/// none, and sent again where an answer is lost.
public struct StateExchange: Sendable {
  /// Pictures: upload first, then send by the ids.
  public let pictures: Pictures
  let client: RealtimeClient

  init(_ client: RealtimeClient) {
    self.client = client
    pictures = Pictures(client, client.options.statePictures)
  }

  /// Opens the recorder. To call it again before the deadline gives no more time.
  public func begin(to person: String) async throws(RealtimeError) -> Recording {
    try await client.rpc("state.begin", ["to": person], as: Recording.self)
  }

  /// Sends two pictures that were uploaded. The server takes them once.
  ///
  /// - Parameters:
  ///   - caption: up to 280 characters.
  ///   - replyLimit: how long the other may take to record, in milliseconds; nil: as the other has set.
  public func send(
    to person: String, front: String, rear: String, caption: String? = nil, replyLimit: Int64? = nil,
    key: String = RealtimeClient.newKey()
  ) async throws(RealtimeError) -> Sent {
    let data = NewState(
      to: person, front: front, rear: rear, caption: caption, replyLimit: replyLimit, key: key)
    let delivery = Delivery.kept(lane(person), .whileKnown(.seconds(24 * 3600)), key: key)
    return try await client.rpc("state.send", data, as: Sent.self, delivery)
  }

  /// Gives up the recorder that is open for somebody, and discards pictures that were uploaded for it.
  public func cancel(to person: String, pictures: [String] = []) async throws(RealtimeError) {
    try await tell("cancel", Cancelled(to: person, pictures: pictures), person)
  }

  /// Discards pictures that were not sent. Use their ids for nothing else.
  public func discard(_ pictures: [String]) async throws(RealtimeError) {
    try await tell("discard", ["pictures": pictures], "")
  }

  /// Says what one thinks of what was revealed, with one character; nil takes it back.
  public func react(to person: String, with reaction: String?) async throws(RealtimeError) {
    try await tell("react", ["with": person, "reaction": reaction].compactMapValues(\.self), person)
  }

  /// What was revealed was looked at; or an expired thread is put away.
  public func seen(_ person: String) async throws(RealtimeError) { try await tell("seen", ["with": person], person) }

  /// This device has what is new in the thread.
  public func delivered(_ person: String) async throws(RealtimeError) {
    try await tell("delivered", ["with": person], person)
  }

  /// One's own settings.
  public func settings() async throws(RealtimeError) -> Settings {
    try await client.rpc("state.settings", Nothing(), as: Settings.self)
  }

  /// Sets how long one takes to record, in milliseconds; 0 gives it back to the server.
  @discardableResult
  public func setLimit(_ milliseconds: Int64) async throws(RealtimeError) -> Settings {
    try await client.rpc("state.settings", ["limit": milliseconds], as: Settings.self, .kept("state", .always))
  }

  /// Blocks a person. What they send goes on looking sent, and expires.
  public func block(_ person: String) async throws(RealtimeError) { try await tell("block", ["user": person], person) }

  /// Ends a block.
  public func unblock(_ person: String) async throws(RealtimeError) {
    try await tell("unblock", ["user": person], person)
  }

  /// Any method of State by its name behind `state.`.
  public func call<Answer: Decodable & Sendable>(
    _ method: String, _ data: some Encodable & Sendable, as type: Answer.Type = Answer.self
  ) async throws(RealtimeError) -> Answer {
    try await client.rpc("state.\(method)", data, as: type)
  }

  // MARK: Channels

  /// Threads, newest first; the key is the other's id. The subscription that there is, or a new one.
  public func threads() async throws(RealtimeError) -> MapSubscription<Thread> {
    guard let user = await client.user else { throw .unknownUser }
    return try await client.sharedMap("state.threads:\(user)", of: Thread.self, MapOptions(order: .descending))
  }

  /// What happens in threads.
  ///
  /// - Parameter since: the position of the last event that the device has dealt with.
  public func events(since: StreamPosition? = nil) async throws(RealtimeError) -> TypedSubscription<Event> {
    guard let user = await client.user else { throw .unknownUser }
    let options = SubscriptionOptions(since: since, recoverable: true)
    return TypedSubscription(try await client.subscribe("state.events:\(user)", options))
  }

  // MARK: Calls

  /// What is about one person goes one after another.
  private func lane(_ person: String) -> String { "state:\(person)" }

  private func tell(
    _ method: String, _ data: some Encodable & Sendable, _ person: String
  ) async throws(RealtimeError) {
    _ = try await client.rpc("state.\(method)", data, as: Nothing.self, .kept(lane(person), .always))
  }
}

extension RealtimeClient {
  /// Pictures that neither of two people sees before both have sent.
  public nonisolated var state: StateExchange { StateExchange(self) }
}

private struct NewState: Encodable, Sendable {
  var to, front, rear: String
  var caption: String?
  var replyLimit: Int64?
  var key: String

  enum CodingKeys: String, CodingKey {
    case to, front, rear, caption
    case replyLimit = "reply_limit"
    case key
  }
}

private struct Cancelled: Encodable, Sendable {
  var to: String
  var pictures: [String]
}
