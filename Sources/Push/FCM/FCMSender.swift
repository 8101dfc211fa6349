import HTTPClient
import Wire

/// Makes the requests for FCM's HTTP v1 API.
struct FCMSender: Sendable {
  let tokens: AccessTokens
  private let url: String
  private let tags: CollapseTags

  init(_ configuration: PushConfiguration.FCM, tokens: AccessTokens) {
    self.tokens = tokens
    url = "\(configuration.url)/v1/projects/\(configuration.account.projectID)/messages:send"
    tags = CollapseTags(secret: configuration.account.secret)
  }

  /// - Parameters:
  ///   - accessToken: of ``tokens``.
  ///   - now: seconds since 1970.
  func call(
    _ message: PushMessage, to device: PushDevice, _ target: FCMDevice, accessToken: String, now: Int64,
    milliseconds: Int
  ) throws(PreparationFault) -> HTTPCall {
    let tag = message.collapseKey.map { tags.tag($0, for: device) }
    let waiting = message.waitingKey.map { tags.tag($0, for: device) }
    let names = PushPayload.FCMNames(tag: tag, waiting: waiting)
    guard let payload = try? PushPayload.fcm(message, token: target.token, names, now: now) else {
      throw PreparationFault(.tooLarge)
    }
    return HTTPCall(
      url: url,
      headers: [
        (name: "Authorization", value: "Bearer \(accessToken)"), (name: "Content-Type", value: "application/json"),
      ], body: payload, timeoutMilliseconds: milliseconds)
  }
}

extension PushPayload {
  /// The digests of a message's keys for one device.
  struct FCMNames {
    /// What it is shown under, or was.
    var tag: String?
    /// Of messages with it that wait for the device, the newest is kept.
    var waiting: String?
  }

  /// A token may be an app's on any system, so all parts are there. A withdrawal has no texts, and an update has
  /// them in its data: Android and browsers give both to the app, and systems of Apple wake the app.
  static func fcm(
    _ message: PushMessage, token: String, _ names: FCMNames, now: Int64
  ) throws(TooLarge) -> [UInt8] {
    func encode(_ title: String, _ body: String) -> [UInt8] {
      encoded { writer in
        writer.object("message") { writer in
          writer.write("token", token)
          if !message.isForApp {
            writer.object("notification") {
              $0.write("title", title)
              $0.write("body", body)
            }
          }
          writer.write("data", raw: fcmData(message, names.tag, title, body))
          android(message, names.tag, &writer)
          apple(message, names.waiting, now, &writer)
          browser(message, names, &writer)
        }
      }
    }
    // The token, which is free of what JSON escapes, is not counted.
    let limit = fcmBytes + token.utf8.count
    if !message.isWithdrawal { return try fitted(message, limit, encode) }
    let bytes = encode("", "")
    if bytes.count > limit { throw TooLarge() }
    return bytes
  }

  /// FCM takes strings only, and gives them to the app beside its own.
  private static func fcmData(
    _ message: PushMessage, _ tag: String?, _ title: String, _ body: String
  ) -> [UInt8] {
    var data = message.data
    if message.isWithdrawal { data["withdraw"] = tag ?? "" }
    if message.isUpdate { (data["update"], data["update_title"], data["update_body"]) = (tag ?? "", title, body) }
    if message.isForApp, let badge = message.badge { data["badge"] = "\(badge)" }
    return self.data(data)
  }

  private static func android(_ message: PushMessage, _ tag: String?, _ writer: inout JSONWriter) {
    writer.object("android") { android in
      android.write("priority", message.urgency == .high ? "HIGH" : "NORMAL")
      android.write("ttl", "\(message.timeToLive)s")
      // Of the few keys that FCM keeps for a device that is away, an update takes none.
      if let tag, !message.isUpdate { android.write("collapse_key", tag) }
      if message.isForApp { return }
      android.object("notification") {
        if let tag { $0.write("tag", tag) }
        if let badge = message.badge { $0.write("notification_count", badge) }
        if message.hasSound { $0.write("default_sound", true) }
      }
    }
  }

  private static func apple(_ message: PushMessage, _ waiting: String?, _ now: Int64, _ writer: inout JSONWriter) {
    writer.object("apns") { apns in
      apns.object("headers") {
        $0.write("apns-priority", APNsSender.priority(message))
        $0.write("apns-push-type", message.isForApp ? "background" : "alert")
        $0.write("apns-expiration", "\(message.timeToLive == 0 ? 0 : now + Int64(message.timeToLive))")
        if let waiting { $0.write("apns-collapse-id", waiting) }
      }
      apns.object("payload") { payload in
        payload.object("aps") { aps in
          if message.isForApp { return aps.write("content-available", 1) }
          if let badge = message.badge { aps.write("badge", badge) }
          if message.hasSound { aps.write("sound", "default") }
        }
      }
    }
  }

  private static func browser(_ message: PushMessage, _ names: FCMNames, _ writer: inout JSONWriter) {
    writer.object("webpush") { webpush in
      webpush.object("headers") {
        $0.write("TTL", "\(message.timeToLive)")
        $0.write("Urgency", message.urgency.rawValue)
        if let waiting = names.waiting { $0.write("Topic", waiting) }
      }
      if message.isForApp { return }
      webpush.object("notification") {
        if let tag = names.tag { $0.write("tag", tag) }
        $0.write("silent", !message.hasSound)
      }
      if let link = message.link { webpush.object("fcm_options") { $0.write("link", link) } }
    }
  }
}
