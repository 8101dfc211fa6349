/// Chat between people who crossed paths: the methods, channels and pictures of docs/CLIQUE.md, which says what each
/// does and refuses. Get it from ``RealtimeClient/clique``.
///
/// What changes something is kept while there is no connection, in order, until it is answered; so do not wait for it
/// where a person waits. A message, a new group and what says how things are to be (``block(_:)``, ``read(_:upTo:)``
/// and their like) are sent again where an answer is lost, the others fail then and say that they may have been done.
/// What means this moment alone (``typing(in:)``, ``enter(_:token:)``) is not kept.
public struct Clique: Sendable {
  /// Pictures of messages and profiles: upload first, then send by the id.
  public let pictures: Pictures
  let client: RealtimeClient

  init(_ client: RealtimeClient) {
    self.client = client
    pictures = Pictures(client, client.options.cliquePictures)
  }

  /// Groups of people who each know the founder.
  public var group: Group { Group(clique: self) }

  // MARK: Messages

  /// Sends a message, or makes a request. It is kept over lost connections and sent once, after those before it. Where
  /// the conversation's ``chat(_:since:)`` is subscribed to, it recovers first: what stands there with the key is not
  /// sent again.
  ///
  /// - Parameters:
  ///   - text: nil beside a picture.
  ///   - reply: the offset of the message that it replies to.
  ///   - mentions: members of the conversation.
  ///   - key: draw one when the message is written, and keep it with the message.
  @discardableResult
  public func send(
    _ text: String?, to who: Who, picture: NewPicture? = nil, reply: UInt64? = nil, mentions: [String]? = nil,
    key: String = RealtimeClient.newKey()
  ) async throws(RealtimeError) -> Sent {
    let conversation = await conversation(of: who)
    var message = NewMessage(text: text, picture: picture, reply: reply, mentions: mentions, key: key)
    switch who {
    case .person(let person): message.to = person
    case .conversation(let conversation): message.conversation = conversation
    }
    let answer = try await client.answer(
      to: .rpc(method: "clique.send", data: try JSON.encode(message)),
      .kept(Lane.messages, .whileKnown(RealtimeClient.keyLifetime), key: key),
      after: conversation.map { "clique.chat:\($0)" })
    switch answer {
    case .witnessed(let offset): return Sent(conversation: conversation ?? "", offset: offset)
    case .reply(.rpc(_, let data)): return try JSON.decode(Sent.self, data)
    case .reply: throw .unexpectedReply
    }
  }

  /// The conversation with somebody, where the list is subscribed to and has one.
  private func conversation(of who: Who) async -> String? {
    switch who {
    case .conversation(let conversation): return conversation
    case .person(let person):
      guard let user = await client.user else { return nil }
      let list = await client.heldMap("clique.list:\(user)", of: Conversation.self)
      return list?.entries.first { $0.value.with == person }?.key
    }
  }

  /// Changes the text of a message of one's own.
  public func edit(_ conversation: String, _ offset: UInt64, to text: String) async throws(RealtimeError) {
    try await client.edit(offset, of: "clique.chat:\(conversation)", to: ["text": text])
  }

  /// Removes a message of one's own, for everybody.
  public func remove(_ conversation: String, _ offset: UInt64) async throws(RealtimeError) {
    try await client.delete(offset, of: "clique.chat:\(conversation)")
  }

  /// Says what one thinks of a message, with one sign; "" takes it back.
  public func react(to offset: UInt64, in conversation: String, with reaction: String) async throws(RealtimeError) {
    let data = Arguments(conversation: conversation, offset: offset, reaction: reaction)
    try await tell("react", data, .kept(Lane.marks, .always))
  }

  // MARK: What stands between two people

  /// Accepts a request: its messages become the conversation's first.
  @discardableResult
  public func accept(_ who: Who) async throws(RealtimeError) -> String {
    try await call("accept", Arguments(who), as: InConversation.self, .kept(Lane.messages, .always)).conversation
  }

  /// Declines a request. The other is not told.
  @discardableResult
  public func decline(_ who: Who) async throws(RealtimeError) -> String {
    try await call("decline", Arguments(who), as: InConversation.self, .kept(Lane.messages, .never)).conversation
  }

