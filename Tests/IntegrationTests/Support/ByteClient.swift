import COpenSSL
import Glibc
import Wire

/// A WebSocket client on a blocking socket that judges every byte it gets, in steps as small as a test wants, and that
/// ends as rudely as a test wants. For one thread at a time.
final class ByteClient {
  /// What the server sent is not what a server may send.
  struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  /// The connection is over.
  struct Ended: Error, Equatable {
    /// The code of the Close frame; nil where none came.
    var code: Int?
  }

  struct Options {
    var format = WireFormat.json
    var usesTLS = false
    /// Small: the kernel holds little for a reader that stalls.
    var receiveBufferBytes: Int32?
    /// Largest TCP segment. On loopback it is 64 KiB, and the server's socket takes megabytes before it is full; with
    /// small ones it is full after some kilobytes.
    var segmentBytes: Int32?
    /// Seconds of silence in `read` after which the test has failed.
    var patienceSeconds = 300
  }

  enum Frame {
    case message([UInt8])
    case ping([UInt8])
    case pong
  }

  static let largestMessage = 4 << 20

  let format: WireFormat
  private var descriptor: Int32
  private let port: Int
  private var ssl: OpaquePointer?
  private var buffer: [UInt8] = []
  /// Everything before it was taken.
  private var start = 0

