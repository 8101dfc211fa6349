import Foundation
import NIOHTTP1
import TestSupport
import Testing
import Web

@testable import Gateway

@Suite("The client for browsers on the public port", .ownThread)
struct ListenerWebFileTests {
  private struct Answer {
    var head: String
    var body: [UInt8]
    var status: Int { Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 }

    func value(_ header: String) -> String? {
      head.components(separatedBy: "\r\n").first { $0.hasPrefix("\(header): ") }
        .map { String($0.dropFirst(header.count + 2)) }
    }
  }

  private static func ask(
    _ method: String, _ path: String, _ headers: String = "", on harness: ListenerHarness
  ) throws -> Answer {
    let client = try ListenerRawClient(port: harness.port)
    try client.send("\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(headers)\r\n")
    let bytes = try client.readToEnd()
    let end = Array("\r\n\r\n".utf8)
    let split = bytes.indices.first { bytes[$0...].starts(with: end) } ?? bytes.endIndex
    return Answer(
      head: String(decoding: bytes[..<split], as: UTF8.self), body: Array(bytes[split...].dropFirst(end.count)))
  }

  @Test(
    "Each file comes whole, with its type and its tag", arguments: ["/fanfare.js", "/fanfare.d.ts", "/fanfare.js?v=1"])
  func whole(path: String) throws {
    let file = try #require(WebFiles.all.first { path.hasPrefix($0.path) })
    try withListener { harness throws in
      let answer = try Self.ask("GET", path, on: harness)
      #expect(answer.status == 200)
      let isWhole = answer.body == Array(file.text.utf8)
      #expect(isWhole)
      #expect(answer.value("Content-Type") == file.contentType)
      #expect(answer.value("ETag") == file.tag)
      #expect(answer.value("Cache-Control") == "no-cache")
      #expect(answer.value("Access-Control-Allow-Origin") == "*")
      #expect(answer.value("X-Content-Type-Options") == "nosniff")
      #expect(answer.value("Connection") == "close")
    }
  }

  @Test("HEAD tells of the same file without it, and the tag spares the file")
  func conditions() throws {
    let file = WebFiles.all[0]
    try withListener { harness throws in
      let head = try Self.ask("HEAD", file.path, on: harness)
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(head.value("Content-Length") == "\(file.text.utf8.count)")
      for condition in ["If-None-Match: \(file.tag)", "If-None-Match: \"x\", W/\(file.tag)", "If-None-Match: *"] {
        let same = try Self.ask("GET", file.path, condition + "\r\n", on: harness)
        #expect(same.status == 304 && same.body.isEmpty, "\(condition)")
        #expect(same.value("ETag") == file.tag)
      }
      #expect(try Self.ask("GET", file.path, "If-None-Match: \"x\"\r\n", on: harness).status == 200)
      #expect(try Self.ask("GET", file.path, "If-Match: \"x\"\r\n", on: harness).status == 412)
      // One piece, whatever part is asked for: a script is of use as a whole.
      #expect(try Self.ask("GET", file.path, "Range: bytes=5-9\r\n", on: harness).body.count == file.text.utf8.count)
    }
  }

  @Test(
    "Other methods are refused, and other paths are not found",
    arguments: [
      ("POST", "/fanfare.js", 405), ("DELETE", "/fanfare.d.ts", 405), ("OPTIONS", "/fanfare.js", 405),
      ("GET", "/fanfare.js/", 404), ("GET", "/fanfare", 404), ("GET", "/FANFARE.JS", 404),
      ("GET", "/../fanfare.js", 404),
      ("GET", "//fanfare.js", 404),
    ])
  func refusals(method: String, path: String, status: Int) throws {
    try withListener { harness throws in #expect(try Self.ask(method, path, on: harness).status == status) }
  }

  @Test("A reader is given time by the file's size")
  func grace() throws {
    var reply = HTTPReply(status: .ok, body: String(repeating: "x", count: 80_000))
    #expect(reply.grace(2_000) == 12_000)
    reply.body = ""
    #expect(reply.grace(2_000) == 2_000)
  }
}
