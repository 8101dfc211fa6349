import COpenSSL
import Foundation
import Glibc

/// Pictures over HTTP, each request on a connection of its own, which the server closes.
struct PictureClient {
  struct Picture: Sendable {
    let id = UUID().uuidString.replacingOccurrences(of: "-", with: "")
    let bytes: [UInt8]

    /// A PNG by its first bytes, and noise.
    init(bytes count: Int) {
      var generator = SystemRandomNumberGenerator()
      bytes = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + (8..<count).map { _ in generator.next() }
    }
  }

  struct Answer {
    var status: Int
    var head: String
    var body: [UInt8]
  }

  let port: Int
  let token: String

  func put(_ picture: Picture) throws -> Int {
    let length = "Content-Length: \(picture.bytes.count)\r\n"
    return try ask("PUT", "/state/pictures?id=\(picture.id)", length, picture.bytes).status
  }

  /// A part of it, as after a lost connection.
  func put(_ picture: Picture, _ range: Range<Int>) throws -> Int {
    let headers =
      "Content-Length: \(range.count)\r\n"
      + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(picture.bytes.count)\r\n"
    return try ask("PUT", "/state/pictures?id=\(picture.id)", headers, Array(picture.bytes[range])).status
  }

  func get(_ picture: Picture) throws -> Answer { try ask("GET", "/state/pictures/\(picture.id)") }

  /// How much of a picture the server has.
  func offset(of picture: Picture) throws -> Int? {
    let head = try ask("HEAD", "/state/pictures?id=\(picture.id)").head.lowercased()
    return head.components(separatedBy: "upload-offset: ").dropFirst().first
      .flatMap { Int($0.prefix { $0.isNumber }) }
  }

  private func ask(_ method: String, _ path: String, _ headers: String = "", _ body: [UInt8] = []) throws -> Answer {
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
    let head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n\(headers)\r\n"
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
