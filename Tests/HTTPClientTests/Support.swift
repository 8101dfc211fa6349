import HTTPClient
import Synchronization
import TestSupport

/// A client that may call this machine, for one test.
func withClient<Result>(
  _ limits: HTTPClient.Limits = .init(allowsPrivateAddresses: true), _ body: (HTTPClient) async throws -> Result
) async throws -> Result {
  let client = HTTPClient(limits, name: "http test", userAgent: "Fanfare/test")
  defer { client.close() }
  return try await body(client)
}

/// A server for one test.
func withServer<Result>(
  _ server: ScriptedServer, _ body: (ScriptedServer) async throws -> Result
) async throws -> Result {
  defer { server.stop() }
  return try await body(server)
}

extension HTTPClient {
  func result(of call: HTTPCall) async -> Result<HTTPReply, HTTPCallError> {
    await withCheckedContinuation { waiting in send(call) { waiting.resume(returning: $0) } }
  }

  func reply(to call: HTTPCall) async throws -> HTTPReply { try await result(of: call).get() }

  /// The status of a call's reply; nil where there is none.
  func status(of call: HTTPCall) async -> Int? { try? await result(of: call).get().status }

  func error(of call: HTTPCall) async -> HTTPCallError? {
    if case .failure(let error) = await result(of: call) { return error }
    return nil
  }
}

extension HTTPCall {
  /// A POST with a minute's time.
  static func post(_ url: String, _ body: String = "{}", milliseconds: Int = 60_000) -> HTTPCall {
    HTTPCall(method: "POST", url: url, body: Array(body.utf8), timeoutMilliseconds: milliseconds)
  }
}

/// What calls ended with, in the order in which they did.
final class Outcomes: Sendable {
  private let outcomes = Mutex<[Result<HTTPReply, HTTPCallError>]>([])

  var all: [Result<HTTPReply, HTTPCallError>] { outcomes.withLock { $0 } }
  var errors: [HTTPCallError] {
    all.compactMap { if case .failure(let error) = $0 { error } else { nil } }
  }

  func add(_ outcome: Result<HTTPReply, HTTPCallError>) { outcomes.withLock { $0.append(outcome) } }
}
