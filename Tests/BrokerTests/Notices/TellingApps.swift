import Apps
import Log
import Wire

@testable import Broker

/// An app that tells of things. Its commands are `tell.<word>` with plain words as data:
///
/// - `say user,user`: a publication and a notice; `quiet user`: the notice alone; `plain`: the publication alone
/// - `left user count`: how many things the user has not acknowledged
/// - `seen user`: the user has acknowledged everything
struct TellingApp: App {
  struct Left: AppRecord {
    var count: Int
    var due: Int64? { nil }
  }

  let name = "tell"
  static let chat: ChannelName = "tell.chat:1"
  static let records: ChannelName = "tell.records:all"

  var namespaces: [String: ChannelOptions] {
    var chat = ChannelOptions()
    chat.app = AppName(name)
    chat.durability = .durable
    (chat.historySize, chat.historyTTLMilliseconds) = (100, 3_600_000)
    return ["tell.chat": chat]
  }

  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .other(let command) = call.command else { throw .methodNotFound }
    let words = String(decoding: command.data, as: UTF8.self).split(separator: " ").map(String.init) + ["", ""]
    let users = words[0].split(separator: ",").map(String.init)
    let publication = AppEffect.publish(AppPublication(channel: Self.chat, data: Array("1".utf8), info: call.caller))
    let notice = AppEffect.notify(AppNotice(topic: "tell.said", subject: Self.chat.string, users: users))
    switch command.method {
    case "tell.say": return AppDecision([publication, notice])
    case "tell.plain": return AppDecision([publication])
    case "tell.quiet": return AppDecision([notice])
    case "tell.left": return AppDecision([.write(key: words[0], Left(count: Int(words[1]) ?? 0))])
    case "tell.seen": return AppDecision([.acknowledge(user: words[0], subject: Self.chat.string)])
    default: throw .methodNotFound
    }
  }

  func notification(
    about subject: String, for user: String, _ view: any AppView
  ) throws(ClientError) -> AppNotification? {
    guard let left = try view.record(Left.self, user) else { return nil }
    return AppNotification(
      topic: "tell.said", unacknowledged: left.count, unseen: left.count, since: 0, badge: left.count)
  }

  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision { throw .internalError }
  func admit(_ user: String, to channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppAdmission {
    AppAdmission()
  }
  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry? { nil }
  func picture(in key: String, for user: String, _ view: any AppView) throws(ClientError) -> AppPicture? { nil }
}

/// Stands for the app of notifications: it writes down what it is told, and sends what it is told of at once.
final class TinyPush: NotifyingApp, @unchecked Sendable {  // Used by one test's thread alone.
  struct Heard: AppRecord {
    var offsets: [UInt64] = []
    var answers = 0
    var due: Int64? { nil }
  }

  let name = "push"
  static let records: ChannelName = "push.records:all"
  var namespaces: [String: ChannelOptions] { [:] }
  /// What it was asked, in order.
  private(set) var taken: [[PushIntent]] = []
  private(set) var answers: [PushAnswer] = []
  private(set) var looks: [String] = []
  /// What another app has said of what it was told last.
  private(set) var asked: [Int?] = []
  /// What it says that people are not told of, with each decision about notices.
  var unsent: [UnsentNotice] = []
  /// It fails so often.
  var failures = 0

  func take(_ intents: [PushIntent], _ view: any AppView) throws(ClientError) -> AppDecision {
    if failures > 0 {
      failures -= 1
      throw .internalError
    }
    var effects: [AppEffect] = []
    for intent in intents {
      for user in intent.users {
        var heard = try view.record(Heard.self, "n/" + user) ?? Heard()
        heard.offsets.append(intent.offset)
        effects.append(.write(key: "n/" + user, heard))
        effects.append(.push(Self.send(to: user, heard.offsets.count)))
      }
      if let user = intent.users.first {
        let found = try view.notification(of: intent.topic, about: intent.subject, for: user)
        asked.append(found?.unacknowledged)
      }
    }
    taken.append(intents)
    return AppDecision(effects + unsent.map(AppEffect.unsent))
  }

  static func send(to user: String, _ number: Int) -> PushSend {
    let device = PushSend.Device(id: "d-" + user, json: Array(#"{"kind":"fcm"}"#.utf8), title: "t", body: "")
    return PushSend(
      user: user, number: UInt64(number), devices: [device], collapseKey: "k", timeToLive: 60, isUrgent: true)
  }

  func answered(_ answer: PushAnswer, _ view: any AppView) throws(ClientError) -> AppDecision {
    answers.append(answer)
    if failures > 0 {
      failures -= 1
      throw .internalError
    }
    var heard = try view.record(Heard.self, "n/" + answer.user) ?? Heard()
    heard.answers += 1
    return AppDecision([.write(key: "n/" + answer.user, heard)])
  }

  func look(at subject: String, of user: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    looks.append("\(user) \(subject)")
    return AppDecision()
  }

  func lines(about subject: String?, of user: String, _ view: any AppView) throws(ClientError) -> [UInt8] {
    let count = try view.record(Heard.self, "n/" + user)?.offsets.count ?? 0
    return Array(#"{"lines":[{"sentence":"\#(count) of \#(subject ?? "all")"}]}"#.utf8)
  }

  static func openSubjects(in effects: [AppEffect]) -> [(user: String, subjects: [String])] {
    effects.compactMap { effect in
      guard case .write(let key, is Heard) = effect else { return nil }
      return (String(key.dropFirst(2)), [TellingApp.chat.string])
    }
  }

  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision { throw .methodNotFound }
  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision { throw .internalError }
  func admit(_ user: String, to channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppAdmission {
    AppAdmission()
  }
  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry? { nil }
  func picture(in key: String, for user: String, _ view: any AppView) throws(ClientError) -> AppPicture? { nil }
}

extension BrokerScene {
  /// A broker with an app that tells and, where notifications are on, one that hears of it.
  static func telling(_ push: TinyPush?, disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    let app = TellingApp()
    let scene = BrokerScene(disk: disk) { configuration in
      configuration.namespaces.add(app.namespaces, of: app.name)
      var inbox = ChannelOptions()
      (inbox.historySize, inbox.historyTTLMilliseconds) = (10, 60_000)
      (inbox.push, inbox.allowUserLimitedChannels) = (true, true)
      configuration.namespaces.namespaces["box"] = inbox
      inbox.durability = .durable
      configuration.namespaces.namespaces["inbox"] = inbox
    }
    scene.install(app)
    if let push { scene.install(push) }
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  func tell(_ id: UInt64, _ command: String, by user: String = "ann") {
    let words = command.split(separator: " ", maxSplits: 1).map(String.init)
    request(
      id,
      .call(
        .init(
          .other(.init(method: "tell." + words[0], data: Array((words.count > 1 ? words[1] : "").utf8))),
          caller: ClientInfo(user: user, client: "c-" + user))))
  }

  /// Lets everything get to the disk that waits for it, and what comes after it.
  func settle() { for _ in 0..<20 where !disk.queue.isEmpty { finish(.max) } }

  func pushed(_ send: PushSend, _ verdict: PushAnswer.Verdict = .taken) {
    let verdicts = Dictionary(send.devices.map { ($0.id, verdict) }, uniquingKeysWith: { first, _ in first })
    perform { core.pushed(PushAnswer(user: send.user, number: send.number, verdicts: verdicts), in: &$0) }
  }
}
