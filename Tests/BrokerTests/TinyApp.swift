import Apps
import Broker
import Wire

@testable import Broker

/// An app of a few words. Its commands are `tiny.<word>` with plain words as data:
///
/// - `set key text [due]`, `soon key text`, `touch key text`, `erase key`, `get key`: records, each an entry of the list
/// - `say channel text [idempotency key]`: a publication, and nothing else
/// - `later text`: a reply, where what it needs is there
/// - `down`: fails for now; `several key key …`: a record each
/// - `relay text`: to another partition, and nothing else; `both text`: with a record of that name
/// - `known user time`: whether the user's data was deleted since
/// - `over limit`, `reach limit`: refused for a limit, and not refused though it is reached
/// - `source`: who calls, and what is attested
/// - `edit offset text`, `bar user`, `secret text`, `search word`, `discard picture`,
///   `conceal offset text user`, `stay user`
final class TinyApp: App, @unchecked Sendable {  // Used by one test's thread alone.
  struct Note: AppRecord {
    var text: String
    var due: Int64?

    var lane: AppLane { text.hasPrefix("tidy") ? .upkeep : text.hasPrefix("sent") ? .sends : .endings }
  }

  var answerTimeout: Int64 { 60_000 }

  let name = "tiny"
  /// Records that the app was woken for, in order.
  private(set) var woken: [String] = []
  /// The keys for which the app fails.
  var failing: Set<String> = []
  /// Entries that were worked out.
  private(set) var workedOut: [String] = []
  func forgetWorkedOut() { workedOut = [] }
  /// What `later` needs is there.
  var isReady = true
  /// What it was asked to take in from another partition, in order.
  private(set) var received: [String] = []
  /// The partition that is told of each entry of a list that is worked out again; nil: none is.
  var told: Int?
  /// What it was asked for the entries of, in order.
  private(set) var asked: [String] = []

  static let chat: ChannelName = "tiny.chat:1"
  static let list: ChannelName = "tiny.list:all"
  static let live: ChannelName = "tiny.live:all"

  var namespaces: [String: ChannelOptions] {
    var chat = ChannelOptions()
    chat.app = AppName(name)
    chat.durability = .durable
    chat.historySize = 100
    chat.historyTTLMilliseconds = 3_600_000
    var list = ChannelOptions()
    list.app = AppName(name)
    list.kind = .map
    list.mapMode = .persistent
    list.durability = .durable
    var live = list
    live.mapMode = .ephemeral
    live.durability = .memory
    return ["tiny.chat": chat, "tiny.list": list, "tiny.live": live]
  }

