import Wire

/// What the services are given of a message, as JSON.
enum PushPayload {
  /// The message does not fit, however short its texts.
  struct TooLarge: Error, Equatable {}

  /// Bytes of the text of a Web Push message: with the header of RFC 8188 and the tag they make the 4096 bytes that
  /// every push service takes (RFC 8030, section 7.2).
  static let webPushBytes = 3993
  /// Bytes of APNs' payload.
  static let apnsBytes = 4096
  /// Bytes of FCM's payload. It counts texts and data; here the whole message is counted, but for the token.
  static let fcmBytes = 4096

  // MARK: Web Push

  /// A notification is written in the declarative form of the Push API (W3C): Safari shows it by itself, elsewhere a
  /// service worker finds the same values in it. Without a page to open, which that form requires, it is the same JSON
  /// without `web_push`.
  static func webPush(_ message: PushMessage, tag: String?, link: String?) throws(TooLarge) -> [UInt8] {
    if message.isWithdrawal {
      return try bounded(webPushBytes) { writer in
        writer.write("withdraw", tag ?? "")
        if let badge = message.badge { writer.write("app_badge", badge) }
        writer.write("data", raw: data(message.data))
      }
    }
    return try fitted(message, webPushBytes) { title, body in
      encoded { writer in
        if message.isUpdate {
          // Safari would show it by itself, even where nothing is shown any more.
          writer.write("update", tag ?? "")
        } else if link != nil {
          writer.write("web_push", 8030)
          // A service worker may still choose what is shown.
          writer.write("mutable", true)
        }
        writer.object("notification") {
          $0.write("title", title)
          $0.write("body", body)
          if let link { $0.write("navigate", link) }
          if let tag { $0.write("tag", tag) }
          $0.write("silent", !message.hasSound)
          $0.write("data", raw: data(message.data))
        }
        if let badge = message.badge { writer.write("app_badge", badge) }
      }
    }
  }

  // MARK: APNs

  /// A withdrawal, or an update, is a background notification, whose `aps` may hold nothing that is shown or heard: the badge stands
  /// beside it, for the app to set.
  static func apns(_ message: PushMessage, tag: String?) throws(TooLarge) -> [UInt8] {
    if message.isWithdrawal {
      return try bounded(apnsBytes) { writer in
        writer.object("aps") { $0.write("content-available", 1) }
        writer.write("withdraw", tag ?? "")
        if let badge = message.badge { writer.write("badge", badge) }
        writer.write("data", raw: data(message.data))
      }
    }
    return try fitted(message, apnsBytes) { title, body in
      encoded { writer in
        if message.isUpdate { return appleUpdate(message, tag, title, body, &writer) }
        writer.object("aps") {
          $0.object("alert") {
            $0.write("title", title)
            $0.write("body", body)
          }
          if let badge = message.badge { $0.write("badge", badge) }
          if message.hasSound { $0.write("sound", "default") }
          if let tag { $0.write("thread-id", tag) }
        }
        writer.write("data", raw: data(message.data))
      }
    }
  }

  private static func appleUpdate(
    _ message: PushMessage, _ tag: String?, _ title: String, _ body: String, _ writer: inout JSONWriter
  ) {
    writer.object("aps") { $0.write("content-available", 1) }
    writer.write("update", tag ?? "")
    writer.write("title", title)
    writer.write("body", body)
    if let badge = message.badge { writer.write("badge", badge) }
    writer.write("data", raw: data(message.data))
  }

  // MARK: What they share

  /// A string map as JSON, its names in order, so that equal messages are equal bytes.
  static func data(_ data: [String: String]) -> [UInt8] {
    encoded { writer in
      for (name, value) in data.sorted(by: { $0.key < $1.key }) { writer.write(named: name, value) }
    }
  }

  static func encoded(_ content: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(capacity: 1024)
    writer.object { content(&$0) }
    return writer.bytes
  }

  static func bounded(_ limit: Int, _ content: (inout JSONWriter) -> Void) throws(TooLarge) -> [UInt8] {
    let bytes = encoded(content)
    if bytes.count > limit { throw TooLarge() }
    return bytes
  }

  /// A payload whose texts are as long as fits: the body is shortened first, then left out and the title shortened.
  ///
  /// - Parameter encode: the payload with a title and a body, each of which it holds once, as a JSON string.
  static func fitted(
    _ message: PushMessage, _ limit: Int, _ encode: (_ title: String, _ body: String) -> [UInt8]
  ) throws(TooLarge) -> [UInt8] {
    let (title, body) = (message.title, message.body)
    // A text of millions of characters is not written out to see that it is too long.
    if title.utf8.count + body.utf8.count <= limit {
      let whole = encode(title, body)
      if whole.count <= limit { return whole }
    }
    if title.utf8.count <= limit {
      let room = limit - encode(title, "").count
      if let beginning = ShortenedText.beginning(of: body, bytes: room) { return encode(title, beginning) }
    }
    let room = limit - encode("", "").count
    guard let beginning = ShortenedText.beginning(of: title, bytes: room) else { throw TooLarge() }
    return encode(beginning, "")
  }
}

/// Texts that are cut where a reader sees a cut, and not within a letter.
enum ShortenedText {
  static let ellipsis = "…"

  /// The text, or as much of its beginning as fits with an ellipsis, by whole characters as people see them.
  ///
  /// - Parameter bytes: that it may have within a JSON string.
  /// - Returns: nil where there is no room for an ellipsis.
  static func beginning(of text: String, bytes: Int) -> String? {
    var (used, end) = (0, text.startIndex)
    /// Where the last character ends after which there is still room for the ellipsis.
    var lastEnd: String.Index?
    while end < text.endIndex {
      if used + ellipsis.utf8.count <= bytes { lastEnd = end }
      let next = text.index(after: end)
      used += JSONText.quoted(String(text[end..<next])).utf8.count - 2
      if used > bytes { break }
      end = next
    }
    if used <= bytes { return text }
    guard let lastEnd else { return nil }
    var beginning = text[..<lastEnd]
    while beginning.last?.isWhitespace == true { beginning.removeLast() }
    return beginning + ellipsis
  }
}
