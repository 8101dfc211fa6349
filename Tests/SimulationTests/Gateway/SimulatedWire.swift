import ClientProtobuf
import Foundation
import Wire

@testable import FanfareClient

/// Encodes commands and decodes replies, as an SDK does.
enum SimulatedWire {
  // MARK: Commands

  /// - Parameter users: for a subscribe: the users whose publications are wanted; nil: everybody's.
  static func encode(_ command: ClientCommand, format: WireFormat, users: [String]? = nil) -> [UInt8] {
    switch format {
    case .json: return Array(json(command, users).utf8)
    case .protobuf:
      var message = CommandEncoder.message(command)
      if let users {
        message.subscribe.tf.key = TagFilter.userTag
        message.subscribe.tf.cmp = "in"
        message.subscribe.tf.vals = users
      }
      var bytes: [UInt8] = []
      ProtobufFraming.append(message, to: &bytes)
      return bytes
    }
  }

  private static func json(_ command: ClientCommand, _ users: [String]?) -> String {
    let body: String
    switch command.body {
    case .connect(let connect):
      let subs = connect.subs.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#(json($0.value, nil))"# }
      body = #""connect":{"token":"\#(connect.token)","subs":{\#(subs.joined(separator: ","))}}"#
    case .subscribe(let subscribe): body = #""subscribe":"# + json(subscribe, users)
    case .unsubscribe(let channel): body = #""unsubscribe":{"channel":"\#(channel)"}"#
    case .publish(let publish):
      let key = publish.idempotencyKey.map { #","idempotency_key":"\#($0)""# } ?? ""
      let data = String(decoding: publish.data, as: UTF8.self)
      body = #""publish":{"channel":"\#(publish.channel)","data":\#(data)\#(key)}"#
    case .pong: return "{}"
    default: preconditionFailure("no client of the simulation says \(command)")
    }
    return #"{"id":\#(command.id),\#(body)}"#
  }

  private static func json(_ subscribe: ClientCommand.Subscribe, _ users: [String]?) -> String {
    var text = #"{"channel":"\#(subscribe.channel)""#
    if subscribe.recover { text += #","recover":true,"epoch":"\#(subscribe.epoch)","offset":\#(subscribe.offset)"# }
    if subscribe.joinLeave { text += #","join_leave":true"# }
    if let users {
      let values = users.map { #""\#($0)""# }.joined(separator: ",")
      text += #","tf":{"key":"\#(TagFilter.userTag)","cmp":"in","vals":[\#(values)]}"#
    }
    return text + "}"
  }

  // MARK: Replies

  enum Message {
    case replies([ClientReply])
    case close(UInt16?)
    case malformed(String)
  }

  /// Takes the whole frames at the front of what a client has read.
  static func takeFrames(from buffer: inout [UInt8], format: WireFormat) -> [Message] {
    var messages: [Message] = []
    while buffer.count >= 2 {
      let length = buffer.withUnsafeBytes { ServerFrame.length(of: $0) }
      let header = buffer[1] & 0x7F == 126 ? 4 : buffer[1] & 0x7F == 127 ? 10 : 2
      guard buffer.count >= max(length, header) else { break }
      messages.append(message(buffer[0], Array(buffer[header..<length]), format))
      buffer.removeFirst(length)
    }
    return messages
  }

  private static func message(_ first: UInt8, _ payload: [UInt8], _ format: WireFormat) -> Message {
    switch (first & 0x0F, format) {
    case (Opcode.close, _): return .close(payload.count < 2 ? nil : UInt16(payload[0]) << 8 | UInt16(payload[1]))
    case (Opcode.text, .json):
      var replies: [ClientReply] = []
      for line in payload.split(separator: UInt8(ascii: "\n")) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any],
          let reply = reply(object)
        else { return .malformed(String(decoding: line, as: UTF8.self)) }
        replies.append(reply)
      }
      return .replies(replies)
    case (Opcode.binary, .protobuf):
      guard let replies = try? ReplyDecoder.decode(payload) else { return .malformed("\(payload)") }
      return .replies(replies)
    default: return .malformed("a frame that begins with \(first)")
    }
  }

  private static func reply(_ object: [String: Any]) -> ClientReply? {
    if object.isEmpty { return .serverPing }
    if let push = object["push"] as? [String: Any] { return self.push(push) }
    guard let id = (object["id"] as? Int).map(UInt32.init) else { return nil }
    if let error = object["error"] as? [String: Any], let code = error["code"] as? Int {
      return .error(id: id, ClientError(code: UInt32(code), message: error["message"] as? String ?? ""))
    }
    if let connect = object["connect"] as? [String: Any] {
      var result = ClientReply.ConnectResult()
      result.client = connect["client"] as? String ?? ""
      result.subs = (connect["subs"] as? [String: [String: Any]] ?? [:]).mapValues(subscribed)
      return .connect(id: id, result)
    }
    if let subscribe = object["subscribe"] as? [String: Any] { return .subscribe(id: id, subscribed(subscribe)) }
    if object["unsubscribe"] != nil { return .unsubscribe(id: id) }
    return object["publish"] != nil ? .publish(id: id) : nil
  }

  private static func push(_ push: [String: Any]) -> ClientReply? {
    guard let channel = push["channel"] as? String else { return nil }
    if let pub = push["pub"] as? [String: Any] { return .push(.publication(channel: channel, publication(pub))) }
    if let unsubscribe = push["unsubscribe"] as? [String: Any], let code = unsubscribe["code"] as? Int {
      return .push(.unsubscribe(channel: channel, UnsubscribeCode(code: UInt32(code), reason: "")))
    }
    for (name, make) in [("join", ClientPush.join), ("leave", ClientPush.leave)] {
      guard let object = push[name] as? [String: Any], let info = object["info"] as? [String: Any] else { continue }
      return .push(make(channel, self.info(info)))
    }
    return nil
  }

  private static func subscribed(_ object: [String: Any]) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    result.positioned = object["positioned"] as? Bool ?? false
    result.epoch = object["epoch"] as? String ?? ""
    result.offset = UInt64(object["offset"] as? Int ?? 0)
    result.recovered = object["recovered"] as? Bool ?? false
    result.wasRecovering = object["was_recovering"] as? Bool ?? false
    result.publications = (object["publications"] as? [[String: Any]] ?? []).map(publication)
    return result
  }

  private static func publication(_ object: [String: Any]) -> Publication {
    let text = object["data"] as? String ?? ""
    return Publication(
      offset: UInt64(object["offset"] as? Int ?? 0), data: Array("\"\(text)\"".utf8),
      info: (object["info"] as? [String: Any]).map(info))
  }

  private static func info(_ object: [String: Any]) -> ClientInfo {
    ClientInfo(user: object["user"] as? String ?? "", client: object["client"] as? String ?? "")
  }
}