  func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .other(let command) = call.command else { throw .methodNotFound }
    let words = String(decoding: command.data, as: UTF8.self).split(separator: " ").map(String.init) + ["", "", ""]
    switch command.method {
    case "tiny.set":
      return AppDecision(
        [
          .write(key: words[0], Note(text: words[1], due: Int64(words[2]))),
          .refresh(Self.list, key: words[0], .atomically),
        ], reply: Array("\"set\"".utf8))
    case "tiny.soon":
      return AppDecision([
        .write(key: words[0], Note(text: words[1])), .refresh(Self.list, key: words[0], .soon),
        .refresh(Self.live, key: words[0], .soon),
      ])
    case "tiny.touch": return AppDecision([.write(key: words[0], Note(text: words[1])), .touch(words[0])])
    case "tiny.erase":
      return AppDecision([.erase(key: words[0]), .refresh(Self.list, key: words[0], .atomically), .scrub])
    case "tiny.get":
      return AppDecision(reply: Array("\"\(try view.record(Note.self, words[0])?.text ?? "nothing")\"".utf8))
    case "tiny.say": return try say(words, call, view)
    case "tiny.last":
      guard let channel = try? ChannelName("tiny.chat:" + words[0]) else { throw .badRequest }
      return AppDecision(reply: try view.newest(1, of: channel).first?.data ?? Array("null".utf8))
    case "tiny.secret":
      return AppDecision([
        .publish(
          AppPublication(
            channel: Self.chat, data: Array(words[0].utf8), info: call.caller,
            tags: ["only": call.user, "hidden": "|x|", "colour": "red"]))
      ])
    case "tiny.edit":
      return AppDecision([.edit(Self.chat, offset: UInt64(words[0]) ?? 0, data: Array(words[1].utf8))])
    case "tiny.conceal":
      return AppDecision([
        .edit(
          Self.chat, offset: UInt64(words[0]) ?? 0, data: Array(words[1].utf8),
          from: AppConcealment(users: [words[2]], tags: ["only": call.user]))
      ])
    case "tiny.stay":
      return AppDecision([.write(key: "stay/" + words[0], Note(text: "")), .readmit(user: words[0], Self.chat)])
    case "tiny.bar":
      return AppDecision([.write(key: "bar/" + words[0], Note(text: "")), .readmit(user: words[0], Self.chat)])
    case "tiny.search":
      return AppDecision(search: MessageSearch(channels: [Self.chat], text: words[0], audience: nil, limit: 1))
    case "tiny.later": return isReady ? AppDecision(reply: Array("\"\(words[0])\"".utf8)) : AppDecision([], .later)
    case "tiny.full": throw .limitExceeded
    case "tiny.down": throw .internalError
    case "tiny.several": return AppDecision(words.filter { !$0.isEmpty }.map { .write(key: $0, Note(text: "x")) })
    case "tiny.relay", "tiny.both": return relay(words[0], besides: command.method == "tiny.both")
    case "tiny.known":
      return AppDecision(reply: Array("\(try view.wasForgotten(words[0], since: Int64(words[1]) ?? 0))".utf8))
    case "tiny.over": throw AppLimit(rawValue: words[0]).map { .limitExceeded.counted(as: $0) } ?? .badRequest
    case "tiny.reach":
      var decision = AppDecision()
      decision.reached = AppLimit(rawValue: words[0])
      return decision
    case "tiny.source": return AppDecision(reply: Array("\"\(call.source) \(call.attestedPlace ?? "-")\"".utf8))
    case "tiny.discard": return AppDecision([.pictureFates([PictureFate(gone: words[0])])])
    default: throw .methodNotFound
    }
  }

  private func relay(_ word: String, besides isWritten: Bool) -> AppDecision {
    let relay = AppEffect.relay(AppRelay(to: 1, Array(word.utf8)))
    return AppDecision(isWritten ? [.write(key: word, Note(text: "x")), relay] : [relay])
  }

  /// A command, as ``call(_:_:)`` takes it.
  func receive(_ data: [UInt8], _ view: any AppView) throws(ClientError) -> AppDecision {
    received.append(String(decoding: data, as: UTF8.self))
    guard case .call(let request) = TinyApp.request(received[received.count - 1]) else { throw .badRequest }
    return try call(AppCall(request.command, caller: request.caller, key: .text("relay")), view)
  }

  private func say(_ words: [String], _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard let channel = try? ChannelName("tiny.chat:" + words[0]) else { throw .badRequest }
    let publication = AppPublication(
      channel: channel, data: Array("\"\(words[1])\"".utf8), info: call.caller,
      idempotencyKey: words[2].isEmpty ? nil : words[2])
    return AppDecision([.publish(publication)], reply: Array("\(try view.top(of: channel) + 1)".utf8))
  }

  func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    woken.append(key)
    if failing.contains(key) { throw .internalError }
    let note = try view.record(Note.self, key)
    return AppDecision([
      .write(key: key, Note(text: (note?.text ?? "") + "!")), .refresh(Self.list, key: key, .atomically),
    ])
  }

  func admit(
    _ user: String, to channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    if try view.record(Note.self, "bar/" + user) != nil { throw .permissionDenied }
    if try view.record(Note.self, "stay/" + user) != nil {
      return AppAdmission(audience: .exists(key: "nothing"), refusal: .permissionDenied)
    }
    return AppAdmission(audience: .any([.not(.exists(key: "only")), .equal(key: "only", user)]))
  }

  var tellsOfEntries: Bool { told != nil }

  /// `a 1 true`: the key, the record's text, and whether somebody waits for it.
  func follows(
    _ key: String, of channel: ChannelName, isAwaited: Bool, _ view: any AppView
  ) throws(ClientError) -> [AppEffect] {
    guard let told else { return [] }
    let text = try view.record(Note.self, key)?.text ?? "-"
    return [.relay(AppRelay(to: told, Array("\(key) \(text) \(isAwaited)".utf8)))]
  }

  func entries(
    showing subject: String, _ view: any AppView
  ) throws(ClientError) -> [(channel: ChannelName, key: String)] {
    asked.append(subject)
    return [(Self.list, subject), (Self.live, subject)]
  }

  func keys(of channel: ChannelName, _ view: any AppView) throws(ClientError) -> [String] {
    channel == Self.live ? ["a"] : []
  }

  func entry(_ key: String, of channel: ChannelName, _ view: any AppView) throws(ClientError) -> AppEntry? {
    workedOut.append(key)
    guard let note = try view.record(Note.self, key) else { return nil }
    let data = Array("\"\(note.text)\"".utf8)
    return AppEntry(data: data, kept: note.text.hasPrefix("secret") ? data.map { $0 ^ 0x20 } : nil, score: 0)
  }

  /// What is kept of a secret begins with a quotation mark that was turned over.
  func shown(_ kept: [UInt8], of channel: ChannelName) -> [UInt8] {
    kept.first == UInt8(ascii: "\"") ^ 0x20 ? kept.map { $0 ^ 0x20 } : kept
  }

  func seal(of publication: Publication, on channel: ChannelName) -> AppSeal? {
    publication.data == Array("\"sealed\"".utf8) ? .untilAnswered : nil
  }

  func withheld(_ shown: [UInt8], of channel: ChannelName, at latest: Int64) -> [UInt8] { Array("\"withheld\"".utf8) }
}