  init(port: Int, _ options: Options = .init()) throws {
    format = options.format
    self.port = port
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure("no socket: errno \(errno)") }
    if let bytes = options.receiveBufferBytes { set(SOL_SOCKET, SO_RCVBUF, bytes) }
    if let bytes = options.segmentBytes { set(Int32(IPPROTO_TCP), TCP_MAXSEG, bytes) }
    set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: options.patienceSeconds, tv_usec: 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port)).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let failed = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard failed == 0 else { throw Failure("port \(port) refused the connection: errno \(errno)") }
    if options.usesTLS { try startTLS() }
  }

  deinit { close() }

  private func set<Value: BitwiseCopyable>(_ level: Int32, _ option: Int32, _ value: Value) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
  }

  /// Made once. A server that went must not end the tests by SIGPIPE, which OpenSSL's writes would bring.
  nonisolated(unsafe) private static let context: OpaquePointer? = {
    signal(SIGPIPE, SIG_IGN)
    return SSL_CTX_new(TLS_client_method())
  }()

  private func startTLS() throws {
    guard let context = Self.context, let made = SSL_new(context) else { throw Failure("no TLS") }
    ssl = made
    SSL_set_fd(made, descriptor)
    guard SSL_connect(made) == 1 else { throw Failure("the TLS handshake failed") }
  }

  // MARK: Opening

  var upgradeRequest: String {
    var lines = [
      "GET /connection/websocket HTTP/1.1", "Host: 127.0.0.1:\(port)", "Upgrade: websocket", "Connection: Upgrade",
      "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    if format == .protobuf { lines.append("Sec-WebSocket-Protocol: centrifuge-protobuf") }
    return (lines + ["", ""]).joined(separator: "\r\n")
  }

  /// Upgrades. Anything but the answer is a violation: no frame may come before it.
  func upgrade() throws {
    try send(Array(upgradeRequest.utf8))
    var end: Int?
    while end == nil {
      try fill(upTo: 4096)
      let head = buffer.prefix(12)
      guard head.elementsEqual("HTTP/1.1 101".utf8.prefix(head.count)) else {
        throw Violation(description: "instead of the upgrade came \(Self.excerpt(buffer))")
      }
      end = buffer.indices.dropFirst(3).first { buffer[($0 - 3)...$0].elementsEqual([13, 10, 13, 10]) }
    }
    start = (end ?? 0) + 1
  }

  // MARK: Sending

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { rest in
        if let ssl { return Int(SSL_write(ssl, rest.baseAddress, Int32(rest.count))) }
        return Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && ssl == nil && errno == EINTR { continue }
      guard count > 0 else { throw Ended(code: nil) }
      sent += count
    }
  }

  /// Sends one message as a frame.
  func send(message payload: [UInt8]) throws {
    var frame: [UInt8] = [format == .json ? 0x81 : 0x82]
    if payload.count < 126 {
      frame.append(0x80 | UInt8(payload.count))
    } else {
      frame += [0x80 | 126, UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255)]
    }
    try send(frame + [0, 0, 0, 0] + payload)
  }

  // MARK: Receiving

  /// The next whole frame of what was read, without reading more.
  func nextFrame() throws -> Frame? {
    let available = buffer.count - start
    guard available >= 2 else { return nil }
    let (first, second) = (buffer[start], buffer[start + 1])
    let opcode = first & 15
    guard first & 0x70 == 0, first & 0x80 != 0, second & 0x80 == 0,
      [Opcode.close, Opcode.ping, Opcode.pong, format == .json ? Opcode.text : Opcode.binary].contains(opcode)
    else { throw Violation(description: "no frame begins with \(Self.excerpt(Array(buffer[start...])))") }
    var (header, length) = (2, Int(second))
    if length >= 126 {
      header += length == 126 ? 2 : 8
      guard available >= header else { return nil }
      length = buffer[(start + 2)..<(start + header)].reduce(0) { $0 << 8 | Int($1) }
    }
    guard length <= Self.largestMessage else { throw Violation(description: "a frame of \(length) bytes") }
    guard available >= header + length else { return nil }
    let payload = Array(buffer[(start + header)..<(start + header + length)])
    start += header + length
    switch opcode {
    case Opcode.close: throw Ended(code: payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil)
    case Opcode.ping: return .ping(payload)
    case Opcode.pong: return .pong
    default: return .message(payload)
    }
  }

  /// Waits for the next message's payload, reading at most so many bytes at a time.
  func nextMessage(step: Int = 64 << 10) throws -> [UInt8] {
    while true {
      switch try nextFrame() {
      case .message(let payload): return payload
      case .ping, .pong: continue
      case nil: try fill(upTo: step)
      }
    }
  }

  /// Reads at most so many bytes; waits for the first.
  func fill(upTo limit: Int) throws {
    guard try read(limit, flags: 0) else { throw Failure("the server was silent for too long") }
  }

  /// Reads what is there.
  ///
  /// - Returns: false where nothing is.
  func fillFromWhatIsThere(upTo limit: Int = 64 << 10) throws -> Bool { try read(limit, flags: Int32(MSG_DONTWAIT)) }

  private func read(_ limit: Int, flags: Int32) throws -> Bool {
    if start > 1 << 16 || start == buffer.count {
      buffer.removeSubrange(..<start)
      start = 0
    }
    while true {
      let filled = buffer.count
      // Grown and cut again in one go: a step of three bytes costs no copy of what waits.
      var result = 0
      withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { space in
        if let ssl {
          result = Int(SSL_read(ssl, space.baseAddress, Int32(limit)))
        } else {
          result = recv(descriptor, space.baseAddress, limit, flags)
        }
        if result > 0 { buffer.append(contentsOf: space[..<result]) }
      }
      if result > 0 { return buffer.count > filled }
      if result == 0 || ssl != nil { throw Ended(code: nil) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return false
      default: throw Ended(code: nil)
      }
    }
  }

  /// Bytes of a frame that has begun and is not whole; 0 between frames.
  var unfinishedBytes: Int { buffer.count - start }

  static func excerpt(_ bytes: [UInt8]) -> String {
    String(decoding: bytes.prefix(120), as: UTF8.self).debugDescription
  }

  // MARK: Ending

  /// Ends with a reset, whatever is on its way in either direction.
  func reset() {
    if descriptor >= 0 { set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0)) }
    close()
  }

  /// A FIN: nothing more will be sent, though more could still be read.
  func shutDownOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

  func close() {
    if let ssl { SSL_free(ssl) }
    ssl = nil
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}
