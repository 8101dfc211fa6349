import Broker
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// Requests to real receivers that fail, hang and lie.
@Suite("The poster of webhooks", .ownThread)
struct WebhookPosterTests {
  private static let secrets = [String(repeating: "new!", count: 8), String(repeating: "old!", count: 8)]

  private func poster(
    _ url: String, timeoutMilliseconds: Int = 60_000, allowsPrivateAddresses: Bool = true
  ) -> HTTPWebhookPoster {
    let receiver = WebhookReceiver(
      name: "hook", url: url, secrets: Self.secrets, timeoutMilliseconds: timeoutMilliseconds,
      allowsPrivateAddresses: allowsPrivateAddresses)
    return HTTPWebhookPoster([receiver], userAgent: "test", clock: { 1_700_000_000 })
  }

  private func answer(_ poster: HTTPWebhookPoster, _ post: WebhookPost = Self.post) async -> WebhookAnswer {
    await withCheckedContinuation { done in poster.post(post) { done.resume(returning: $0) } }
  }

  private static let post = WebhookPost(
    webhook: "hook", id: "hook-e-1-1", body: Array(#"{"events":[]}"#.utf8), number: 7)

  /// How a receiver's answer is taken.
  private func result(
    _ answer: HookReceiver.Answer, timeoutMilliseconds: Int = 60_000
  ) async throws -> WebhookAnswer.Result {
    let receiver = try HookReceiver { _ in answer }
    defer { receiver.stop() }
    let poster = poster(receiver.url, timeoutMilliseconds: timeoutMilliseconds)
    defer { poster.close() }
    return await self.answer(poster).result
  }

  @Test("The request has the id, the time, and a signature for each secret over all three")
  func request() async throws {
    let receiver = try HookReceiver()
    defer { receiver.stop() }
    let poster = poster(receiver.url)
    defer { poster.close() }
    let answer = await answer(poster)
    #expect(answer == WebhookAnswer(webhook: "hook", number: 7, result: .status(200)))
    let request = try #require(receiver.requests.first)
    #expect(request.body == Self.post.body && request.headers["content-type"] == "application/json")
    #expect(request.headers["webhook-id"] == "hook-e-1-1" && request.headers["webhook-timestamp"] == "1700000000")
    let signatures = try #require(request.headers["webhook-signature"]).split(separator: " ")
    #expect(signatures.count == 2 && signatures.allSatisfy { $0.hasPrefix("v1,") } && signatures[0] != signatures[1])
  }

  @Test("The five lines of Python in docs/WEBHOOKS.md take what is signed with either secret, and nothing else")
  func documentedVerification() async throws {
    let receiver = try HookReceiver()
    defer { receiver.stop() }
    let poster = poster(receiver.url)
    defer { poster.close() }
    _ = await answer(poster)
    let request = try #require(receiver.requests.first)
    let document = ServerProcess.repository.appendingPathComponent("docs/WEBHOOKS.md")
    let blocks = try String(contentsOf: document, encoding: .utf8).components(separatedBy: "```python\n").dropFirst()
    let snippet = try #require(
      blocks.compactMap { $0.components(separatedBy: "\n```").first }.first { $0.contains("def is_ours") })
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"]
    let pairs = names.map { "'\($0)': '\(request.headers[$0] ?? "")'" }.joined(separator: ", ")
    let body = String(decoding: request.body, as: UTF8.self)
    let script = """
      \(snippet)
      headers = {\(pairs)}
      body = b'''\(body)'''
      print(is_ours(b'\(Self.secrets[0])', headers, body, now=1700000010))
      print(is_ours(b'\(Self.secrets[1])', headers, body, now=1700000010))
      print(is_ours(b'another secret', headers, body, now=1700000010))
      print(is_ours(b'\(Self.secrets[0])', headers, body + b' ', now=1700000010))
      print(is_ours(b'\(Self.secrets[0])', {**headers, 'webhook-id': 'x'}, body, now=1700000010))
      print(is_ours(b'\(Self.secrets[0])', headers, body, now=1700009999))
      """
    let outcome = try await withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("verify.py")
      try script.write(to: file, atomically: true, encoding: .utf8)
      return try await Command(named: "python3", [file.path]).run(deadline: .seconds(120))
    }
    #expect(outcome.status == 0, "\(outcome.output)")
    #expect(outcome.output.split(separator: "\n") == ["True", "True", "False", "False", "False", "False"])
  }

  @Test("A receiver's status is told, with the time that it asks for", arguments: [204, 404, 429, 500])
  func statuses(_ status: Int) async throws {
    let answer = try await result(.status(status, headers: ["Retry-After: 17"]))
    #expect(answer == .status(status, retryAfter: 17))
  }

  @Test("A redirect is followed by nobody")
  func redirect() async throws {
    let elsewhere = try HookReceiver()
    defer { elsewhere.stop() }
    #expect(try await result(.status(307, headers: ["Location: \(elsewhere.url)"])) == .status(307))
    #expect(elsewhere.requests.isEmpty)
  }

  @Test(
    "A receiver that hangs, breaks off or lies about its length has not taken anything",
    arguments: [
      HookReceiver.Answer.silence, .raw(""), .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
      .raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), .raw("no HTTP at all\r\n\r\n"),
    ])
  func lies(_ answer: HookReceiver.Answer) async throws {
    guard case .failed(let reason) = try await result(answer, timeoutMilliseconds: 3000) else {
      Issue.record("a lie was taken for an answer")
      return
    }
    #expect(!reason.isEmpty)
  }

  @Test("An answer whose body is larger than anybody reads is a failure, not memory")
  func huge() async throws {
    let body = String(repeating: "x", count: 1 << 20)
    guard case .failed(let reason) = try await result(.raw("HTTP/1.1 200 OK\r\n\r\n\(body)")) else {
      Issue.record("a mebibyte was taken")
      return
    }
    #expect(reason.contains("more than"))
  }

  @Test("A receiver that answers and closes has taken it")
  func closes() async throws {
    #expect(try await result(.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")) == .status(200))
  }

  @Test("A private address is not called unless that is allowed")
  func privateAddress() async throws {
    let receiver = try HookReceiver()
    defer { receiver.stop() }
    let poster = poster(receiver.url, allowsPrivateAddresses: false)
    defer { poster.close() }
    guard case .failed(let reason) = await answer(poster).result else {
      Issue.record("a private address was called")
      return
    }
    #expect(reason.contains("127.0.0.1") && receiver.requests.isEmpty)
  }

  @Test("A webhook that this process does not know fails with a sentence, and the poster can be closed twice")
  func unknown() async throws {
    let poster = poster("http://127.0.0.1:1/")
    let other = WebhookPost(webhook: "other", id: "", body: [], number: 1)
    guard case .failed = await answer(poster, other).result else {
      Issue.record("an unknown webhook was called")
      return
    }
    poster.close()
    poster.close()
  }
}
