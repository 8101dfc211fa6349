import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite("Limits and the end of an HTTP client", .ownThread)
struct EndTests {
  private let narrow = HTTPClient.Limits(
    connections: 2, connectionsPerHost: 2, waiting: 3, allowsPrivateAddresses: true)

  @Test("As many calls wait as may; more are refused, and what waits goes on")
  func tooMany() async throws {
    let isOpen = Mutex(false)
    let server = try ScriptedServer.answering { line, _ in
      while !isOpen.withLock({ $0 }) { usleep(500) }
      line.answer(200)
    }
    try await withServer(server) { server in
      try await withClient(narrow) { client in
        defer { isOpen.withLock { $0 = true } }
        let outcomes = Outcomes()
        for _ in 0..<2 { client.send(.post(server.url)) { outcomes.add($0) } }
        #expect(await eventually { server.requests.count == 2 })
        for _ in 0..<10 { client.send(.post(server.url)) { outcomes.add($0) } }
        #expect(await eventually { outcomes.all.count == 7 })
        #expect(outcomes.errors == Array(repeating: .tooMany, count: 7))
        isOpen.withLock { $0 = true }
        #expect(await eventually { outcomes.all.count == 12 })
        #expect(outcomes.errors.count == 7)
      }
    }
  }

  @Test("A call whose time is over while it waits is never sent")
  func overdueWhileWaiting() async throws {
    let server = try ScriptedServer { $0.waitForEnd() }
    try await withServer(server) { server in
      try await withClient(narrow) { client in
        let outcomes = Outcomes()
        for _ in 0..<2 { client.send(.post(server.url, milliseconds: 600_000)) { outcomes.add($0) } }
        #expect(await eventually { server.connections == 2 })
        #expect(await client.error(of: .post(server.url, milliseconds: 100)) == .timedOut)
        #expect(server.connections == 2)
        #expect(outcomes.all.isEmpty)
      }
    }
  }

  @Test("What is under way and what waits ends when the client is closed, each call once")
  func close() async throws {
    let server = try ScriptedServer { $0.waitForEnd() }
    try await withServer(server) { server in
      let outcomes = Outcomes()
      let client = HTTPClient(narrow, name: "http test", userAgent: "Fanfare/test")
      for _ in 0..<2 { client.send(.post(server.url)) { outcomes.add($0) } }
      #expect(await eventually { server.connections == 2 })
      for _ in 0..<3 { client.send(.post(server.url)) { outcomes.add($0) } }
      client.close()
      #expect(outcomes.errors == Array(repeating: .closed, count: 5))
      client.close()
      client.send(.post(server.url)) { outcomes.add($0) }
      #expect(outcomes.errors.count == 6)
      #expect(await eventually { server.openNow == 0 })
    }
  }

  @Test("Closing while others send leaves no call without an end", arguments: 1...20)
  func closeWhileSending(round: Int) async throws {
    let server = try ScriptedServer.answering { line, _ in line.answer(200) }
    try await withServer(server) { server in
      let outcomes = Outcomes()
      let client = HTTPClient(
        .init(connections: 4, connectionsPerHost: 4, waiting: 1000, allowsPrivateAddresses: true), name: "http test",
        userAgent: "Fanfare/test")
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask { for _ in 0..<100 { client.send(.post(server.url)) { outcomes.add($0) } } }
        }
        group.addTask {
          while outcomes.all.count < round { await Task.yield() }
          client.close()
        }
      }
      client.close()
      #expect(outcomes.all.count == 200)
      #expect(outcomes.errors.allSatisfy { $0 == .closed })
    }
  }

  @Test("A client that nobody keeps ends its thread")
  func forgotten() async throws {
    let server = try ScriptedServer { $0.waitForEnd() }
    try await withServer(server) { server in
      let outcomes = Outcomes()
      do {
        let client = HTTPClient(narrow, name: "http test", userAgent: "Fanfare/test")
        client.send(.post(server.url)) { outcomes.add($0) }
      }
      #expect(await eventually { outcomes.errors == [.closed] })
    }
  }

  @Test("Each error is a sentence")
  func sentences() {
    let errors: [HTTPCallError] = [
      .badURL("why"), .refusedAddress("10.0.0.1 (private)"), .unreachable("why"), .timedOut, .tooLarge(limit: 7),
      .tooMany,
      .closed,
    ]
    #expect(Set(errors.map(\.description)).count == errors.count)
    #expect("\(HTTPCallError.refusedAddress("10.0.0.1 (private)"))".contains("10.0.0.1"))
  }
}
