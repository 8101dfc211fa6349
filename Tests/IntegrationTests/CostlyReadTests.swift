import Foundation
import Synchronization
import TestSupport
import Testing

/// The attack: a message of some kilobytes that asks for many times what a link's window holds.
@Suite("Reads that cost much", .ownThread)
struct CostlyReadTests {
  private static let commands = 256
  private static let rounds = 3
  private static let pageBytes = 256 << 10
  /// What the server may grow by. Answers under way: half of the link's window, and what one connection may have under
  /// way at a time, in several forms on their way through the process; and what allocators and ZeroMQ's buffers breathe.
  /// Without a bound the answers of one message alone would be 64 MiB, and each of them several times.
  private static let growthAllowed = 96 << 20

  private static let configuration: String = {
    let open = ["subscribe", "publish", "history"].map { #""allow_\#($0)_for_anonymous":true"# }.joined(separator: ",")
    return """
      {"server":{"event_loops":2,"header_timeout":"1m"},
       "client":{"allow_anonymous_connect_without_token":true,"history_max_bytes":"256KiB",
                 "recovery_max_bytes":"2MiB","connect_timeout":"10m","request_timeout":"10m","ping_interval":"10m"},
       "backbone":{"heartbeat_interval":"10s"},
       "broker":{"gateway_timeout":"1m","link_window_bytes":"8MiB"},
       "log":{"level":"notice"},
       "channel":{"namespaces":[
         {"name":"own",\(open)},
         {"name":"kept","history_size":1000,"history_ttl":"1h",\(open)}]}}
      """
  }()

  /// What a client was answered.
  private final class Answers: Sendable {
    private let state = Mutex((pages: 0, bytes: 0, errors: [String](), isConnected: false, data: [String](), pushes: 0))

    func take(_ message: String) {
      guard let reply = try? JSON(message) else { return state.withLock { $0.errors.append("no JSON: \(message)") } }
      state.withLock { state in
        if reply["id"].int == 1 {
          state.isConnected = true
        } else if !reply["error"].isNull {
          state.errors.append(message)
        } else if !reply["history"].isNull {
          state.pages += 1
          state.bytes += message.utf8.count
        } else if let text = reply["push"]["pub"]["data"].string {
          state.data.append(text)
        } else if !reply["push"].isNull {
          state.pushes += 1
        }
      }
    }

    var pages: Int { state.withLock { $0.pages } }
    var bytes: Int { state.withLock { $0.bytes } }
    var errors: [String] { state.withLock { $0.errors } }
    var isConnected: Bool { state.withLock { $0.isConnected } }
    var data: [String] { state.withLock { $0.data } }
    var pushes: Int { state.withLock { $0.pushes } }
  }

  private static func client(_ server: FanOutServer) async throws -> (WebSocketPeer, Answers) {
    let answers = Answers()
    let socket = try WebSocketPeer(server.process.endpoints.websocket) { answers.take($0) }
    socket.send(#"{"id":1,"connect":{}}"#)
    try #require(await eventually { answers.isConnected })
    return (socket, answers)
  }

  @Test("256 history commands in one message cost an honest subscriber without history nothing, again and again")
  func manyPages() async throws {
    await Turn.shared.take()
    defer { Turn.shared.giveBack() }
    try await withServer(Self.configuration) { process in
      let server = FanOutServer(process: process, port: 0, usesTLS: false)
      let (honest, seen) = try await Self.client(server)
      honest.send(#"{"id":2,"subscribe":{"channel":"own:quiet"}}"#)
      let publisher = server.publisher()
      let text = String(repeating: "x", count: 60_000)
      try await publisher.publishAll((1...12).map { _ in .init(channel: "kept:large", text: text) })
      let (attacker, answers) = try await Self.client(server)
      let before = server.residentBytes
      var most = before
      var published = 0
      for round in 1...Self.rounds {
        let ids = (2...(Self.commands + 1)).map { $0 + round * 1000 }
        attacker.send(
          ids.map { #"{"id":\#($0),"history":{"channel":"kept:large","limit":-1}}"# }.joined(separator: "\n"))
        while answers.pages + answers.errors.count < round * Self.commands {
          let (pages, first) = (answers.pages, published + 1)
          published += 5
          try await publisher.publishAll((first...published).map { .init(channel: "own:quiet", text: "\($0)") })
          most = max(most, server.residentBytes)
          try #require(
            await eventually { answers.pages > pages || answers.pages + answers.errors.count >= round * Self.commands },
            "the attacker gets no more answers")
        }
      }
      #expect(answers.errors.isEmpty, "\(answers.errors.prefix(2))")
      #expect(answers.bytes > Self.rounds * Self.commands * Self.pageBytes / 2)
      let all = published
      #expect(await eventually { seen.data.count >= all })
      let isWhole = seen.data == (1...all).map { "\($0)" }
      #expect(isWhole, "\(seen.data.count) of \(all) came")
      #expect(seen.pushes == 0 && honest.closing == nil && attacker.closing == nil)
      #expect(!process.errorOutput.contains("links to gateways changed"), "\(process.errorOutput.suffix(500))")
      #expect(most - before < Self.growthAllowed, "grew by \((most - before) >> 20) MiB")
    }
  }

  @Test("Who reads none of its answers is given no more, and what it asked for is forgotten with it")
  func unread() async throws {
    await Turn.shared.take()
    defer { Turn.shared.giveBack() }
    try await withServer(Self.configuration) { process in
      let server = FanOutServer(process: process, port: 0, usesTLS: false)
      let publisher = server.publisher()
      let text = String(repeating: "x", count: 60_000)
      try await publisher.publishAll((1...12).map { _ in .init(channel: "kept:large", text: text) })
      let before = server.residentBytes
      var attackers: [(WebSocketPeer, Answers)] = []
      for _ in 0..<12 {
        let attacker = try await Self.client(server)
        attacker.0.pauseReading()
        for id in 2...(Self.commands + 1) {
          attacker.0.send(#"{"id":\#(id),"history":{"channel":"kept:large","limit":-1}}"#)
        }
        attackers.append(attacker)
      }
      let (reader, answers) = try await Self.client(server)
      // The reader's requests go on, since those of the attackers wait for their sockets and hold nothing of the
      // budget.
      for round in 1...20 {
        reader.send(#"{"id":\#(round + 1),"history":{"channel":"kept:large","limit":-1}}"#)
        try #require(await eventually { answers.pages == round }, "\(answers.errors)")
      }
      // What each of them has under way at most, and that in several forms: 64 MiB for each without a bound.
      let growth = server.residentBytes - before
      #expect(growth < 12 * (8 << 20) + Self.growthAllowed / 2, "grew by \(growth >> 20) MiB")
      for attacker in attackers { attacker.0.cut() }
      reader.send(#"{"id":99,"history":{"channel":"kept:large","limit":1}}"#)
      #expect(await eventually { answers.pages == 21 })
      #expect(!process.errorOutput.contains("links to gateways changed"), "\(process.errorOutput.suffix(500))")
    }
  }
}
