public import Wire

/// One message for several devices, as the arguments of `push_send` say it:
///
///     {"devices": [{…}], "title": "Ada", "body": "Hello", "data": {"channel": "chat:7"}, "badge": 3, "urgency": "high",
///      "ttl": 3600, "collapse_key": "chat:7", "withdraw": false, "silent": false, "link": "https://example.com/chat"}
///
/// Everything but `devices` may be left out, but a notification that shows something needs a title. Other members are
/// passed over.
public struct PushOrder: Sendable, Equatable {
  public let devices: [PushDevice]
  public let message: PushMessage

  /// - Throws: error 107 with a sentence, which names the place of a device that cannot be read, counted from 0, and
  ///   holds nothing of its token or endpoint.
  public init(json: [UInt8]) throws(ClientError) {
    let fields = try JSONArguments(json, called: "the arguments of push_send")
    guard let values = fields["devices"]?.array, (1...PushRequest.mostDevices).contains(values.count) else {
      throw .badRequest.saying("devices must be a list of 1 to \(PushRequest.mostDevices) devices")
    }
    var devices: [PushDevice] = []
    for (place, value) in values.enumerated() {
      do throws(InvalidPushDevice) { devices.append(try PushDevice(value)) } catch {
        throw .badRequest.saying("devices[\(place)]: \(error.description)")
      }
    }
    self.devices = devices
    message = try Self.message(fields)
  }

  private static func message(_ fields: JSONArguments) throws(ClientError) -> PushMessage {
    let isWithdrawal = try fields.flag("withdraw") ?? false
    let title = try fields.string("title") ?? ""
    guard isWithdrawal || !title.isEmpty else {
      throw .badRequest.saying(
        "push_send needs the title; without one only what was shown can be taken back (withdraw)")
    }
    let key = try fields.string("collapse_key") ?? ""
    let (body, data) = (try fields.string("body") ?? "", try fields.stringMap("data") ?? [:])
    let (badge, link) = (try fields.number("badge", as: Int.self), try fields.string("link"))
    let (urgency, time) = (try urgency(fields), try timeToLive(fields))
    let isSilent = try fields.flag("silent") ?? false
    do throws(PushMessage.Invalid) {
      return try PushMessage(
        title: title, body: body, data: data, badge: badge, urgency: urgency, timeToLive: time,
        collapseKey: key.isEmpty ? nil : key, isWithdrawal: isWithdrawal, hasSound: !isSilent, link: link)
    } catch {
      throw .badRequest.saying(error.description)
    }
  }

  private static func urgency(_ fields: JSONArguments) throws(ClientError) -> PushMessage.Urgency {
    guard let text = try fields.string("urgency") else { return .high }
    guard let urgency = PushMessage.Urgency(rawValue: text) else {
      let known = PushMessage.Urgency.allCases.map(\.rawValue).joined(separator: ", ")
      throw .badRequest.saying("urgency is none; write one of \(known)")
    }
    return urgency
  }

  private static func timeToLive(_ fields: JSONArguments) throws(ClientError) -> Int {
    guard let seconds = try fields.number("ttl", as: Int.self) else { return 86_400 }
    guard seconds >= 0 else {
      throw .badRequest.saying("ttl is \(seconds); write seconds from 0 to \(PushMessage.longestTimeToLive)")
    }
    return seconds
  }

  /// What `push_send` answers.
  ///
  /// - Parameter outcomes: one for each device, in their order.
  public func json(of outcomes: [PushOutcome]) -> [UInt8] {
    var writer = JSONWriter(capacity: 128 * devices.count)
    writer.object { writer in
      writer.list("devices") { writer in
        for (device, outcome) in zip(devices, outcomes) {
          writer.object { writer in
            writer.write("id", device.id)
            outcome.write(to: &writer)
          }
        }
      }
    }
    return writer.bytes
  }
}

extension PushOutcome {
  /// The outcome in a word, as answers and metrics have it.
  public var name: String {
    switch self {
    case .taken: "taken"
    case .forget: "forget"
    case .later: "later"
    case .tooLarge: "too_large"
    case .refused: "refused"
    // Backends do the same after both. That it may have been taken stands in the reason.
    case .failed, .unanswered: "failed"
    }
  }

  /// All that ``name`` can be.
  static let names = ["taken", "forget", "later", "too_large", "refused", "failed"]

  fileprivate func write(to writer: inout JSONWriter) {
    writer.write("outcome", name)
    switch self {
    case .taken: break
    case .forget(let reason, let since):
      writer.write("reason", reason)
      if let since { writer.write("since", since) }
    case .later(let seconds, let reason):
      writer.write("reason", reason)
      if let seconds { writer.write("after", seconds) }
    case .tooLarge(let reason), .refused(let reason), .failed(let reason), .unanswered(let reason):
      writer.write("reason", reason)
    }
  }
}
