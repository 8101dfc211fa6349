import COpenSSL
import Foundation
import Glibc
import TestSupport

/// One request over HTTP whose answer goes on, until this is let go.
final class EventStream {
  private let descriptor: Int32
  /// Head and body as they came, with the marks of chunks between events.
  private(set) var text = ""

  /// - Parameter headers: lines of the head, each with its end.
  init(port: Int, _ path: String, _ headers: String) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure("no socket: errno \(errno)") }
    var patience = timeval(tv_sec: 0, tv_usec: 50_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port)).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let descriptor = descriptor
    let failed = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(headers)\r\n".utf8)
    let sent = failed == 0 ? send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) : -1
    guard sent == request.count else { throw Failure("port \(port) takes no request: errno \(errno)") }
  }

  deinit { close(descriptor) }

  /// Reads what is there.
  ///
  /// - Returns: false where the answer has ended.
  private func read() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { text += String(decoding: buffer[..<count], as: UTF8.self) }
    return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
  }

  /// Whether the answer comes to hold something.
  func comesTo(_ holds: (String) -> Bool) async -> Bool {
    await eventually {
      let goesOn = read()
      return holds(text) || !goesOn
    } && holds(text)
  }

  /// Whether the answer ends.
  func ends() async -> Bool { await eventually { !read() } }

  /// The events with data, in their order; one that has not come whole is not among them.
  var events: [String] {
    let isWhole = text.last?.isNewline ?? false
    let lines = text.split(whereSeparator: \.isNewline)
    return (isWhole ? lines[...] : lines.dropLast()).filter { $0.hasPrefix("data: ") }.map { String($0.dropFirst(6)) }
  }
}
