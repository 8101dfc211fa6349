import Apps
import Wire

/// The arguments of `push_notify`: people, and what they are to be notified of. Checked where they come in, at both
/// doors, and read once more where they are carried out.
struct NotifyOrder: Equatable {
  static let name = "push_notify"

  static let mostUsers = 1000
  static let mostTitleBytes = 1024
  static let mostBodyBytes = 4096
  /// As JSON. Services take half as much again, of which topic and subject need some.
  static let mostDataBytes = 1024

  var users: [String]
  var topic: String
  /// The channel, or the collapse key; nil: it has a subject of its own.
  var subject: String?
  var content: PushIntent.Content

  /// The topic of what names none.
  static let generalTopic = "general"

  /// - Throws: error 107 with a sentence.
  init(_ fields: JSONArguments) throws(ClientError) {
    users = try Self.users(fields)
    topic = try Self.topic(fields)
    guard let title = try Self.text("title", fields, Self.mostTitleBytes), !title.isEmpty else {
      throw .badRequest.saying("push_notify needs the title")
    }
    content = PushIntent.Content(title: title, body: try Self.text("body", fields, Self.mostBodyBytes) ?? "")
    content.data = try fields.stringMap("data") ?? [:]
    try Self.check(content.data)
    content.link = try fields.string("link")
    if let link = content.link, !PushForm.isLink(link) {
      throw .badRequest.saying(
        "link is no address of at most \(PushForm.linkBytes) bytes; write one such as https://example.com/orders/7")
    }
    subject = try Self.subject(fields)
    content.offset = try fields.number("offset")
    if content.offset != nil, fields["channel"] == nil {
      throw .badRequest.saying("an offset needs the channel on which it stands")
    }
  }

  private static func check(_ data: [String: String]) throws(ClientError) {
    for name in data.keys.sorted() {
      guard PushForm.isName(name) else {
        throw .badRequest.saying("a name in data is not made of 1 to 64 letters, digits, _ and -")
      }
      if PushForm.isReserved(name) || name == "topic" || name == "subject" {
        throw .badRequest.saying("the name \(name) in data is reserved; choose another")
      }
    }
    let bytes = PushForm.bytes(of: data)
    guard bytes <= mostDataBytes else {
      throw .badRequest.saying("data has \(bytes) bytes as JSON, and \(mostDataBytes) are allowed; send less")
    }
  }

  private static func users(_ fields: JSONArguments) throws(ClientError) -> [String] {
    let named = try fields.strings("users") ?? []
    guard (1...mostUsers).contains(named.count) else {
      throw .badRequest.saying("push_notify takes 1 to \(mostUsers) users, and these are \(named.count)")
    }
    var known: Set<IdentifierKey> = []
    var users: [String] = []
    for user in named {
      guard (1...PushCommand.maximumUserBytes).contains(user.utf8.count) else {
        throw .badRequest.saying("a user has 1 to \(PushCommand.maximumUserBytes) bytes")
      }
      if known.insert(IdentifierKey(user)).inserted { users.append(user) }
    }
    return users
  }

  private static func topic(_ fields: JSONArguments) throws(ClientError) -> String {
    guard let topic = try fields.string("topic") else { return generalTopic }
    guard PushTopics.isValid(topic), topic.utf8.last != UInt8(ascii: "*") else {
      throw .badRequest.saying(
        "a topic has 1 to \(PushTopics.mostBytes) letters, digits, '.', '-' and '_', for example orders.shipped")
    }
    let isServers = ChannelTopic.isOne(topic) || AppChannels.contains(topic) || topic.hasPrefix("push.")
    if isServers { throw .badRequest.saying("the topic \(topic) is one of the server's own; choose another name") }
    return topic
  }

  private static func subject(_ fields: JSONArguments) throws(ClientError) -> String? {
    let key = try text("collapse_key", fields, PushCommand.maximumSubjectBytes)
    let channel = try text("channel", fields, PushCommand.maximumSubjectBytes)
    guard let subject = channel ?? key else { return nil }
    if channel != nil, key != nil { throw .badRequest.saying("give a channel or a collapse_key, not both") }
    if subject.isEmpty { throw .badRequest.saying("channel and collapse_key must not be empty; leave them out") }
    if let channel {
      do { _ = try ChannelName(channel) } catch { throw .badRequest.saying("\(error)") }
    }
    if AppChannels.contains(subject) {
      throw .badRequest.saying("\(subject) is a channel of an app, which notifies people itself")
    }
    return subject
  }

  private static func text(_ name: String, _ fields: JSONArguments, _ most: Int) throws(ClientError) -> String? {
    guard let text = try fields.string(name) else { return nil }
    guard text.utf8.count <= most else {
      throw .badRequest.saying("\(name) has \(text.utf8.count) bytes, and \(most) are allowed; shorten it")
    }
    return text
  }

  // MARK: As a request

  private static let members = [
    "users", "title", "body", "data", "link", "channel", "offset", "collapse_key", "topic",
  ]

  /// What is handed on. Other members are passed over, as everywhere.
  static func read(_ fields: JSONArguments) throws(ClientError) -> PushRequest {
    _ = try NotifyOrder(fields)
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      for name in members {
        if let value = fields[name] { writer.write(named: name, raw: Array(value.bytes)) }
      }
    }
    return PushRequest(arguments: writer.bytes, method: .notify)
  }
}

extension BrokerCore {
  /// Has people notified, whichever devices they have. Answered when the notice is on disk: from then on it is carried
  /// out, whatever happens to the process.
  func notifyUsers(_ request: PushRequest, for requester: Requester, in turn: inout Turn) throws(ClientError) {
    let order = try NotifyOrder(JSONArguments(request.arguments, called: "the arguments of push_notify"))
    guard let notices else {
      throw .notAvailable.saying("nobody is notified by this server: set push.enabled, and a key of a service")
    }
    let top = notices.stream.sequencer.top
    guard notices.isOpen, let next = notices.stream.sequencer.peek() else { throw .draining }
    let intent = PushIntent(
      offset: 0, time: turn.time.wall, topic: order.topic, subject: order.subject ?? "push:\(top.epoch)-\(next)",
      users: order.users, content: order.content)
    let ticket = try append(intent, to: notices, in: &turn)
    answer(requester, .done, after: ticket, in: &turn)
  }
}
