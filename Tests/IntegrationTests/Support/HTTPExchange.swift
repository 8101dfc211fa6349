import COpenSSL
import Foundation
import Glibc
import Testing

/// One request over HTTP, on a connection of its own, to its answer's end, where the server closes it.
struct HTTPExchange {
  struct Answer {
    var status: Int
    var head: String
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Whether the connection ended before all of the body came that the head promises: whoever sent it was killed.
    var isCutOff: Bool {
      let length = head.lowercased().components(separatedBy: "\r\ncontent-length: ").dropFirst().first
        .flatMap { Int($0.prefix { $0.isNumber }) }
      return length.map { body.count < $0 } ?? false
    }
  }

  let port: Int

  /// - Parameter headers: more lines of the head, each with its end.
  func ask(_ method: String, _ path: String, _ headers: String = "", _ body: [UInt8] = []) throws -> Answer {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure("no socket: errno \(errno)") }
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
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
    let head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(headers)\r\n"
    try Self.send(Array(head.utf8) + body, to: descriptor)
    return try Self.answer(Self.receiveAll(from: descriptor))
  }

  private static func send(_ bytes: [UInt8], to descriptor: Int32) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure("the connection ended while sending: errno \(errno)") }
      sent += count
    }
  }

  private static func receiveAll(from descriptor: Int32) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count == 0 { return bytes }
      guard count > 0 else { throw Failure("no answer: errno \(errno)") }
      bytes += buffer[..<count]
    }
  }

  private static func answer(_ bytes: [UInt8]) throws -> Answer {
    guard let end = bytes.indices.dropLast(3).first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else {
      throw Failure("no HTTP answer of \(bytes.count) bytes")
    }
    let head = String(decoding: bytes[..<end], as: UTF8.self)
    guard let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw Failure("no status: \(head.prefix(100))")
    }
    return Answer(status: status, head: head, body: Array(bytes[(end + 4)...]))
  }
}

// MARK: The server API

extension HTTPExchange {
  /// Asks a method of the server API.
  ///
  /// - Parameter key: the API key in the head.
  func ask(_ method: String, _ body: String, key: String) throws -> Answer {
    let headers = "X-API-Key: \(key)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n"
    return try ask("POST", "/api/\(method)", headers, Array(body.utf8))
  }
}

extension FanfareProcess {
  /// Asks a method of the server API on the internal port.
  func ask(_ method: String, _ body: String, key: String) throws -> HTTPExchange.Answer {
    let port = try #require(endpoints.admin.flatMap(URL.init(string:))?.port)
    return try HTTPExchange(port: port).ask(method, body, key: key)
  }

  /// The result of a method of the server API.
  ///
  /// - Throws: where the method answers with an error.
  func call(_ method: String, _ body: String, key: String) throws -> JSON {
    let json = try JSON(ask(method, body, key: key).text)
    if !json["error"].isNull { throw Failure("\(method) \(body): \(json["error"])") }
    return json["result"]
  }
}
