import Foundation
import Wire

@testable import Gateway

/// A client without a WebSocket: hears one stream, and posts over as many connections as a test wants.
struct StreamClient {
  let raw: ListenerRawClient
  /// Of the answer that goes on.
  private(set) var head = ""

  /// - Parameter lines: HTTP streaming in place of server-sent events.
  init(
    _ harness: ListenerHarness, connect: String = "{}", lines: WireFormat? = nil, headers: String = "",
    receiveBufferBytes: Int32? = nil
  ) throws {
    raw = try ListenerRawClient(port: harness.port, receiveBufferBytes: receiveBufferBytes)
    if let lines {
      let type = lines == .json ? "application/json" : "application/octet-stream"
      try raw.send(Self.post("/connection/http_stream", connect, headers: "Content-Type: \(type)\r\n" + headers))
    } else {
      let escaped = connect.utf8.map { String(format: "%%%02X", $0) }.joined()
      try raw.send("GET /connection/sse?cf_connect=\(escaped) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n")
    }
    head = try raw.readHead()
  }

  /// The next chunk's content; nil where the stream has ended; empty for the last chunk.
  func chunk() throws -> String? {
    var line = ""
    while !line.hasSuffix("\r\n") {
      guard let byte = try raw.read(1) else { return nil }
      line += String(decoding: byte, as: UTF8.self)
    }
    guard let size = Int(line.dropLast(), radix: 16), let content = try raw.read(size + 2) else { return nil }
    return String(decoding: content.dropLast(2), as: UTF8.self)
  }

  static func post(_ path: String, _ body: String, headers: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
  }

  static func commands(_ session: String, _ commands: String, node: String = "n1", headers: String = "") -> String {
    let data = JSONText.quoted(commands)
    return post(
      "/emulation", #"{"session":"\#(session)","node":"\#(node)","data":\#(data)}"#,
      headers: "Content-Type: application/json\r\n" + headers)
  }

  /// The status of a request, after which the server must close.
  static func status(_ request: String, _ harness: ListenerHarness) throws -> Int {
    let client = try ListenerRawClient(port: harness.port)
    try client.send(request)
    return status(of: String(decoding: try client.readToEnd(), as: UTF8.self))
  }

  static func status(of answer: String) -> Int { Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 }
}
