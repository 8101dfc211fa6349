import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite("Calls over HTTP", .ownThread)
struct HTTPClientTests {
  @Test("A call arrives as it was made, and its reply comes back whole")
  func reply() async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(200, headers: "X-A: b\r\n", "answer") }
    try await withServer(server) { server in
      try await withClient { client in
        var call = HTTPCall.post(server.url, #"{"a":1}"#)
        call.headers = [("Content-Type", "application/json"), ("X-Twice", "1"), ("X-Twice", "2"), ("X-Empty", "")]
        let reply = try await client.reply(to: call)
        #expect(reply.status == 200)
        #expect(String(decoding: reply.body, as: UTF8.self) == "answer")
      }
      let request = try #require(server.requests.first)
      #expect(request.head.hasPrefix("POST /hook HTTP/1.1\r\n"))
      #expect(String(decoding: request.body, as: UTF8.self) == #"{"a":1}"#)
      let lines = request.head.components(separatedBy: "\r\n")
      for line in [
        "Content-Type: application/json", "X-Twice: 1", "X-Twice: 2", "X-Empty:", "Content-Length: 7",
        "User-Agent: Fanfare/test",
      ] { #expect(lines.contains(line), "\(line) is missing in \(lines)") }
      // A compressed reply could unpack to more than its limit.
      #expect(!lines.contains { $0.lowercased().hasPrefix("accept-encoding") })
    }
  }

  @Test("Methods with and without a body arrive as such", arguments: ["GET", "PUT", "PATCH", "DELETE", "HEAD", "POST"])
  func methods(method: String) async throws {
    let server = try ScriptedServer.answering { line, request in
      line.answer(204, headers: "X-Length: \(request.body.count)\r\n")
    }
    try await withServer(server) { server in
      try await withClient { client in
        let call = HTTPCall(method: method, url: server.url, timeoutMilliseconds: 60_000)
        #expect(await client.status(of: call) == 204)
      }
      let request = try #require(server.requests.first)
      #expect(request.head.hasPrefix("\(method) /hook "))
      #expect(!request.head.lowercased().contains("content-type"), "libcurl's own content type is sent")
      let sendsLength = ["PUT", "PATCH", "POST"].contains(method)
      #expect(request.head.contains("Content-Length: 0") == sendsLength)
    }
  }

  @Test("A body of a megabyte arrives at once, without waiting for leave")
  func largeBody() async throws {
    let server = try ScriptedServer.answering { line, request in line.answer(200, "\(request.body.count)") }
    try await withServer(server) { server in
      try await withClient { client in
        let reply = try await client.reply(to: .post(server.url, String(repeating: "x", count: 1 << 20)))
        #expect(String(decoding: reply.body, as: UTF8.self) == "\(1 << 20)")
      }
      #expect(server.requests.first?.head.lowercased().contains("expect:") == false)
    }
  }

  @Test("An error's status is a reply like any other", arguments: [400, 404, 429, 500, 503])
  func errorStatus(status: Int) async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(status, "why") }
    try await withServer(server) { server in
      try await withClient { client in
        let reply = try await client.reply(to: .post(server.url))
        #expect(reply.status == status)
        #expect(String(decoding: reply.body, as: UTF8.self) == "why")
      }
    }
  }

  @Test("A redirect is not followed", arguments: [301, 302, 303, 307, 308])
  func redirect(status: Int) async throws {
    let other = try ScriptedServer.answering { line, _ in line.answer(200) }
    let server = try ScriptedServer.answering { [url = other.url] line, _ in
      line.answer(status, headers: "Location: \(url)\r\n")
    }
    try await withServer(other) { other in
      try await withServer(server) { server in
        try await withClient { #expect(await $0.status(of: .post(server.url)) == status) }
      }
      #expect(other.connections == 0)
    }
  }

  @Test("Calls one after another go over one connection, and one that the server has closed is replaced")
  func reuse() async throws {
    let server = try ScriptedServer { line in
      for _ in 0..<10 {
        guard line.request() != nil else { return }
        line.answer(200, "x")
      }
    }
    try await withServer(server) { server in
      try await withClient { client in
        for _ in 0..<10 { #expect(await client.status(of: .post(server.url)) == 200) }
        #expect(server.connections == 1)
        #expect(await eventually { server.openNow == 0 })
        #expect(await client.status(of: .post(server.url)) == 200)
        #expect(server.connections == 2)
      }
    }
  }

  @Test("A cookie that the server sets is not sent back")
  func cookies() async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(200, headers: "Set-Cookie: a=b; Path=/\r\n") }
    try await withServer(server) { server in
      try await withClient { client in
        for _ in 0..<2 { _ = try await client.reply(to: .post(server.url)) }
      }
      #expect(server.requests.count == 2)
      #expect(server.requests.allSatisfy { !$0.head.lowercased().contains("cookie") })
    }
  }

  @Test("A thousand calls at once all end, over no more connections than the limit")
  func thousand() async throws {
    let server = try ScriptedServer.answering { line, request in
      line.answer(200, String(decoding: request.body, as: UTF8.self))
    }
    let limits = HTTPClient.Limits(
      connections: 8, connectionsPerHost: 4, waiting: 1000, allowsPrivateAddresses: true)
    try await withServer(server) { server in
      try await withClient(limits) { client in
        let outcomes = Outcomes()
        for number in 0..<1000 { client.send(.post(server.url, "\(number)")) { outcomes.add($0) } }
        #expect(await eventually { outcomes.all.count == 1000 })
        let bodies = try outcomes.all.map { try String(decoding: $0.get().body, as: UTF8.self) }
        #expect(Set(bodies) == Set((0..<1000).map { "\($0)" }))
      }
      #expect(server.mostAtOnce <= 4)
      #expect(server.connections <= 4, "connections are used again")
    }
  }

  @Test("A host that hangs keeps no other host waiting")
  func hangingHost() async throws {
    let hanging = try ScriptedServer { $0.waitForEnd() }
    let server = try ScriptedServer.answering { line, _ in line.answer(200) }
    let limits = HTTPClient.Limits(connections: 4, connectionsPerHost: 2, allowsPrivateAddresses: true)
    try await withServer(hanging) { hanging in
      try await withServer(server) { server in
        try await withClient(limits) { client in
          let outcomes = Outcomes()
          for _ in 0..<50 { client.send(.post(hanging.url, milliseconds: 600_000)) { outcomes.add($0) } }
          #expect(await eventually { hanging.openNow == 2 })
          for _ in 0..<20 { #expect(await client.status(of: .post(server.url)) == 200) }
          #expect(outcomes.all.isEmpty)
          #expect(hanging.mostAtOnce == 2)
        }
      }
    }
  }

  @Test("A reply may call again, and may close the client")
  func reentrance() async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(200) }
    try await withServer(server) { server in
      let client = HTTPClient(.init(allowsPrivateAddresses: true), name: "http test", userAgent: "Fanfare/test")
      let outcomes = Outcomes()
      client.send(.post(server.url)) { first in
        outcomes.add(first)
        client.send(.post(server.url)) { second in
          outcomes.add(second)
          client.close()
        }
      }
      #expect(await eventually { outcomes.all.count == 2 })
      client.close()
      #expect(outcomes.errors.isEmpty)
    }
  }
}
