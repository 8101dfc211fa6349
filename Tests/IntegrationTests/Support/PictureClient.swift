import Foundation
import TestSupport

/// Pictures over HTTP, each request on a connection of its own, which the server closes.
struct PictureClient {
  struct Picture: Sendable {
    let id = UUID().uuidString.replacingOccurrences(of: "-", with: "")
    let bytes: [UInt8]

    /// A PNG by its first bytes, and noise.
    init(bytes count: Int) {
      // The system's generator is asked for each byte by itself, of megabytes.
      var generator = SeededGenerator(seed: .random(in: 0...(.max)))
      var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
      self.bytes = Array(bytes.prefix(count))
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }
  }

  let port: Int
  let token: String
  /// `clique` for pictures of Clique.
  var app = "state"

  func put(_ picture: Picture) throws -> Int {
    let length = "Content-Length: \(picture.bytes.count)\r\n"
    return try ask("PUT", "/\(app)/pictures?id=\(picture.id)", length, picture.bytes).status
  }

  /// A part of it, as after a lost connection.
  func put(_ picture: Picture, _ range: Range<Int>) throws -> Int {
    let headers =
      "Content-Length: \(range.count)\r\n"
      + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(picture.bytes.count)\r\n"
    return try ask("PUT", "/\(app)/pictures?id=\(picture.id)", headers, Array(picture.bytes[range])).status
  }

  func get(_ picture: Picture) throws -> HTTPExchange.Answer { try get(id: picture.id) }
  func get(id: String) throws -> HTTPExchange.Answer { try ask("GET", "/\(app)/pictures/\(id)") }

  /// - Parameter headers: more lines of the head, each with its end.
  func get(_ picture: Picture, _ headers: String) throws -> HTTPExchange.Answer {
    try ask("GET", "/\(app)/pictures/\(picture.id)", headers)
  }

  func head(_ picture: Picture) throws -> HTTPExchange.Answer { try ask("HEAD", "/\(app)/pictures/\(picture.id)") }

  /// Discards an upload, or a picture that was not sent.
  func discard(_ picture: Picture) throws -> Int { try ask("DELETE", "/\(app)/pictures?id=\(picture.id)").status }

  /// How much of a picture the server has.
  func offset(of picture: Picture) throws -> Int? {
    let head = try ask("HEAD", "/\(app)/pictures?id=\(picture.id)").head.lowercased()
    return head.components(separatedBy: "upload-offset: ").dropFirst().first
      .flatMap { Int($0.prefix { $0.isNumber }) }
  }

  private func ask(
    _ method: String, _ path: String, _ headers: String = "", _ body: [UInt8] = []
  ) throws -> HTTPExchange.Answer {
    try HTTPExchange(port: port).ask(method, path, "Authorization: Bearer \(token)\r\n\(headers)", body)
  }
}
