import Foundation
import Glibc
import Synchronization

/// A WebSocket client on a plain blocking socket, for tests of what a well-behaved client cannot do or does not show:
/// reading slowly or not at all, sending half a frame, the close code. It speaks the JSON format.
///
/// A thread of its own reads, so that tests never wait in `read`.
public final class WebSocketPeer: Sendable {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String
  }

  public struct Closing: Sendable, Equatable {
    /// Nil where the connection ended without a close frame.
    public var code: UInt16?
    public var reason: String
  }

  private let connection: Connection

  /// Connects, upgrades and begins to read.
  ///
  /// - Parameters:
  ///   - url: `ws://127.0.0.1:PORT/path`.
  ///   - receiveBufferBytes: size of the socket's buffer: with a small one, the server notices sooner that nobody
  ///     reads; nil: the system's.
  ///   - source: the address of this machine from which the client connects; nil: 127.0.0.1.
  ///   - headers: more lines of the request, such as `X-Forwarded-For: 192.0.2.1`.
  ///   - preface: bytes before everything else.
  ///   - onMessage: called on the reading thread with each message: one JSON object.
  public init(
    _ url: String, receiveBufferBytes: Int32? = nil, from source: String? = nil, headers: [String] = [],
    preface: [UInt8] = [], onMessage: @escaping @Sendable (String) -> Void
  ) throws {
    connection = try Connection(
      url, receiveBufferBytes: receiveBufferBytes, from: source, headers: headers, preface: preface, onMessage)
    let connection = connection
    Thread.detachNewThread { connection.read() }
  }

  deinit { connection.end() }

  /// Nil while the connection is open.
  public var closing: Closing? { connection.closing }

  /// Sends a text frame. Waits while the server does not read.
  ///
  /// - Returns: false where the connection is gone.
  @discardableResult
  public func send(_ text: String) -> Bool { connection.send(WebSocketFrame.masked(.text, Array(text.utf8))) }

  /// Sends bytes as they are: half frames, wrong frames.
  @discardableResult
  public func send(raw bytes: [UInt8]) -> Bool { connection.send(bytes) }

  /// Whether the socket takes more bytes now.
  public var takesMore: Bool { connection.isWritable }

  /// Stops taking bytes off the socket.
  public func pauseReading() { connection.isPaused.store(true, ordering: .sequentiallyConsistent) }
  public func resumeReading() { connection.isPaused.store(false, ordering: .sequentiallyConsistent) }

  /// Cuts the connection without a close frame, as a lost network does.
  public func cut() { connection.end() }

  private final class Connection: Sendable {
    let isPaused = Atomic<Bool>(false)
    private let descriptor: Int32
    private let onMessage: @Sendable (String) -> Void
    private let state = Mutex<Closing?>(nil)
    /// Locked while a frame is sent, so that frames do not mix.
    private let sending = Mutex<Void>(())

    var closing: Closing? { state.withLock { $0 } }

    init(
      _ url: String, receiveBufferBytes: Int32?, from source: String?, headers: [String], preface: [UInt8],
      _ onMessage: @escaping @Sendable (String) -> Void
    ) throws {
      guard let url = URL(string: url), let port = url.port, let host = url.host else {
        throw Failure(description: "\(url) is not an address of a WebSocket")
      }
      self.onMessage = onMessage
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw Failure(description: "no socket: errno \(errno)") }
      // Where this throws, the deinitialiser closes the socket.
      if let source { try bind(to: source) }
      try open(url, host, port, receiveBufferBytes, headers, preface)
    }

    deinit { close(descriptor) }

    private func bind(to source: String) throws {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr(source)
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard bound == 0 else { throw Failure(description: "\(source) cannot be used: errno \(errno)") }
    }

    private func open(
      _ url: URL, _ host: String, _ port: Int, _ receiveBufferBytes: Int32?, _ headers: [String], _ preface: [UInt8]
    ) throws {
      if var size = receiveBufferBytes {
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      }
      var limit = timeval(tv_sec: 120, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = inet_addr(host)
      let connected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard connected == 0 else { throw Failure(description: "\(url) refused the connection: errno \(errno)") }
      let request =
        ([
          "GET \(url.path) HTTP/1.1", "Host: \(host):\(port)", "Upgrade: websocket", "Connection: Upgrade",
          "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ] + headers + ["", ""]).joined(separator: "\r\n")
      guard send(preface + Array(request.utf8)) else { throw Failure(description: "\(url) took no request") }
      var head: [UInt8] = []
      while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        if count < 0 && errno == EINTR { continue }
        guard count == 1 else { throw Failure(description: "\(url) did not answer") }
        head.append(byte)
      }
      let text = String(decoding: head, as: UTF8.self)
      guard text.hasPrefix("HTTP/1.1 101") else { throw Failure(description: "\(url) answered \(text)") }
      limit = timeval(tv_sec: 0, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    func send(_ bytes: [UInt8]) -> Bool {
      sending.withLock { _ in
        var sent = 0
        while sent < bytes.count {
          let count = bytes[sent...].withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          if count < 0 && errno == EINTR { continue }
          if count <= 0 { return false }
          sent += count
        }
        return true
      }
    }

    var isWritable: Bool {
      var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      return poll(&item, 1, 0) == 1
    }

    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func read() {
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      var frames = WebSocketFrame.Reader()
      while true {
        while isPaused.load(ordering: .sequentiallyConsistent) && !isHungUp { usleep(5000) }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return finish(Closing(code: nil, reason: "")) }
        frames.append(buffer[..<count])
        while let (operation, payload) = frames.next() {
          switch operation {
          case .text:
            for line in payload.split(separator: 0x0A) { onMessage(String(decoding: line, as: UTF8.self)) }
          case .ping: _ = send(WebSocketFrame.masked(.pong, payload))
          case .close:
            let code = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
            finish(Closing(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self)))
            _ = send(WebSocketFrame.masked(.close, Array(payload.prefix(2))))
          case .pong, .binary, .continuation: break
          }
        }
      }
    }

    /// Whether the server, or `end`, has ended the connection.
    private var isHungUp: Bool {
      var item = pollfd(fd: descriptor, events: 0, revents: 0)
      return poll(&item, 1, 0) == 1 && item.revents & Int16(POLLHUP | POLLERR) != 0
    }

    private func finish(_ closing: Closing) { state.withLock { if $0 == nil { $0 = closing } } }
  }
}

