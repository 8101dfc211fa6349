import Foundation
import Glibc
import Synchronization

/// The way of a client's messages to a server and back, whatever it is.
public protocol PeerSocket: AnyObject, Sendable {
  /// Nil while the connection is open.
  var closing: WebSocketPeer.Closing? { get }
  /// Whether the way out takes more now.
  var takesMore: Bool { get }
  /// - Returns: false where the connection is gone.
  @discardableResult
  func send(_ text: String) -> Bool
  /// Stops taking bytes off the socket.
  func pauseReading()
  func resumeReading()
  /// Cuts the connection without a word, as a lost network does.
  func cut()
}

extension WebSocketPeer: PeerSocket {}

/// A client without a WebSocket, on plain blocking sockets: it hears the server by an answer that does not end, and
/// each message that it sends is a request. It speaks the JSON format.
///
/// The first message has to be the connect command. What is sent before its answer has come waits for that.
public final class StreamPeer: PeerSocket {
  public enum Kind: String, Sendable {
    case events = "sse"
    case lines = "http_stream"
  }

  private struct State {
    var hasBegun = false
    /// As the connect result named them.
    var session: (name: String, node: String)?
    var waiting: [String] = []
    var closing: WebSocketPeer.Closing?
    /// Statuses of the answers to commands.
    var statuses: [Int] = []
  }

  private let url: URL
  private let kind: Kind
  private let onMessage: @Sendable (String) -> Void
  private let stream: BlockingSocket
  private let isPaused = Atomic<Bool>(false)
  private let state = Mutex(State())
  /// Locked while a request and its answer are under way.
  private let posting = Mutex<BlockingSocket?>(nil)

  /// - Parameters:
  ///   - url: `ws://127.0.0.1:PORT/path`, as for a WebSocket.
  ///   - onMessage: called on the reading thread with each message: one JSON object.
  public init(
    _ url: String, _ kind: Kind, receiveBufferBytes: Int32? = nil, onMessage: @escaping @Sendable (String) -> Void
  ) throws {
    guard let url = URL(string: url), let port = url.port else {
      throw WebSocketPeer.Failure(description: "\(url) is not an address of a server")
    }
    self.url = url
    self.kind = kind
    self.onMessage = onMessage
    stream = try BlockingSocket(port: port, receiveBufferBytes: receiveBufferBytes)
  }

  deinit { cut() }

  public var closing: WebSocketPeer.Closing? { state.withLock(\.closing) }
  public var takesMore: Bool { true }
  public func pauseReading() { isPaused.store(true, ordering: .sequentiallyConsistent) }
  public func resumeReading() { isPaused.store(false, ordering: .sequentiallyConsistent) }
  public func cut() { stream.end() }

  /// The statuses of the answers to commands, in their order.
  public var statuses: [Int] { state.withLock(\.statuses) }
  public var session: (name: String, node: String)? { state.withLock(\.session) }

  @discardableResult
  public func send(_ text: String) -> Bool {
    let (isFirst, session) = state.withLock { state in
      defer { state.hasBegun = true }
      if state.hasBegun && state.session == nil { state.waiting.append(text) }
      return (!state.hasBegun, state.session)
    }
    if isFirst { return begin(text) }
    guard let session else { return closing == nil }
    return post(text, session)
  }

  private func begin(_ connect: String) -> Bool {
    let request: String
    switch kind {
    case .events:
      let escaped = connect.utf8.map { String(format: "%%%02X", $0) }.joined()
      request = "GET /connection/sse?cf_connect=\(escaped) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    case .lines:
      request = Self.request("/connection/http_stream", connect)
    }
    guard stream.send(Array(request.utf8)) else { return false }
    Thread.detachNewThread { [weak self, stream] in Self.read(stream) { self } }
    return true
  }

  /// Lets go of the peer between reads, so that the last who uses it ends the connection.
  private static func read(_ stream: BlockingSocket, for peer: () -> StreamPeer?) {
    var reader = BodyReader()
    while true {
      while peer()?.isPaused.load(ordering: .sequentiallyConsistent) == true && !stream.isHungUp { usleep(5000) }
      let bytes = stream.receive()
      guard let peer = peer() else { return }
      if bytes.isEmpty { return peer.finish(.init(code: nil, reason: "")) }
      for line in reader.lines(of: bytes) { peer.take(line) }
    }
  }

