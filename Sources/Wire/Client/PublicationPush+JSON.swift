#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The same text as ``JSONReplyEncoder`` would write: a test compares the two.
extension PublicationPush {
  @inline(__always)
  func writeJSON(to sink: inout some ByteSink) {
    sink.put("{\"push\":{\"channel\":\"")
    escape(channel, to: &sink)
    sink.put("\",\"pub\":{")
    var comma = Comma()
    if binaryData {
      comma.put("\"data\":\"", to: &sink)
      unsafe Base64.encode(publication.data) { unsafe sink.put($0) }
      sink.put("\"")
    } else if !publication.data.isEmpty {
      comma.put("\"data\":", to: &sink)
      raw(publication.data, to: &sink)
    }
    if let info = publication.info {
      comma.put("\"info\":", to: &sink)
      write(info, to: &sink)
    }
    if publication.offset > 0 {
      comma.put("\"offset\":", to: &sink)
      decimal(publication.offset, to: &sink)
    }
    if !publication.tags.isEmpty {
      comma.put("\"tags\":", to: &sink)
      write(publication.tags, to: &sink)
    }
    if publication.time > 0 {
      comma.put("\"time\":", to: &sink)
      decimal(UInt64(publication.time), to: &sink)
    }
    sink.put("}}}")
  }

  @inline(__always)
  private func write(_ info: ClientInfo, to sink: inout some ByteSink) {
    sink.put("{")
    var comma = Comma()
    if !info.user.isEmpty {
      comma.put("\"user\":\"", to: &sink)
      escape(info.user, to: &sink)
      sink.put("\"")
    }
    if !info.client.isEmpty {
      comma.put("\"client\":\"", to: &sink)
      escape(info.client, to: &sink)
      sink.put("\"")
    }
    if let connection = info.connectionInfo {
      comma.put("\"conn_info\":", to: &sink)
      raw(connection, to: &sink)
    }
    if let channel = info.channelInfo {
      comma.put("\"chan_info\":", to: &sink)
      raw(channel, to: &sink)
    }
    sink.put("}")
  }

  private func write(_ tags: [String: String], to sink: inout some ByteSink) {
    sink.put("{")
    var comma = Comma()
    for (key, value) in tags.sorted(by: { $0.key < $1.key }) {
      comma.put("\"", to: &sink)
      escape(key, to: &sink)
      sink.put("\":\"")
      escape(value, to: &sink)
      sink.put("\"")
    }
    sink.put("}")
  }

  /// Between the members of one object.
  private struct Comma {
    private var isDue = false

    @inline(__always)
    mutating func put(_ key: StaticString, to sink: inout some ByteSink) {
      if isDue { sink.put(",") }
      isDue = true
      sink.put(key)
    }
  }

  // MARK: Values

  private func escape(_ text: String, to sink: inout some ByteSink) {
    unsafe JSONText.escape(text) { unsafe sink.put($0) }
  }

  /// A newline between its tokens becomes a space, because SDKs split a frame at newlines.
  private func raw(_ value: [UInt8], to sink: inout some ByteSink) {
    unsafe value.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      let hasNewline = unsafe memchr(start, 0x0A, bytes.count) != nil || memchr(start, 0x0D, bytes.count) != nil
      if !hasNewline { return unsafe sink.put(bytes) }
      let spaced = unsafe bytes.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
      unsafe spaced.withUnsafeBytes { unsafe sink.put($0) }
    }
  }

  private func decimal(_ value: UInt64, to sink: inout some ByteSink) {
    // 20 digits hold any number.
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &digits) { digits in
      var start = digits.count
      var rest = value
      repeat {
        start -= 1
        unsafe digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      unsafe sink.put(UnsafeRawBufferPointer(rebasing: digits[start...]))
    }
  }
}
