import Foundation
import Glibc
import Synchronization

/// A server on a port of this machine, for tests: a thread for each connection, all of which end with it.
///
/// States: listening (from `init`: connections wait) → serving (``start(_:)``) → stopped (``stop()``).
public final class ConnectionServer: Sendable {
  private struct State {
    var open: Set<Int32> = []
    var isStopped = false
    var connections = 0
    var mostAtOnce = 0
  }

  public let port: UInt16
  private let listener: Int32
  private let state = Mutex(State())
  private let threads = DispatchGroup()

  /// - Parameter port: 0: the system chooses.
  public init(port: UInt16 = 0) throws {
    // Closed in programs that other tests start: else these would keep the port.
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = port.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 256) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else {
      close(listener)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    self.listener = listener
    self.port = UInt16(bigEndian: address.sin_port)
  }

  /// Connections that there have been, that there were at the same time, and that there are.
  public var connections: Int { state.withLock { $0.connections } }
  public var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
  public var openNow: Int { state.withLock { $0.open.count } }

  /// Takes connections from now on.
  ///
  /// - Parameter serve: what happens on each connection, which is closed when it returns.
  public func start(_ serve: @escaping @Sendable (ServedConnection) -> Void) {
    onThread { server in
      while true {
        let client = accept(server.listener, nil, nil)
        if client < 0 { return }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        server.take(client, serve)
      }
    }
  }

  /// Ends all connections, and waits for the threads.
  public func stop() {
    state.withLock { state in
      state.isStopped = true
      for client in state.open { shutdown(client, Int32(SHUT_RDWR)) }
    }
    shutdown(listener, Int32(SHUT_RDWR))
    threads.wait()
    close(listener)
  }

  private func take(_ client: Int32, _ serve: @escaping @Sendable (ServedConnection) -> Void) {
    let isStopped = state.withLock { state in
      state.open.insert(client)
      state.connections += 1
      state.mostAtOnce = max(state.mostAtOnce, state.open.count)
      return state.isStopped
    }
    if isStopped { shutdown(client, Int32(SHUT_RDWR)) }
    onThread { server in
      serve(ServedConnection(descriptor: client))
      // Under the lock: ``stop()`` must not shut down another socket that got the number.
      server.state.withLock { state in
        state.open.remove(client)
        close(client)
      }
    }
  }

  private func onThread(_ body: @escaping @Sendable (ConnectionServer) -> Void) {
    threads.enter()
    Thread.detachNewThread { [self] in
      body(self)
      threads.leave()
    }
  }
}

/// One connection of a ``ConnectionServer``, for the thread that serves it.
public struct ServedConnection: Sendable {
  public let descriptor: Int32

  /// - Returns: some bytes, no more than so many; nil where the client has gone.
  public func read(_ count: Int = 65_536) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(descriptor, &buffer, count, 0)
    return received > 0 ? Array(buffer[..<received]) : nil
  }

  /// - Returns: false where the client has gone.
  @discardableResult
  public func write(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  /// Until the client goes away, or the server is stopped.
  public func waitForEnd() { while read(4096) != nil {} }

  /// The next HTTP request; nil where the client has gone.
  public func request() -> ServedRequest? {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let next = read(1) else { return nil }
      bytes += next
    }
    var request = ServedRequest(head: String(decoding: bytes, as: UTF8.self))
    let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
    while request.body.count < length {
      guard let next = read(length - request.body.count) else { return nil }
      request.body += next
    }
    return request
  }

  /// Answers an HTTP request.
  ///
  /// - Parameter headers: each with a line break behind it.
  @discardableResult
  public func answer(_ status: Int = 200, headers: String = "", _ body: String = "") -> Bool {
    write("HTTP/1.1 \(status) Some\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
  }
}

/// An HTTP request as it came.
public struct ServedRequest: Sendable {
  /// With the empty line at its end.
  public var head: String
  public var body: [UInt8] = []
  /// By names in lower case.
  public let headers: [String: String]

  init(head: String) {
    self.head = head
    var headers: [String: String] = [:]
    for line in head.components(separatedBy: "\r\n").dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1] }
    }
    self.headers = headers
  }

  /// Of the request's first line: `/hook`.
  public var path: String { head.split(separator: " ").dropFirst().first.map { String($0) } ?? "" }
}