  /// Leaves a conversation, which tells the other; or takes a request back, or clears away what has ended.
  @discardableResult
  public func disconnect(_ who: Who) async throws(RealtimeError) -> String {
    try await call("disconnect", Arguments(who), as: InConversation.self, .kept(Lane.messages, .never)).conversation
  }

  /// Blocks a person. To them it looks like silence.
  public func block(_ who: Who) async throws(RealtimeError) {
    try await tell("block", Arguments(who), .kept(Lane.people, .always))
  }

  /// Ends a block.
  public func unblock(_ who: Who) async throws(RealtimeError) {
    try await tell("unblock", Arguments(who), .kept(Lane.people, .always))
  }

  /// Tells the moderators of a person, or of one message of theirs.
  ///
  /// - Parameter conversation: in a group, besides the person, where no message is named.
  /// - Returns: the report's id.
  @discardableResult
  public func report(
    _ who: Who, for reason: ReportReason, text: String? = nil, offset: UInt64? = nil, in conversation: String? = nil
  ) async throws(RealtimeError) -> String {
    var data = Arguments(who)
    if let conversation { data.conversation = conversation }
    (data.reason, data.text, data.offset) = (reason, text, offset)
    return try await call("report", data, as: Reported.self, .kept(Lane.people, .always)).report
  }

  // MARK: One's own side of a conversation

  /// Says up to which message this person has seen; of a request, how many of its messages.
  public func read(_ conversation: String, upTo offset: UInt64) async throws(RealtimeError) {
    try await tell("read", Arguments(conversation: conversation, offset: offset), .kept(Lane.marks, .always))
  }

  /// Says up to which message has reached this device; of a request, how many of its messages.
  public func delivered(_ conversation: String, upTo offset: UInt64) async throws(RealtimeError) {
    try await tell("delivered", Arguments(conversation: conversation, offset: offset), .kept(Lane.marks, .always))
  }

  /// Say it every three seconds while somebody types.
  public func typing(in conversation: String) async throws(RealtimeError) {
    try await tell("typing", Arguments(conversation: conversation), .now)
  }

  /// Mutes, archives and pins. What is nil stays.
  public func keep(
    _ conversation: String, muted: Bool? = nil, archived: Bool? = nil, pinned: Bool? = nil
  ) async throws(RealtimeError) {
    var data = Arguments(conversation: conversation)
    (data.muted, data.archived, data.pinned) = (muted, archived, pinned)
    try await tell("keep", data, .kept(Lane.marks, .always))
  }

  /// Keeps what one has begun to write, for all of one's devices; "" removes it.
  public func draft(_ conversation: String, _ text: String, reply: UInt64? = nil) async throws(RealtimeError) {
    var data = Arguments(conversation: conversation)
    (data.text, data.reply) = (text, reply)
    try await tell("draft", data, .kept(Lane.marks, .always))
  }

  /// After how many milliseconds messages disappear, 0 for never: proposed to one person, decided for a group.
  public func disappear(_ conversation: String, after milliseconds: Int64) async throws(RealtimeError) {
    var data = Arguments(conversation: conversation)
    data.after = milliseconds
    try await tell("disappear", data, .kept(Lane.messages, .never))
  }

  // MARK: Asking

  /// What is unread.
  public func totals() async throws(RealtimeError) -> Totals { try await call("totals", Nothing(), as: Totals.self) }

  /// Messages of one's own conversations that hold all words, newest first.
  public func search(
    _ text: String, by person: String? = nil, in conversation: String? = nil, limit: Int? = nil
  ) async throws(RealtimeError) -> [FoundMessage] {
    var data = Arguments(conversation: conversation)
    (data.text, data.person, data.limit) = (text, person, limit)
    return try await call("search", data, as: Found.self).messages
  }

  /// Any method of Clique by its name behind `clique.`.
  public func call<Answer: Decodable & Sendable>(
    _ method: String, _ data: some Encodable & Sendable, as type: Answer.Type = Answer.self
  ) async throws(RealtimeError) -> Answer {
    try await client.rpc("clique.\(method)", data, as: type)
  }

  // MARK: Places