  private struct Told: Decodable {
    struct Connect: Decodable {
      var session: String?
      var node: String?
    }
    struct Push: Decodable {
      struct Disconnect: Decodable {
        var code: UInt16
        var reason: String?
      }
      var disconnect: Disconnect?
    }
    var connect: Connect?
    var push: Push?
  }

  private func take(_ line: String) {
    let isEvent = line.hasPrefix("data: ")
    guard isEvent == (kind == .events) || line.isEmpty else { return }
    let message = isEvent ? String(line.dropFirst(6)) : line
    guard message.hasPrefix("{") else { return }
    let told = try? JSONDecoder().decode(Told.self, from: Data(message.utf8))
    if let end = told?.push?.disconnect { return finish(.init(code: end.code, reason: end.reason ?? "")) }
    if let session = told?.connect?.session {
      let known = (name: session, node: told?.connect?.node ?? "")
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        state.session = known
        return state.waiting
      }
      for text in waiting { post(text, known) }
    }
    onMessage(message)
  }

  private func finish(_ closing: WebSocketPeer.Closing) {
    state.withLock { if $0.closing == nil { $0.closing = closing } }
  }

  @discardableResult
  private func post(_ text: String, _ session: (name: String, node: String)) -> Bool {
    let fields = ["session": session.name, "node": session.node, "data": text]
    guard let body = try? JSONEncoder().encode(fields) else { return false }
    let request = Self.request("/emulation", String(decoding: body, as: UTF8.self))
    let status = posting.withLock { socket in
      // Twice: a connection of before may have been closed meanwhile.
      for _ in 0..<2 {
        if socket == nil { socket = try? BlockingSocket(port: url.port ?? 0) }
        if let answer = socket?.send(Array(request.utf8)) == true ? socket?.receiveHead() : nil {
          if answer.contains("Connection: close") { socket = nil }
          return Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
        }
        socket = nil
      }
      return 0
    }
    state.withLock { $0.statuses.append(status) }
    return status == 204
  }

  private static func request(_ path: String, _ body: String) -> String {
    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// Takes chunks apart, and finds the lines in them; those of the head come first.
  private struct BodyReader {
    private var bytes: [UInt8] = []
    private var content: [UInt8] = []
    private var hasHead = false

    mutating func lines(of more: [UInt8]) -> [String] {
      bytes += more
      if !hasHead {
        guard let end = bytes.indices.dropLast(3).first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else {
          return []
        }
        bytes.removeFirst(end + 4)
        hasHead = true
      }
      var start = 0
      while let end = bytes[start...].firstIndex(of: 10),
        let size = Int(String(decoding: bytes[start..<max(start, end - 1)], as: UTF8.self), radix: 16),
        bytes.count >= end + 1 + size + 2
      {
        content += bytes[(end + 1)..<(end + 1 + size)]
        start = end + 1 + size + 2
      }
      bytes.removeFirst(start)
      guard let last = content.lastIndex(of: 10) else { return [] }
      let lines = content[..<last].split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
      content.removeFirst(last + 1)
      return lines
    }
  }
}

/// A connection to a port of this machine.
private final class BlockingSocket: Sendable {
  private let descriptor: Int32

  init(port: Int, receiveBufferBytes: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw WebSocketPeer.Failure(description: "no socket: errno \(errno)") }
    if var size = receiveBufferBytes {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(clamping: port)).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      throw WebSocketPeer.Failure(description: "port \(port) refused the connection: errno \(errno)")
    }
  }

  deinit { close(descriptor) }

  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Whether the server, or `end`, has ended the connection.
  var isHungUp: Bool {
    var item = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&item, 1, 0) == 1 && item.revents & Int16(POLLHUP | POLLERR) != 0
  }

  func send(_ bytes: [UInt8]) -> Bool {
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

  /// Empty where the connection has ended.
  func receive(atMost most: Int = 64 << 10) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: most)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 && errno == EINTR { continue }
      return Array(buffer[..<max(count, 0)])
    }
  }

  /// An answer's head; nil where none comes.
  func receiveHead() -> String? {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
      let byte = receive(atMost: 1)
      if byte.isEmpty { return nil }
      head += byte
    }
    return String(decoding: head, as: UTF8.self)
  }
}
