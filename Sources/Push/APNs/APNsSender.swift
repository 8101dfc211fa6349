import Cryptography
import HTTPClient

/// Makes the requests for APNs.
struct APNsSender: Sendable {
  let configuration: PushConfiguration.APNs
  let tokens: APNsTokens
  private let tags: CollapseTags

  init(_ configuration: PushConfiguration.APNs) throws(UnusableKey) {
    self.configuration = configuration
    tokens = APNsTokens(configuration)
    tags = CollapseTags(secret: try configuration.key.scalar())
  }

  /// Why a device cannot be reached; nil where it can.
  func fault(of device: APNsDevice) -> String? {
    guard let topic = device.topic, !configuration.topics.contains(topic) else { return nil }
    return "the topic \(topic) is not among push.apns.topics"
  }

  /// A request, the token that it is authorised with, and the name that the notification has with APNs.
  struct Prepared {
    var call: HTTPCall
    var token: String
    var id: String
  }

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - age: seconds of a clock that is never set back.
  func call(
    _ message: PushMessage, to device: PushDevice, _ target: APNsDevice, now: Int64, age: Int64, milliseconds: Int
  ) throws(PreparationFault) -> Prepared {
    if let fault = fault(of: target) { throw PreparationFault(.refused(fault)) }
    guard let topic = target.topic ?? configuration.topics.first else {
      throw PreparationFault(.refused("push.apns.topics is empty; write the bundle identifier of the app"))
    }
    let tag = message.collapseKey.map { tags.tag($0, for: device) }
    guard let body = try? PushPayload.apns(message, tag: tag) else { throw PreparationFault(.tooLarge) }
    let token = try tokens.token(now: now, age: age)
    let id = Self.newID()
    var headers = [
      (name: "authorization", value: "bearer \(token)"), (name: "apns-id", value: id),
      (name: "apns-topic", value: topic),
      (name: "apns-push-type", value: message.isForApp ? "background" : "alert"),
      (name: "apns-priority", value: Self.priority(message)),
      // 0: delivered now or never.
      (name: "apns-expiration", value: "\(message.timeToLive == 0 ? 0 : now + Int64(message.timeToLive))"),
      (name: "content-type", value: "application/json"),
    ]
    if let key = message.waitingKey {
      headers.append((name: "apns-collapse-id", value: tags.tag(key, for: device)))
    }
    let host = target.environment == .production ? configuration.productionURL : configuration.sandboxURL
    let call = HTTPCall(
      url: "\(host)/3/device/\(target.token)", headers: headers, body: body, timeoutMilliseconds: milliseconds)
    return Prepared(call: call, token: token, id: id)
  }

  /// 10: at once. 5: when the device's battery allows it, as background notifications must. 1: without waking it.
  static func priority(_ message: PushMessage) -> String {
    if message.isForApp { return "5" }
    return switch message.urgency {
    case .high: "10"
    case .normal: "5"
    case .low, .veryLow: "1"
    }
  }

  /// A UUID of random bits (RFC 9562, section 5.4).
  static func newID() -> String {
    var bytes = Randomness.bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { bytes[$0].hexadecimal }.joined(separator: "-")
  }
}