extension TinyApp.Note {
  init(text: String) { self.init(text: text, due: nil) }
}

extension TinyApp {
  /// A broker with the app and one gateway, on a disk that may hold something already.
  func scene(_ disk: ScriptedStore = ScriptedStore()) -> BrokerScene {
    let scene = BrokerScene(self, disk: disk)
    scene.hello(1)
    _ = scene.hears()
    return scene
  }
}

extension TinyApp {
  static func request(_ command: String, by user: String = "ann") -> BrokerRequest {
    let words = command.split(separator: " ", maxSplits: 1).map(String.init)
    return .call(
      .init(
        .other(.init(method: "tiny." + words[0], data: Array((words.count > 1 ? words[1] : "").utf8))),
        caller: ClientInfo(user: user, client: "c-" + user)))
  }
}

extension BrokerScene {
  /// A broker with the app, on a disk that may hold something already.
  convenience init(
    _ app: TinyApp, disk: ScriptedStore = ScriptedStore(), _ change: (inout BrokerConfiguration) -> Void = { _ in }
  ) {
    self.init(disk: disk) {
      $0.namespaces.add(app.namespaces, of: app.name)
      change(&$0)
    }
    install(app)
  }

  /// `"set a 1"` as a command of a person.
  /// Turns of the broker, with everything written in between.
  func turn(_ count: Int = 1, by milliseconds: Int64 = 5) {
    for _ in 0..<count {
      pass(milliseconds)
      finish(.max)
    }
  }

  func call(_ id: UInt64, _ command: String, by user: String = "ann", isRetry: Bool = false) {
    request(id, TinyApp.request(command, by: user), isRetry: isRetry)
  }

  /// What the list of the app shows, by key.
  func shown(_ channel: ChannelName = TinyApp.list) -> [String: String] {
    let request = BrokerRequest.MapRequest(channel: channel, read: .init(phase: .state))
    guard case .mapPage(let page)? = ask(.readMap(request)) else { return [:] }
    var shown: [String: String] = [:]
    for entry in page.entries { shown[entry.change?.key ?? ""] = String(decoding: entry.data, as: UTF8.self) }
    return shown
  }
}

extension Heard {
  static func result(_ id: UInt64, _ json: String) -> Heard { .reply(id, .result(Array(json.utf8))) }
}
