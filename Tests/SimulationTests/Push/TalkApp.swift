import Apps
import Wire

/// Conversations of two, for the simulation of notifications. Its commands are `talk.<word>` with plain words as data:
///
/// - `say n user`: a message in conversation n, for the other user
/// - `delivered n count`, `read n count`: a device has so many of the caller's messages in conversation n, and the
///   caller has read them
struct TalkApp: App {
  /// What stands between a person and a conversation.
  struct Standing: AppRecord {
    var count = 0
    var delivered = 0
    var read = 0
    /// When the messages came that no device has: the oldest, and the newest of the others.
    var times: [Int64] = []
    /// The same of those that were not read.
    var unread: [Int64] = []

    var due: Int64? { nil }
  }

  static let mostTimes = 32
  let name = "talk"

  var namespaces: [String: ChannelOptions] {
    var chat = ChannelOptions()
    chat.app = AppName(name)
    chat.durability = .durable
    (chat.historySize, chat.historyTTLMilliseconds) = (10, 3_600_000)
    return ["talk.chat": chat]
  }

  static func subject(_ conversation: Substring) -> String { "talk.chat:\(conversation)" }

  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .other(let command) = call.command else { throw .methodNotFound }
    let words = String(decoding: command.data, as: UTF8.self).split(separator: " ")
    guard words.count == 2 else { throw .badRequest }
    let subject = Self.subject(words[0])
    guard let channel = try? ChannelName(subject) else { throw .badRequest }
    if command.method == "talk.say" {
      let user = String(words[1])
      var standing = try view.record(Standing.self, "\(user)/\(words[0])") ?? Standing()
      standing.count += 1
      standing.times.append(view.now)
      standing.unread.append(view.now)
      if standing.times.count > Self.mostTimes { standing.times.remove(at: 1) }
      if standing.unread.count > Self.mostTimes { standing.unread.remove(at: 1) }
      return AppDecision([
        .write(key: "\(user)/\(words[0])", standing),
        .publish(AppPublication(channel: channel, data: Array("{}".utf8), info: call.caller)),
        .notify(AppNotice(topic: "talk.message", subject: subject, users: [user])),
      ])
    }
    let key = "\(call.user)/\(words[0])"
    guard var standing = try view.record(Standing.self, key), let count = Int(words[1]), count <= standing.count else {
      throw .badRequest
    }
    let before = standing
    standing.delivered = max(standing.delivered, count)
    if command.method == "talk.read" { standing.read = max(standing.read, count) }
    let left = standing.count - standing.delivered
    if standing.delivered > before.delivered { standing.times = Array(standing.times.suffix(left)) }
    if standing.read > before.read { standing.unread = Array(standing.unread.suffix(standing.count - standing.read)) }
    if standing == before { return AppDecision() }
    return AppDecision([.write(key: key, standing), .acknowledge(user: call.user, subject: subject)])
  }

  func notification(
    about subject: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppNotification? {
    let conversation = subject.split(separator: ":").last ?? ""
    guard let standing = try view.record(Standing.self, "\(user)/\(conversation)") else { return nil }
    return AppNotification(
      topic: "talk.message", unacknowledged: standing.count - standing.delivered,
      unseen: standing.count - standing.read, since: standing.times.first ?? view.now,
      badge: standing.count - standing.read, unseenSince: standing.unread.first)
  }

  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision { throw .internalError }
  func admit(_ user: String, to channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppAdmission {
    AppAdmission()
  }
  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry? { nil }
  func picture(in key: String, for user: String, _ view: any AppView) throws(ClientError) -> AppPicture? { nil }
}
