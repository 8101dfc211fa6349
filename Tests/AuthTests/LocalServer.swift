import Foundation
import Synchronization

/// An HTTP server on a free port of this machine: one connection, one request, one answer at a time.
final class LocalServer: Sendable {
  enum Answer: Sendable {
    case body(String)
    case status(Int, headers: String)
    /// Headers, then this many bytes without a stated length.
    case flood(bytes: Int)
    /// Headers, then nothing until the client goes away.
    case stall
    /// Headers, then a byte now and then until the client goes away.
    case drip
  }

  private let descriptor: Int32
  private let answer: Mutex<Answer>
  private let count = Mutex(0)
  private let current = Mutex<Int32?>(nil)
  private let finished = DispatchSemaphore(value: 0)
  let port: UInt16

  var url: String { "http://127.0.0.1:\(port)/keys.json" }
  var requests: Int { count.withLock { $0 } }

  init(_ answer: Answer) throws {
    self.answer = Mutex(answer)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let fd = descriptor
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(fd, generic, length) == 0 && listen(fd, 16) == 0 && getsockname(fd, generic, &length) == 0
      }
    }
    guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(fd, nil, nil)
        if client < 0 { break }
        current.withLock { $0 = client }
        serve(client)
        current.withLock { $0 = nil }
        close(client)
      }
      finished.signal()
    }
  }

  func respond(_ new: Answer) { answer.withLock { $0 = new } }

  func stop() {
    shutdown(descriptor, Int32(SHUT_RDWR))
    // A client that says nothing and does not go away must not keep the test: this thread is one of the test runner's.
    current.withLock { if let client = $0 { _ = shutdown(client, Int32(SHUT_RDWR)) } }
    finished.wait()
    close(descriptor)
  }

  private func serve(_ client: Int32) {
    var request: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !request.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let received = recv(client, &buffer, buffer.count, 0)
      guard received > 0 else { return }
      request.append(contentsOf: buffer[..<received])
    }
    count.withLock { $0 += 1 }
    switch answer.withLock({ $0 }) {
    case .body(let text):
      write(client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    case .status(let code, let headers):
      write(client, "HTTP/1.1 \(code) X\r\nConnection: close\r\nContent-Length: 0\r\n\(headers)\r\n")
    case .flood(let bytes):
      write(client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
      write(client, String(repeating: " ", count: bytes))
    case .stall:
      write(client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\n")
      _ = recv(client, &buffer, buffer.count, 0)
    case .drip:
      write(client, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n")
      var waiting = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
      while poll(&waiting, 1, 20) == 0 { write(client, " ") }
    }
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
