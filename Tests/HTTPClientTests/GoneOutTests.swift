import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite("Whether a call without a reply may have gone out", .ownThread)
struct GoneOutTests {
  private let narrow = HTTPClient.Limits(
    connections: 1, connectionsPerHost: 1, waiting: 1, allowsPrivateAddresses: true)

  private func failure(_ client: HTTPClient, _ call: HTTPCall) async -> HTTPCallFailure? {
    let result = await withCheckedContinuation { waiting in
      client.sendAndTrace(call) { waiting.resume(returning: $0) }
    }
    if case .failure(let failure) = result { return failure }
    return nil
  }

  @Test(
    "One that was read, and whose connection was closed before the reply was whole, may have",
    arguments: [
      "", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "not HTTP at all\r\n\r\n",
    ])
  func cut(bytes: String) async throws {
    let server = try ScriptedServer { line in
      _ = line.request()
      line.write(bytes)
    }
    try await withServer(server) { server in
      try await withClient { client in
        let failure = try #require(await failure(client, .post(server.url)))
        guard case .unreachable = failure.error else {
          Issue.record("\(failure.error)")
          return
        }
        #expect(failure.mayHaveGoneOut)
      }
    }
  }

  @Test("One whose time was over, whose reply was too long, or that the end came before, may have")
  func underWay() async throws {
    let hanging = try ScriptedServer { $0.waitForEnd() }
    let long = try ScriptedServer.answering { line, _ in line.answer(200, String(repeating: "x", count: 100_000)) }
    defer {
      hanging.stop()
      long.stop()
    }
    try await withClient { client in
      #expect(
        await failure(client, .post(hanging.url, milliseconds: 300)) == HTTPCallFailure(.timedOut, mayHaveGoneOut: true)
      )
      #expect(
        await failure(client, .post(long.url)) == HTTPCallFailure(.tooLarge(limit: 64 << 10), mayHaveGoneOut: true))
    }
    let told = Mutex<[HTTPCallFailure]>([])
    let isRead = Mutex(false)
    let reading = try ScriptedServer { line in
      _ = line.request()
      isRead.withLock { $0 = true }
      line.waitForEnd()
    }
    defer { reading.stop() }
    try await withClient(narrow) { client in
      let note: @Sendable (Result<HTTPReply, HTTPCallFailure>) -> Void = { result in
        if case .failure(let failure) = result { told.withLock { $0.append(failure) } }
      }
      client.sendAndTrace(.post(reading.url), then: note)
      #expect(await eventually { isRead.withLock { $0 } })
      // Waits for the connection, and goes out never.
      client.sendAndTrace(.post(reading.url), then: note)
      client.close()
      client.sendAndTrace(.post(reading.url), then: note)
    }
    #expect(told.withLock { $0.map(\.error) } == [.closed, .closed, .closed])
    #expect(told.withLock { $0.map(\.mayHaveGoneOut) } == [true, false, false])
  }

  @Test("One for which there was no connection, or no TLS on it, has not")
  func unsent() async throws {
    let closed = try ScriptedServer { _ in }
    closed.stop()
    let mute = try ScriptedServer { $0.waitForEnd() }
    defer { mute.stop() }
    try await withClient { client in
      let refused = try #require(await failure(client, .post(closed.url)))
      #expect(!refused.mayHaveGoneOut)
      let secure = "https://127.0.0.1:\(mute.port)/"
      #expect(
        await failure(client, .post(secure, milliseconds: 300)) == HTTPCallFailure(.timedOut, mayHaveGoneOut: false))
      #expect(await failure(client, .post("ftp://127.0.0.1/"))?.mayHaveGoneOut == false)
    }
  }
}
