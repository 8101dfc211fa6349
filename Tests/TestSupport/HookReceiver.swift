import Foundation
import Glibc
import Synchronization

/// A receiver of webhooks on a free port of this machine: a thread for each connection, and answers as a test says.
public final class HookReceiver: Sendable {
  public struct Request: Sendable {
    public var headers: [String: String]
    public var body: [UInt8]
    /// It was answered with 200.
    public var isTaken = false

    /// The events of the body.
    public var events: [[String: Any]] {
      let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]
      return object?["events"] as? [[String: Any]] ?? []
    }
  }

  /// How a request is answered.
  public enum Answer: Sendable {
    case status(Int, headers: [String] = [])
    /// These bytes, and then the connection ends.
    case raw(String)
    /// Nothing, until the other side goes.
    case silence
  }

  private struct State {
    var requests: [Request] = []
    var open: Set<Int32> = []
    var isStopped = false
    var answer: @Sendable (Int) -> Answer
  }

  public let port: UInt16
  private let listener: Int32
  private let state: Mutex<State>
  private let threads = DispatchGroup()

  /// - Parameters:
  ///   - port: 0: the system chooses.
  ///   - answer: called with the request's place among all, from 0.
  public init(port: UInt16 = 0, _ answer: @escaping @Sendable (Int) -> Answer = { _ in .status(200) }) throws {
    state = Mutex(State(answer: answer))
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = port.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(descriptor, generic, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, generic, &size) == 0
      }
    }
    guard isListening else {
      close(descriptor)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    self.port = UInt16(bigEndian: address.sin_port)
    start { receiver in receiver.accepts() }
  }

  public var url: String { "http://127.0.0.1:\(port)/hook" }
  public var requests: [Request] { state.withLock { $0.requests } }
  /// All events of all requests, in the order in which they came.
  public var events: [[String: Any]] { requests.flatMap(\.events) }
  /// Of them, those of the requests that were answered with 200.
  public var takenEvents: [[String: Any]] { requests.filter(\.isTaken).flatMap(\.events) }

  public func answers(_ answer: @escaping @Sendable (Int) -> Answer) { state.withLock { $0.answer = answer } }

  /// Ends all connections and threads.
  public func stop() {
    let open = state.withLock { state in
      state.isStopped = true
      return state.open
    }
    shutdown(listener, Int32(SHUT_RDWR))
    for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    threads.wait()
    close(listener)
  }

  // MARK: Connections

  private func start(_ body: @escaping @Sendable (HookReceiver) -> Void) {
    threads.enter()
    let thread = Thread { [self] in
      body(self)
      threads.leave()
    }
    thread.start()
  }

  private func accepts() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0 { return }
      let isTaken = state.withLock { state in
        if !state.isStopped { state.open.insert(client) }
        return !state.isStopped
      }
      guard isTaken else {
        close(client)
        continue
      }
      start { receiver in receiver.serve(client) }
    }
  }

  private func serve(_ client: Int32) {
    var waiting: [UInt8] = []
    while let request = read(client, &waiting) {
      let answer = state.withLock { state in
        let answer = state.answer(state.requests.count)
        var request = request
        if case .status(200, _) = answer { request.isTaken = true }
        state.requests.append(request)
        return answer
      }
      switch answer {
      case .status(let status, let headers):
        let lines = (["HTTP/1.1 \(status) Some", "Content-Length: 0"] + headers).joined(separator: "\r\n")
        write(client, lines + "\r\n\r\n")
        continue
      case .raw(let text): write(client, text)
      case .silence: while more(client) != nil {}
      }
      break
    }
    state.withLock { _ = $0.open.remove(client) }
    close(client)
  }

  private func more(_ client: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(client, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  private func read(_ client: Int32, _ waiting: inout [UInt8]) -> Request? {
    let end = Array("\r\n\r\n".utf8)
    var head: Range<Int>?
    while head == nil {
      head = waiting.indices.first { waiting[$0...].starts(with: end) }.map { 0..<$0 }
      if head == nil {
        guard let bytes = more(client) else { return nil }
        waiting += bytes
      }
    }
    guard let head else { return nil }
    var headers: [String: String] = [:]
    for line in String(decoding: waiting[head], as: UTF8.self).components(separatedBy: "\r\n").dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1] }
    }
    let length = headers["content-length"].flatMap { Int($0) } ?? 0
    let start = head.upperBound + end.count
    while waiting.count < start + length {
      guard let bytes = more(client) else { return nil }
      waiting += bytes
    }
    let body = Array(waiting[start..<(start + length)])
    waiting.removeFirst(start + length)
    return Request(headers: headers, body: body)
  }

  private func write(_ client: Int32, _ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { return }
      rest = rest.dropFirst(sent)
    }
  }
}
