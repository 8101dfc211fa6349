import Foundation
import Synchronization

/// An HTTP server on a free port of this machine that answers as a test says: a thread for each connection.
final class ScriptedServer: Sendable {
  struct Request: Sendable {
    var head: String
    var body: [UInt8]
  }

  /// One connection, for the script.
  struct Line {
    let descriptor: Int32

    /// - Returns: nil where the client has gone.
    func request() -> Request? {
      var bytes: [UInt8] = []
      let end = Array("\r\n\r\n".utf8)
      while !bytes.suffix(4).elementsEqual(end) {
        guard let next = read(1) else { return nil }
        bytes += next
      }
      let head = String(decoding: bytes, as: UTF8.self)
      let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
      let length = line.flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) } ?? 0
      var body: [UInt8] = []
      while body.count < length {
        guard let next = read(length - body.count) else { return nil }
        body += next
      }
      return Request(head: head, body: body)
    }

    func read(_ count: Int) -> [UInt8]? {
      var buffer = [UInt8](repeating: 0, count: count)
      let received = recv(descriptor, &buffer, count, 0)
      return received > 0 ? Array(buffer[..<received]) : nil
    }

    /// - Returns: false where the client has gone.
    @discardableResult
    func write(_ text: String) -> Bool {
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent > 0 else { return false }
        rest = rest.dropFirst(sent)
      }
      return true
    }

    func answer(_ status: Int = 200, headers: String = "", _ body: String = "") {
      write("HTTP/1.1 \(status) Some\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
    }

    /// Until the client goes away, or the server is stopped.
    func waitForEnd() { while read(4096) != nil {} }
  }

  private struct State {
    var open: Set<Int32> = []
    var isStopped = false
    var connections = 0
    var mostAtOnce = 0
    var requests: [Request] = []
  }

  let port: UInt16
  private let descriptor: Int32
  private let state = Mutex(State())
  private let threads = DispatchGroup()

  var url: String { "http://127.0.0.1:\(port)/hook" }
  /// Connections that there have been, and that there were at the same time.
  var connections: Int { state.withLock { $0.connections } }
  var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
  var openNow: Int { state.withLock { $0.open.count } }
  var requests: [Request] { state.withLock { $0.requests } }

  /// - Parameter script: what happens on each connection, which is closed when it returns.
  init(_ script: @escaping @Sendable (Line) -> Void) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = descriptor
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(listener, generic, length) == 0 && listen(listener, 256) == 0
          && getsockname(listener, generic, &length) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
    port = UInt16(bigEndian: address.sin_port)
    onThread { server in
      while true {
        let client = accept(listener, nil, nil)
        if client < 0 { return }
        server.serve(client, script)
      }
    }
  }

  /// Answers requests on each connection, one after another, as long as there are any.
  static func answering(_ answer: @escaping @Sendable (Line, Request) -> Void) throws -> ScriptedServer {
    let box = Mutex<ScriptedServer?>(nil)
    let server = try ScriptedServer { line in
      while let request = line.request() {
        box.withLock { $0 }?.note(request)
        answer(line, request)
      }
    }
    box.withLock { $0 = server }
    return server
  }

  func note(_ request: Request) { state.withLock { $0.requests.append(request) } }

  /// Ends all connections and threads.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      for client in state.open { shutdown(client, Int32(SHUT_RDWR)) }
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
    threads.wait()
    close(descriptor)
  }

  private func serve(_ client: Int32, _ script: @escaping @Sendable (Line) -> Void) {
    let isStopped = state.withLock { state in
      state.open.insert(client)
      state.connections += 1
      state.mostAtOnce = max(state.mostAtOnce, state.open.count)
      return state.isStopped
    }
    if isStopped { shutdown(client, Int32(SHUT_RDWR)) }
    onThread { server in
      script(Line(descriptor: client))
      server.state.withLock { state in
        state.open.remove(client)
        close(client)
      }
    }
  }

  private func onThread(_ body: @escaping @Sendable (ScriptedServer) -> Void) {
    threads.enter()
    Thread.detachNewThread { [self] in
      body(self)
      threads.leave()
    }
  }
}