  /// Says that this person has come to a place, or is still there.
  ///
  /// - Parameter token: where a backend attests places.
  /// - Returns: false for the invisible.
  @discardableResult
  public func enter(_ place: String, token: String? = nil) async throws(RealtimeError) -> Bool {
    try await call("enter", ["place": place, "token": token].compactMapValues(\.self), as: Visible.self).visible
  }

  /// Says that this person has left a place.
  public func leave(_ place: String) async throws(RealtimeError) { try await tell("leave", ["place": place], .now) }

  /// Whether this person is seen in places, and sees others there.
  ///
  /// - Returns: whether they are visible now.
  @discardableResult
  public func invisible(_ on: Bool) async throws(RealtimeError) -> Bool {
    try await call("invisible", ["on": on], as: Visible.self, .kept(Lane.people, .always)).visible
  }

  /// People whom one crossed paths with.
  public func crossings(
    order: CrossingOrder = .recent, limit: Int? = nil
  ) async throws(RealtimeError) -> [Crossing] {
    var data = Arguments()
    (data.order, data.limit) = (order, limit)
    return try await call("crossings", data, as: People<Crossing>.self).people
  }

  // MARK: Profiles

  /// Changes one's own profile.
  ///
  /// - Returns: the profile as it is then.
  @discardableResult
  public func setProfile(_ change: ProfileChange) async throws(RealtimeError) -> Profile {
    try await call("profile.set", change, as: Profile.self, .kept(Lane.people, .always))
  }

  /// Those of the people whose profiles one may see, 100 at most.
  public func profiles(_ people: [String]) async throws(RealtimeError) -> [Profile] {
    try await call("profiles", ["people": people], as: People<Profile>.self).people
  }

  /// People whom one may see, by the beginnings of words of their names.
  public func findPeople(_ text: String, limit: Int? = nil) async throws(RealtimeError) -> [Profile] {
    var data = Arguments()
    (data.text, data.limit) = (text, limit)
    return try await call("people", data, as: People<Profile>.self).people
  }

  // MARK: Calls

  func call<Answer: Decodable & Sendable>(
    _ method: String, _ data: some Encodable & Sendable, as type: Answer.Type, _ delivery: Delivery
  ) async throws(RealtimeError) -> Answer {
    try await client.rpc("clique.\(method)", data, as: type, delivery)
  }

  func tell(_ method: String, _ data: some Encodable & Sendable, _ delivery: Delivery) async throws(RealtimeError) {
    _ = try await call(method, data, as: Nothing.self, delivery)
  }

  /// Which calls go one after another. Marks do not wait for messages, nor a block for either.
  enum Lane {
    static let messages = "clique"
    static let marks = "clique.marks"
    static let people = "clique.people"
  }
}

extension RealtimeClient {
  /// Chat between people who crossed paths.
  public nonisolated var clique: Clique { Clique(self) }
}

// MARK: Shapes of calls

private struct NewMessage: Encodable, Sendable {
  var to: String?
  var conversation: String?
  var text: String?
  var picture: Clique.NewPicture?
  var reply: UInt64?
  var mentions: [String]?
  var key: String
}

/// Whatever methods take; what is nil is left out.
struct Arguments: Encodable, Sendable {
  var person: String?
  var conversation: String?
  var offset: UInt64?
  var text: String?
  var reply: UInt64?
  var reaction: String?
  var reason: Clique.ReportReason?
  var muted, archived, pinned: Bool?
  var after: Int64?
  var order: Clique.CrossingOrder?
  var limit: Int?

  init(conversation: String? = nil, offset: UInt64? = nil, reaction: String? = nil) {
    self.conversation = conversation
    self.offset = offset
    self.reaction = reaction
  }

  init(_ who: Clique.Who) {
    switch who {
    case .person(let person): self.person = person
    case .conversation(let conversation): self.conversation = conversation
    }
  }
}

struct InConversation: Decodable, Sendable { var conversation: String }

private struct Visible: Decodable, Sendable { var visible: Bool }

private struct Reported: Decodable, Sendable { var report: String }

private struct Found: Decodable, Sendable { var messages: [Clique.FoundMessage] }

private struct People<Person: Decodable & Sendable>: Decodable, Sendable { var people: [Person] }
