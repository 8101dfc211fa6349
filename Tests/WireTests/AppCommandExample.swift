import Wire

/// Commands of the apps as people and gateways say them: each method, each field given and left out.
enum AppCommandExample {
  static let pair = "p" + String(repeating: "0", count: 32)
  static let group = "g" + String(repeating: "f", count: 32)
  static let front = String(repeating: "f", count: 22)
  static let rear = String(repeating: "r", count: 64)

  /// A method and its data.
  static let json: [(method: String, data: String)] = [
    ("clique.send", #"{"to":"bob","text":"hi"}"#),
    ("clique.send", #"{"conversation":"\#(pair)","text":"caf\u00e9 \"\n","key":"k\u0031"}"#),
    ("clique.send", #"{"conversation":"\#(group)","text":"😀é","key":""}"#),
    ("clique.send", #"{"to":"bob","text":"hi","reply":7}"#),
    ("clique.send", #"{"conversation":"\#(group)","text":"hi","key":"k","reply":1,"mentions":["bob","eve","bob"]}"#),
    ("clique.send", #"{"to":"bob","picture":{"id":"\#(front)"}}"#),
    ("clique.send", #"{"to":"bob","text":"","picture":{"hash":"LEHV6n","id":"\#(rear)"},"reply":2,"key":"k"}"#),
    ("clique.accept", #"{"person":"bob"}"#), ("clique.accept", #"{"conversation":"\#(pair)"}"#),
    ("clique.decline", #"{"person":"b\u00f6b"}"#), ("clique.disconnect", #"{"person":"bob"}"#),
    ("clique.block", #"{"person":"bob"}"#), ("clique.unblock", #"{"conversation":"\#(pair)"}"#),
    ("clique.read", #"{"conversation":"\#(pair)","offset":9223372036854775807}"#),
    ("clique.delivered", #"{"conversation":"\#(group)","offset":0}"#),
    ("clique.typing", #"{"conversation":"\#(pair)"}"#),
    ("clique.group.create", #"{"members":["bob","eve","bob"],"name":"x","key":"k"}"#),
    ("clique.group.create", #"{"members":["bob"]}"#), ("clique.group.leave", #"{"conversation":"\#(group)"}"#),
    ("clique.group.add", #"{"conversation":"\#(group)","members":["bob","ann"]}"#),
    ("clique.group.remove", #"{"conversation":"\#(group)","person":"bob"}"#),
    ("clique.group.rename", #"{"conversation":"\#(group)","name":"caf\u00e9"}"#),
    ("clique.group.appoint", #"{"conversation":"\#(group)","person":"ann"}"#),
    ("clique.group.dismiss", #"{"conversation":"\#(group)","person":"ann"}"#),
    ("clique.group.link", #"{"conversation":"\#(group)"}"#),
    ("clique.group.link", #"{"conversation":"\#(group)","lifetime":1000,"uses":1}"#),
    ("clique.group.links", #"{"conversation":"\#(group)"}"#),
    ("clique.group.revoke", #"{"conversation":"\#(group)","id":"0123abcd"}"#),
    ("clique.group.revoke", #"{"conversation":"\#(group)"}"#),
    ("clique.group.join", #"{"link":"\#(group).\#(String(repeating: "0", count: 32))"}"#),
    ("clique.keep", #"{"person":"bob","muted":true}"#),
    ("clique.keep", #"{"conversation":"\#(group)","muted":false,"archived":false,"pinned":true}"#),
    ("clique.draft", #"{"person":"bob","text":""}"#),
    ("clique.draft", #"{"conversation":"\#(group)","text":"caf\u00e9","reply":7}"#),
    ("clique.totals", ""), ("clique.react", #"{"conversation":"\#(pair)","offset":1,"reaction":"👍🏽"}"#),
    ("clique.react", #"{"conversation":"\#(group)","offset":9223372036854775807,"reaction":""}"#),
    ("clique.report", #"{"person":"bob","reason":"spam"}"#),
    ("clique.report", #"{"conversation":"\#(group)","offset":7,"reason":"other","text":"see \"this\""}"#),
    ("clique.disappear", #"{"person":"bob","after":60000}"#),
    ("clique.disappear", #"{"conversation":"\#(group)","after":0}"#),
    ("clique.search", #"{"text":"park"}"#),
    ("clique.search", #"{"text":"a b","person":"bob","conversation":"\#(pair)","limit":3}"#),
    ("clique.enter", #"{"place":"café","token":7}"#), ("clique.leave", #"{"place":"park"}"#),
    ("clique.invisible", #"{"on":true}"#), ("clique.crossings", ""),
    ("clique.crossings", #"{"order":"time","limit":0}"#),
    (
      "clique.profile.set",
      #"{"name":"caf\u00e9","fields":{"university":"X","b":null},"picture":{"id":"\#(front)","small":"s"}}"#
    ),
    ("clique.profile.set", #"{"picture":null}"#), ("clique.profile.set", #"{"name":""}"#),
    ("clique.profiles", #"{"people":["bob","eve","bob"]}"#), ("clique.people", #"{"text":"an","limit":3}"#),
    ("state.begin", #"{"to":"bob"}"#), ("state.send", #"{"to":"bob","front":"\#(front)","rear":"\#(rear)"}"#),
    (
      "state.send",
      #"{"to":"bob","front":"\#(front)","rear":"\#(rear)","caption":"👩‍👩‍👧 at sea","reply_limit":-5,"key":"k"}"#
    ),
    ("state.seen", #"{"with":"bob"}"#), ("state.delivered", #"{"with":"bob"}"#),
    ("state.settings", "{}"), ("state.settings", #"{"limit":6e4}"#),
    ("state.cancel", #"{"to":"bob"}"#), ("state.cancel", #"{"to":"bob","pictures":["\#(front)","\#(rear)"]}"#),
    ("state.discard", #"{"pictures":["\#(front)"]}"#), ("state.discard", #"{"pictures":[]}"#),
    ("state.react", #"{"with":"bob","reaction":"👩🏽‍🚀"}"#), ("state.react", #"{"with":"bob"}"#),
    ("push.register", #"{"device":{"kind":"fcm","token":"t"}}"#),
    (
      "push.register",
      #"{"device":{"kind":"web","endpoint":"https://a","keys":{"p256dh":"x","auth":"y"}},"language":"de-AT","#
        + #""topics":["clique.*","state.sealed"],"preview":"text"}"#
    ),
    ("push.unregister", #"{"device":"0123"}"#), ("push.devices", ""), ("push.settings", ""),
    (
      "push.settings",
      #"{"topics":["*"],"preview":"nothing","request_preview":true,"muted_until":1,"#
        + #""quiet":{"from":"22:00","to":"07:00","zone":"Europe/Vienna"}}"#
    ),
    ("push.settings", #"{"quiet":{"from":"00:00","to":"23:59","zone":-90},"request_preview":false}"#),
    ("push.settings", #"{"quiet":null}"#), ("push.delivered", #"{"subject":"inbox:#ann"}"#),
    ("push.delivered", #"{"subject":"inbox:#ann","offset":18446744073709551615}"#),
    ("push.seen", #"{"subject":"caf\u00e9","offset":0}"#),
    ("state.block", #"{"user":"bob"}"#), ("state.unblock", #"{"user":"bob"}"#),
  ]

  static let gateways: [StateCommand] = [
    .addPicture(.init(id: front, type: "image/png", bytes: .max, key: [1], upload: [2, 3])),
    .addPicture(.init(id: "", type: nil, bytes: -1, key: [], upload: nil)),
    .uploadKey(id: front, upload: [9]), .pictureKey(id: rear), .gonePictures([front, ""]), .gonePictures([]),
    .discardUpload(id: front), .lend(.init(to: "bob", front: front, rear: rear, attempt: .max)),
    .giveBack(.init(to: "", front: "", rear: "", attempt: 0)),
    sendOfLent,
  ]

  private static let sendOfLent: StateCommand = {
    let data = Array(#"{"to":"bob","front":"\#(front)","rear":"\#(rear)"}"#.utf8)
    guard case .state(.send(var send)) = try? AppCommand("state.send", data, by: "ann") else {
      preconditionFailure("it is a send")
    }
    send.lent = Array(#"{"pictures":[]}"#.utf8)
    return .send(send)
  }()

  static let ofClique: [CliqueCommand] = [
    .lend(.init(conversation: pair, picture: front, attempt: .max)),
    .giveBack(.init(conversation: group, picture: "", attempt: 0)),
    .reads(.init(conversation: pair, offset: .max, picture: rear)), .evidence(report()),
    .report(report(with: Array(#"{"messages":[]}"#.utf8))), sendOfLentPicture,
  ]

  private static func report(with evidence: [UInt8] = []) -> CliqueCommand.Report {
    let data = Array(#"{"person":"bob","conversation":"\#(pair)","offset":7,"reason":"threat","text":"this"}"#.utf8)
    guard case .clique(.report(var report)) = try? AppCommand("clique.report", data, by: "ann") else {
      preconditionFailure("it is a report")
    }
    report.evidence = evidence
    return report
  }

  private static let sendOfLentPicture: CliqueCommand = {
    let data = Array(#"{"to":"bob","picture":{"id":"\#(front)"}}"#.utf8)
    guard case .clique(.send(var send)) = try? AppCommand("clique.send", data, by: "ann") else {
      preconditionFailure("it is a send")
    }
    send.lent = Array(#"{"picture":{}}"#.utf8)
    return .send(send)
  }()

  static let pictures: [PictureCommand] = [
    .add(.init(id: front, type: "image/png", bytes: .max, width: 1, height: .max, key: [1], upload: [2, 3])),
    .add(.init(id: "", type: nil, bytes: -1, width: -1, key: [], upload: nil)),
    .uploadKey(id: front, upload: [9]), .key(id: rear), .gone([front, ""]), .gone([]), .discard(id: front),
  ]

  static let all: [AppCommand] =
    json.map { method, data in
      guard let command = try? AppCommand(method, Array(data.utf8), by: "ann") else {
        preconditionFailure("\(method) \(data) is a command")
      }
      return command
    } + gateways.map(AppCommand.state) + ofClique.map(AppCommand.clique)
    + pictures.map { AppCommand.clique(.picture($0)) }
}
