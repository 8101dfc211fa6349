import COpenSSL

/// The WebSocket client's side of RFC 6455: the upgrade and the frames' heads.
enum WebSocketCodec {
  /// Head of a frame from a server.
  struct Head {
    var isFinal: Bool
    var opcode: UInt8
    /// The payload is compressed (RFC 7692).
    var isCompressed: Bool
    /// Bytes of the head, and of the payload behind it.
    var length: Int
    var payload: Int
  }

  /// Largest frame that a server may send, in bytes.
  static let largestFrame: UInt64 = 64 << 20

  // MARK: The upgrade (section 4)

  static func request(
    path: String, address: ServerAddress, subprotocol: String?, compresses: Bool = false, key: String
  ) -> String {
    let host = address.host.contains(":") ? "[\(address.host)]" : address.host
    var lines = [
      "GET \(path) HTTP/1.1", "Host: \(host):\(address.port)", "Upgrade: websocket", "Connection: Upgrade",
      "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(key)",
    ]
    if let subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
    if compresses {
      lines.append(
        "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover")
    }
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  static func makeKey(_ random: UInt64, _ more: UInt64) -> String {
    var bytes: [UInt8] = []
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: random >> UInt64(shift)))
      bytes.append(UInt8(truncatingIfNeeded: more >> UInt64(shift)))
    }
    return Base64.encode(bytes)
  }

  /// What Sec-WebSocket-Accept has to say to this key.
  static func accept(_ key: String) -> String {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    var length: UInt32 = 20
    _ = unsafe EVP_Digest(text, text.count, &digest, &length, EVP_sha1(), nil)
    return Base64.encode(digest)
  }

  /// Reads the answer to an upgrade.
  ///
  /// - Parameter compresses: compression was asked for.
  /// - Returns: bytes of the head; nil while it is not whole.
  /// - Throws: a sentence with the status and the body where the server refused.
  static func readUpgrade(
    _ bytes: UnsafeRawBufferPointer, key: String, compresses: Bool = false
  ) throws(BenchError) -> Int? {
    let end: [UInt8] = [13, 10, 13, 10]
    let limit = min(bytes.count, 16 << 10)
    guard
      let place = (0..<max(0, limit - 3)).first(where: {
        unsafe bytes[$0] == 13 && bytes[$0..<($0 + 4)].elementsEqual(end)
      })
    else {
      if bytes.count >= 16 << 10 { throw BenchError("the answer to the upgrade has no end within 16 KiB") }
      return nil
    }
    let lines = unsafe String(decoding: bytes[..<place], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first.map(String.init) ?? ""
    guard status.hasPrefix("HTTP/1.1 101") else {
      let body = unsafe String(decoding: bytes[(place + 4)...].prefix(300), as: UTF8.self)
      throw BenchError("the upgrade to WebSocket was refused: \(status)\(body.isEmpty ? "" : ": \(body)")")
    }
    let isAccepted = lines.dropFirst().contains { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return parts.count == 2 && parts[0].lowercased() == "sec-websocket-accept"
        && parts[1].drop { $0 == " " } == accept(key)
    }
    guard isAccepted else { throw BenchError("the server answers the upgrade with a wrong Sec-WebSocket-Accept") }
    if compresses
      && !lines.contains(where: { $0.lowercased().hasPrefix("sec-websocket-extensions: permessage-deflate") })
    {
      throw BenchError("the server does not compress; turn it on (fanfare: server.compression.enabled)")
    }
    return place + 4
  }

  // MARK: Frames (section 5)

  /// Reads a frame's head; nil while it is not whole.
  @inline(__always)
  static func readHead(_ bytes: UnsafeRawPointer, _ count: Int) throws(BenchError) -> Head? {
    guard count >= 2 else { return nil }
    let (first, second) = unsafe (bytes.load(as: UInt8.self), bytes.load(fromByteOffset: 1, as: UInt8.self))
    var head = Head(
      isFinal: first & 0x80 != 0, opcode: first & 15, isCompressed: first & 0x40 != 0, length: 2, payload: Int(second))
    // A masked frame's length is above 127 and comes here too.
    if second >= 126 {
      guard second < 128 else { throw BenchError("the server masks its frames") }
      head.length = second == 126 ? 4 : 10
      guard count >= head.length else { return nil }
      if second == 126 {
        head.payload = unsafe Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      } else {
        let length = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
        guard length <= largestFrame else { throw BenchError("the server sends a frame of \(length) bytes") }
        head.payload = Int(length)
      }
    }
    return head
  }

  /// Appends one whole masked frame.
  static func append(
    opcode: UInt8, _ payload: UnsafeRawBufferPointer, mask: UInt32, to out: inout ByteStore
  ) {
    let place = unsafe out.reserve(payload.count + 14)
    unsafe place.storeBytes(of: 0x80 | opcode, as: UInt8.self)
    var head = 2
    switch payload.count {
    case ..<126: unsafe place.storeBytes(of: 0x80 | UInt8(payload.count), toByteOffset: 1, as: UInt8.self)
    case ..<65536:
      unsafe place.storeBytes(of: 0x80 | 126, toByteOffset: 1, as: UInt8.self)
      unsafe (place + 2).storeBytes(of: UInt16(payload.count).bigEndian, as: UInt16.self)
      head = 4
    default:
      unsafe place.storeBytes(of: 0x80 | 127, toByteOffset: 1, as: UInt8.self)
      unsafe (place + 2).storeBytes(of: UInt64(payload.count).bigEndian, as: UInt64.self)
      head = 10
    }
    unsafe (place + head).storeBytes(of: mask, as: UInt32.self)
    unsafe unmask(payload, mask, to: place + head + 4)
    out.commit(head + 4 + payload.count)
  }

  /// Masks or unmasks, eight bytes at a time.
  static func unmask(_ payload: UnsafeRawBufferPointer, _ mask: UInt32, to target: UnsafeMutableRawPointer) {
    guard let source = payload.baseAddress else { return }
    let wide = UInt64(mask) << 32 | UInt64(mask)
    var place = 0
    while place + 8 <= payload.count {
      unsafe (target + place).storeBytes(
        of: source.loadUnaligned(fromByteOffset: place, as: UInt64.self) ^ wide, as: UInt64.self)
      place += 8
    }
    var rest = wide
    while place < payload.count {
      let byte = unsafe source.load(fromByteOffset: place, as: UInt8.self)
      unsafe (target + place).storeBytes(of: byte ^ UInt8(truncatingIfNeeded: rest), as: UInt8.self)
      rest >>= 8
      place += 1
    }
  }
}

/// Base64 (RFC 4648).
enum Base64 {
  static func encode(_ bytes: [UInt8]) -> String {
    var out = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = unsafe EVP_EncodeBlock(&out, bytes, Int32(bytes.count))
    return String(decoding: out.prefix(Int(count)), as: UTF8.self)
  }

  /// Without padding, for tokens.
  static func encodeForURL(_ bytes: [UInt8]) -> String {
    String(
      encode(bytes).filter { $0 != "=" }.map { character in
        character == "+" ? "-" : character == "/" ? "_" : character
      })
  }
}
