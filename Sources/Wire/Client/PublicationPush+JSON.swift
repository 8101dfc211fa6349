#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The one place that says how a publication stands in JSON: as a push, and in every other reply by way of ``JSONWriter``.
extension PublicationPush {
  @inline(__always)
  func writeJSON(to sink: inout some ByteSink) {
    sink.put("{\"push\":{\"channel\":\"")
    unsafe Self.escape(channel, to: &sink)
    sink.put("\",\"pub\":{")
    var comma = Comma()
    writeData(&comma, to: &sink)
    writeAbout(&comma, to: &sink)
    sink.put("}}}")
  }

  /// The payload; a value is left out where it is empty.
  @inline(__always)
  func writeData(_ comma: inout Comma, to sink: inout some ByteSink) {
    switch payload {
    case .value:
      if unsafe data.isEmpty { return }
      comma.put("\"data\":", to: &sink)
      unsafe Self.raw(data, to: &sink)
    case .base64:
      comma.put("\"data\":\"", to: &sink)
      unsafe Base64.standard.encode(data) { unsafe sink.put($0) }
      sink.put("\"")
    case .text:
      comma.put("\"data\":\"", to: &sink)
      unsafe JSONText.escape(data) { unsafe sink.put($0) }
      sink.put("\"")
    }
  }

  /// All but the payload.
  @inline(__always)
  func writeAbout(_ comma: inout Comma, to sink: inout some ByteSink) {
    if let info {
      comma.put("\"info\":", to: &sink)
      write(info, to: &sink)
    }
    if offset > 0 {
      comma.put("\"offset\":", to: &sink)
      decimal(offset, to: &sink)
    }
    if !tags.isEmpty {
      comma.put("\"tags\":", to: &sink)
      write(tags, to: &sink)
    }
    if isPatch { comma.put("\"delta\":true", to: &sink) }
    if time > 0 {
      comma.put("\"time\":", to: &sink)
      decimal(UInt64(time), to: &sink)
    }
  }

  @inline(__always)
  private func write(_ info: Info, to sink: inout some ByteSink) {
    sink.put("{\"user\":\"")
    Self.writeMembers(of: info, to: &sink)
    sink.put("}")
  }

  /// The members of a client's info, from the first one's value on: what stands before it differs. Those of user and
  /// client are written where they are empty too: an SDK would show `undefined` otherwise.
  @inline(__always)
  static func writeMembers(of info: Info, to sink: inout some ByteSink) {
    unsafe escape(info.user, to: &sink)
    sink.put("\",\"client\":\"")
    unsafe escape(info.client, to: &sink)
    sink.put("\"")
    if let connection = unsafe info.connection {
      sink.put(",\"conn_info\":")
      unsafe raw(connection, to: &sink)
    }
    if let channel = unsafe info.channel {
      sink.put(",\"chan_info\":")
      unsafe raw(channel, to: &sink)
    }
  }

  private func write(_ tags: [String: String], to sink: inout some ByteSink) {
    sink.put("{")
    var comma = Comma()
    for (key, value) in tags.sorted(by: { $0.key < $1.key }) {
      comma.put("\"", to: &sink)
      Self.escape(key, to: &sink)
      sink.put("\":\"")
      Self.escape(value, to: &sink)
      sink.put("\"")
    }
    sink.put("}")
  }

  /// Between the members of one object.
  struct Comma {
    var isDue = false

    @inline(__always)
    mutating func put(_ key: StaticString, to sink: inout some ByteSink) {
      if isDue { sink.put(",") }
      isDue = true
      sink.put(key)
    }
  }

  // MARK: Values

  private static func escape(_ text: String, to sink: inout some ByteSink) {
    var text = text
    text.withUTF8 { unsafe escape(UnsafeRawBufferPointer($0), to: &sink) }
  }

  @inline(__always)
  private static func escape(_ text: UnsafeRawBufferPointer, to sink: inout some ByteSink) {
    if unsafe JSONText.isPlain(text) { return unsafe sink.put(text) }
    unsafe JSONText.escape(text) { unsafe sink.put($0) }
  }

  /// A newline between its tokens becomes a space, because SDKs split a frame at newlines.
  private static func raw(_ value: UnsafeRawBufferPointer, to sink: inout some ByteSink) {
    guard let start = value.baseAddress else { return }
    let hasNewline = unsafe memchr(start, 0x0A, value.count) != nil || memchr(start, 0x0D, value.count) != nil
    if !hasNewline { return unsafe sink.put(value) }
    let spaced = unsafe value.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    unsafe spaced.withUnsafeBytes { unsafe sink.put($0) }
  }

  @inline(__always)
  private func decimal(_ value: UInt64, to sink: inout some ByteSink) {
    unsafe sink.put(decimalDigits(value)) { digits in
      var rest = value
      for place in (0..<digits.count).reversed() {
        unsafe digits[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
    }
  }

  /// How many digits the number takes.
  private func decimalDigits(_ value: UInt64) -> Int {
    var (rest, digits) = (value, 1)
    while rest >= 10_000 {
      rest /= 10_000
      digits += 4
    }
    return rest < 10 ? digits : rest < 100 ? digits + 1 : rest < 1000 ? digits + 2 : digits + 3
  }
}