/// Frames as in RFC 6455, section 5.2, as far as a test client needs them.
enum WebSocketFrame {
  enum Operation: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10
  }

  /// A whole frame with a mask of zeros, which leaves the payload as it is.
  static func masked(_ operation: Operation, _ payload: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x80 | operation.rawValue]
    switch payload.count {
    case ..<126: bytes.append(0x80 | UInt8(payload.count))
    case ..<65536: bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default:
      bytes.append(0x80 | 127)
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(payload.count >> shift & 255)) }
    }
    return bytes + [0, 0, 0, 0] + payload
  }

  /// Reads frames of a server, which are not masked, and not split here.
  struct Reader {
    private var bytes: [UInt8] = []
    private var start = 0

    mutating func append(_ more: ArraySlice<UInt8>) {
      bytes.removeSubrange(..<start)
      start = 0
      bytes += more
    }

    mutating func next() -> (Operation, [UInt8])? {
      let waiting = bytes[start...]
      guard waiting.count >= 2, let operation = Operation(rawValue: waiting[start] & 15) else { return nil }
      var length = Int(waiting[start + 1] & 127)
      var header = 2
      if length >= 126 {
        let digits = length == 126 ? 2 : 8
        guard waiting.count >= 2 + digits else { return nil }
        length = waiting[(start + 2)..<(start + 2 + digits)].reduce(0) { $0 << 8 | Int($1) }
        header += digits
      }
      guard waiting.count >= header + length else { return nil }
      let payload = Array(waiting[(start + header)..<(start + header + length)])
      start += header + length
      return (operation, payload)
    }
  }
}
