import Foundation

/// A blocking client that says exactly what a test tells it, right or wrong.
final class ListenerRawClient {
  enum Failure: Error { case cannotConnect(Int32), timedOut, reset(Int32), cannotSend(Int32) }

  let fd: Int32
  private var buffer: [UInt8] = []

  /// - Parameter receiveBufferBytes: a small one makes a reader that stalls felt soon.
  /// - Parameter source: which of this machine's addresses it comes from; nil: 127.0.0.1, or ::1.
  init(port: Int, ipv6: Bool = false, receiveBufferBytes: Int32? = nil, from source: String? = nil) throws {
    fd = socket(ipv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var bytes = receiveBufferBytes { setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, 4) }
    var timeout = timeval(tv_sec: 600, tv_usec: 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    var on: Int32 = 1
    setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    if let source {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      inet_pton(AF_INET, source, &address.sin_addr)
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
      guard bound == 0 else { throw Failure.cannotConnect(errno) }
    }
    let failed: Int32
    if ipv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(port).bigEndian
      inet_pton(AF_INET6, "::1", &address.sin6_addr)
      failed = Self.connect(fd, &address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
      failed = Self.connect(fd, &address)
    }
    if failed != 0 { throw Failure.cannotConnect(errno) }
  }

  deinit { close(fd) }

  private static func connect<Address>(_ fd: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(fd, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  // MARK: Bytes

  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Foundation.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if sent < 0 && errno == EINTR { continue }
      if sent < 0 { throw Failure.cannotSend(errno) }
      rest = rest.dropFirst(sent)
    }
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Each byte in a segment of its own.
  func drip(_ bytes: [UInt8]) throws { for byte in bytes { try send([byte]) } }

  func shutdownWrite() { shutdown(fd, Int32(SHUT_WR)) }

  /// Whether something is here to read, or the stream has ended.
  var hasBytes: Bool {
    var question = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    return !buffer.isEmpty || poll(&question, 1, 0) > 0
  }

  /// False at the end of the stream; a reset counts as one.
  private func fill() throws -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var n = recv(fd, &chunk, chunk.count, 0)
    // Child processes of other tests end while this one waits.
    while n < 0 && errno == EINTR { n = recv(fd, &chunk, chunk.count, 0) }
    if n < 0 {
      if errno == ECONNRESET { return false }
      throw errno == EAGAIN ? Failure.timedOut : Failure.reset(errno)
    }
    buffer += chunk[..<n]
    return n > 0
  }

  /// Nil where the stream ends first.
  func read(_ count: Int) throws -> [UInt8]? {
    while buffer.count < count { if try !fill() { return nil } }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  /// Everything until the peer closes.
  func readToEnd() throws -> [UInt8] {
    while try fill() {}
    defer { buffer = [] }
    return buffer
  }

  /// Up to and with the empty line, or everything where the stream ends first.
  func readHead() throws -> String {
    let end = Array("\r\n\r\n".utf8)
    var searched = 0
    while true {
      if buffer.count >= 4 {
        for start in searched...(buffer.count - 4) where Array(buffer[start..<(start + 4)]) == end {
          defer { buffer.removeFirst(start + 4) }
          return String(decoding: buffer[..<(start + 4)], as: UTF8.self)
        }
        searched = buffer.count - 3
      }
      if try !fill() { return String(decoding: buffer, as: UTF8.self) }
    }
  }

  // MARK: WebSocket

  static func upgradeRequest(
    path: String = "/connection/websocket", method: String = "GET", host: String? = "localhost",
    replacing: [String: String?] = [:], adding: [String] = []
  ) -> String {
    var headers: [(String, String?)] = [
      ("Host", host), ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
      ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    for (name, value) in replacing { headers = headers.map { $0.0 == name ? (name, value) : $0 } }
    let lines = headers.compactMap { name, value in value.map { "\(name): \($0)" } } + adding
    return "\(method) \(path) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  /// Sends a proper request and returns the head of the answer.
  @discardableResult
  func upgrade(path: String = "/connection/websocket", adding: [String] = []) throws -> String {
    try send(Self.upgradeRequest(path: path, adding: adding))
    return try readHead()
  }

  /// - Parameter first: the first byte: FIN, reserved bits and opcode.
  static func frame(_ first: UInt8, _ payload: [UInt8], masked: Bool = true, length: [UInt8]? = nil) -> [UInt8] {
    var bytes = [first]
    let maskBit: UInt8 = masked ? 0x80 : 0
    if let length {
      bytes += [length[0] | maskBit] + length[1...]
    } else if payload.count < 126 {
      bytes.append(UInt8(payload.count) | maskBit)
    } else if payload.count < 65_536 {
      bytes += [126 | maskBit, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    } else {
      bytes.append(127 | maskBit)
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(payload.count >> shift & 0xFF)) }
    }
    guard masked else { return bytes + payload }
    let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    return bytes + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
  }

  static func text(_ text: String) -> [UInt8] { frame(0x81, Array(text.utf8)) }

  struct Frame: Equatable {
    var first: UInt8
    var payload: [UInt8]
    var closeCode: Int? { first == 0x88 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
  }

  /// The next frame, or nil at the end of the stream.
  func readFrame() throws -> Frame? {
    guard let header = try read(2) else { return nil }
    var length = Int(header[1] & 0x7F)
    if length >= 126 {
      guard let bytes = try read(length == 126 ? 2 : 8) else { return nil }
      length = bytes.reduce(0) { $0 << 8 | Int($1) }
    }
    guard let payload = try read(length) else { return nil }
    return Frame(first: header[0], payload: payload)
  }
}
