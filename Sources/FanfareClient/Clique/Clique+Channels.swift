/// Channels: of maps the subscription that there is, or a new one.
extension Clique {
  /// Conversations and requests; the key is the conversation.
  public func list() async throws(RealtimeError) -> MapSubscription<Conversation> { try await own("list") }
  /// People whom one crossed paths with, seen last first; the key is the user.
  public func crossed() async throws(RealtimeError) -> MapSubscription<Crossing> { try await own("crossings") }
  /// People whom one blocks, blocked last first; the key is the user.
  public func blocked() async throws(RealtimeError) -> MapSubscription<Blocked> { try await own("blocked") }
  /// What one has begun to write; the key is the conversation.
  public func drafts() async throws(RealtimeError) -> MapSubscription<Draft> { try await own("drafts") }
  /// One's own reports; the key is the report.
  public func reports() async throws(RealtimeError) -> MapSubscription<Report> { try await own("reports") }
  /// What is unread; the key is `all`.
  public func badge() async throws(RealtimeError) -> MapSubscription<Totals> { try await own("totals", .key) }
  /// One's own profile; the key is `profile`.
  public func profile() async throws(RealtimeError) -> MapSubscription<Profile> { try await own("profile") }
  /// The profiles of those whom one may see; the key is the user.
  public func people() async throws(RealtimeError) -> MapSubscription<Profile> { try await own("people", .key) }

  /// What people say to messages; the key is `12/bob`.
  public func reactions(_ conversation: String) async throws(RealtimeError) -> MapSubscription<Reaction> {
    try await map("reactions", of: conversation, .descending)
  }

  /// How far members have read; the key is the user.
  public func receipts(_ conversation: String) async throws(RealtimeError) -> MapSubscription<Receipt> {
    try await map("receipts", of: conversation, .key)
  }

  /// Who types; the key is the user.
  public func typists(_ conversation: String) async throws(RealtimeError) -> MapSubscription<Typing> {
    try await map("typing", of: conversation, .key)
  }

  /// Messages. What has disappeared by this device's clock when the reader comes to it is left out.
  ///
  /// - Parameter since: the position of the last message that the device keeps; nil: what comes from now on. What was
  ///   said before is in ``RealtimeClient/history(of:limit:since:reverse:)``.
  public func chat(
    _ conversation: String, since: StreamPosition? = nil
  ) async throws(RealtimeError) -> TypedSubscription<Message> {
    let options = SubscriptionOptions(since: since, recoverable: true, joinLeave: true)
    let subscription = try await client.subscribe("clique.chat:\(conversation)", options)
    return TypedSubscription(subscription) { $0.isOver(at: Clock.milliseconds) }
  }

  private func own<Value: Decodable & Sendable>(
    _ kind: String, _ order: MapOrder = .descending
  ) async throws(RealtimeError) -> MapSubscription<Value> {
    guard let user = await client.user else { throw .unknownUser }
    return try await map(kind, of: user, order)
  }

  private func map<Value: Decodable & Sendable>(
    _ kind: String, of name: String, _ order: MapOrder
  ) async throws(RealtimeError) -> MapSubscription<Value> {
    try await client.sharedMap("clique.\(kind):\(name)", of: Value.self, MapOptions(order: order))
  }
}
