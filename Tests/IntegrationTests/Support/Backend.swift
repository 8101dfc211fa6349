import Foundation
import Glibc
import Synchronization

/// A backend that is asked by the server's proxies: an HTTP server on a free port, a thread for each connection, which
/// answers by path as a test says at the time.
final class Backend: Sendable {
  enum Answer: Sendable {
    /// Status 200 with this body.
    case json(String)
    case status(Int, String = "")
    /// Nothing, until the client goes away or ``Backend/stop()``.
    case hang
    /// A body of so many bytes.
    case flood(Int)
  }

  struct Request: Sendable {
    var path: String
    /// Lines of the head, in lower case.
    var head: [String]
    var body: JSON
  }

  private struct State {
    var answers: [String: Answer] = [:]
    var requests: [Request] = []
    var open: Set<Int32> = []
    var isStopped = false
  }

  let port: UInt16
  private let listener: Int32
  private let state = Mutex(State())
  private let threads = DispatchGroup()

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 256) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else { throw Failure("no port for a backend: errno \(errno)") }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    onThread { backend in
      while true {
        let client = accept(listener, nil, nil)
        if client < 0 { return }
        backend.serve(client)
      }
    }
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

  /// What requests to a path are answered with from now on.
  func answer(_ path: String, _ answer: Answer) { state.withLock { $0.answers[path] = answer } }

  func requests(_ path: String) -> [Request] { state.withLock { $0.requests.filter { $0.path == path } } }

  /// Ends all connections, and waits for the threads.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      for client in state.open { shutdown(client, Int32(SHUT_RDWR)) }
    }
    shutdown(listener, Int32(SHUT_RDWR))
    threads.wait()
    close(listener)
  }

  private func onThread(_ body: @escaping @Sendable (Backend) -> Void) {
    threads.enter()
    Thread.detachNewThread { [self] in
      body(self)
      threads.leave()
    }
  }

  private func serve(_ client: Int32) {
    let isStopped = state.withLock { state in
      state.open.insert(client)
      return state.isStopped
    }
    if isStopped { shutdown(client, Int32(SHUT_RDWR)) }
    onThread { backend in
      while let request = Self.request(from: client) {
        let answer = backend.state.withLock { state in
          state.requests.append(request)
          return state.answers[request.path] ?? .status(404)
        }
        guard Self.send(answer, to: client) else { break }
      }
      backend.state.withLock { state in
        state.open.remove(client)
        close(client)
      }
    }
  }

  /// - Returns: nil where the client has gone.
  private static func request(from client: Int32) -> Request? {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
      guard let next = read(1, from: client) else { return nil }
      bytes += next
    }
    let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
    let head = lines.map { $0.lowercased() }
    let length = head.first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
    var body: [UInt8] = []
    while body.count < length ?? 0 {
      guard let next = read((length ?? 0) - body.count, from: client) else { return nil }
      body += next
    }
    let path = lines[0].split(separator: " ").dropFirst().first.map { String($0.dropFirst()) } ?? ""
    return Request(path: path, head: head, body: (try? JSON(String(decoding: body, as: UTF8.self))) ?? JSON(nil))
  }

  private static func read(_ count: Int, from client: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(client, &buffer, count, 0)
    return received > 0 ? Array(buffer[..<received]) : nil
  }

  private static func send(_ answer: Answer, to client: Int32) -> Bool {
    switch answer {
    case .json(let body): return send(200, body, to: client)
    case .status(let status, let body): return send(status, body, to: client)
    case .flood(let bytes): return send(200, String(repeating: " ", count: bytes), to: client)
    case .hang:
      while read(4096, from: client) != nil {}
      return false
    }
  }

  private static func send(_ status: Int, _ body: String, to client: Int32) -> Bool {
    var rest = Array("HTTP/1.1 \(status) Some\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }
}
