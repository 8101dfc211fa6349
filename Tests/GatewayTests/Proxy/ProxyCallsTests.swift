import HTTPClient
import Logging
import NIOHTTP1
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

/// The calls without a network: what is sent is kept, and the test answers.
@Suite("ProxyCalls")
struct ProxyCallsTests {
  final class Wire: Sendable {
    typealias Done = @Sendable (Result<ProxyCalls.Reply, HTTPCallError>) -> Void
    struct State {
      var calls: [HTTPCall] = []
      var waiting: [Done] = []
      var now: Int64 = 0
      var answers: [ProxyAnswer] = []
    }

    let state = Mutex(State())

    var sent: Int { state.withLock { $0.calls.count } }
    var answers: [ProxyAnswer] { state.withLock { $0.answers } }
    func pass(_ milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

    /// Answers the oldest call.
    func answer(_ result: Result<ProxyCalls.Reply, HTTPCallError>) {
      let done = state.withLock { $0.waiting.removeFirst() }
      done(result)
    }

    func answer(_ status: Int, _ body: String) {
      answer(.success(ProxyCalls.Reply(status: status, body: Array(body.utf8))))
    }
  }

  private let wire = Wire()

  private func calls(
    most: Int = 10, failures: Int = 2, change: (inout ProxyEndpoint) -> Void = { _ in }
  ) -> ProxyCalls {
    var endpoint = ProxyEndpoint(
      url: "http://backend/rpc", timeoutMilliseconds: 500, maximumCalls: most,
      breaker: .init(failures: failures, openMilliseconds: 1000))
    change(&endpoint)
    let configuration = ProxyConfiguration(
      endpoints: [.rpc: endpoint], connections: 4, replyBytes: 1024, allowsPrivateAddresses: true,
      certificateAuthorities: nil, callsPerClient: 16)
    let wire = wire
    return ProxyCalls(
      configuration, logger: Logger(label: "test"),
      send: { _ in
        { call, done in
          wire.state.withLock { state in
            state.calls.append(call)
            state.waiting.append(done)
          }
        }
      }, now: { wire.state.withLock { $0.now } })
  }

  private func ask(
    _ calls: ProxyCalls, headers: [BackendHeader] = [], _ question: ProxyQuestion = .rpc(method: "m", data: [])
  ) {
    let wire = wire
    calls.ask(question, from: ProxyAsker(client: "c", format: .json), headers: headers) { answer in
      wire.state.withLock { $0.answers.append(answer) }
    }
  }

  @Test("a call is a POST of JSON with its time limit, and its reply is the answer")
  func call() throws {
    let calls = calls()
    ask(calls)
    let call = try #require(wire.state.withLock { $0.calls.first })
    #expect(call.method == "POST" && call.url == "http://backend/rpc" && call.timeoutMilliseconds == 500)
    #expect(call.headers.map(\.name) == ["Content-Type"] && call.headers[0].value == "application/json")
    #expect(call.body.starts(with: Array(#"{"client":"c""#.utf8)))
    wire.answer(200, #"{"result":{"data":1}}"#)
    guard case .result(let result) = wire.answers.first else {
      Issue.record("\(wire.answers)")
      return
    }
    #expect(result.data == [0x31])
    #expect(calls.underWay(.rpc) == 0)
  }

  @Test("only listed headers of the client are passed on, and they replace static ones of their name")
  func headers() {
    let calls = calls {
      $0.forwardedHeaders = ["cookie", "x-a"]
      $0.staticHeaders = [.init(name: "X-A", value: "ours"), .init(name: "X-Key", value: "k")]
    }
    #expect(calls.forwardedHeaders == ["cookie", "x-a"])
    ask(calls, headers: [.init(name: "x-a", value: "theirs"), .init(name: "x-key", value: "forged")])
    ask(calls, headers: [.init(name: "cookie", value: "s=1")])
    let sent = wire.state.withLock { $0.calls.map { $0.headers.dropFirst().map { "\($0.name): \($0.value)" } } }
    #expect(sent == [["X-Key: k", "x-a: theirs"], ["X-A: ours", "X-Key: k", "cookie: s=1"]])
  }

  @Test("one call more than may be under way is not made, and there is room when one has ended")
  func bound() {
    let calls = calls(most: 2)
    for _ in 0..<3 { ask(calls) }
    #expect(wire.sent == 2 && wire.answers == [.failed(.bound)])
    wire.answer(200, #"{"result":{}}"#)
    ask(calls)
    #expect(wire.sent == 3 && calls.underWay(.rpc) == 2)
  }

  @Test("as many calls as max_calls allows may come in one moment, however many connections there are")
  func burst() async throws {
    let receiver = try HookReceiver { _ in
      .raw("HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"result\":{}}")
    }
    defer { receiver.stop() }
    let endpoint = ProxyEndpoint(
      url: "http://127.0.0.1:\(receiver.port)/", timeoutMilliseconds: 60_000, maximumCalls: 50,
      breaker: .init(failures: 0, openMilliseconds: 1000))
    let configuration = ProxyConfiguration(
      endpoints: [.rpc: endpoint], connections: 50, replyBytes: 1024, allowsPrivateAddresses: true,
      certificateAuthorities: nil, callsPerClient: 16)
    let calls = ProxyCalls(configuration, userAgent: "Fanfare/test", logger: Logger(label: "test"))
    defer { calls.close() }
    for _ in 0..<50 { ask(calls) }
    let wire = wire
    #expect(await eventually { wire.answers.count == 50 })
    #expect(wire.answers == Array(repeating: .result(ProxyResult()), count: 50))
  }

  @Test("calls without an answer open the breaker: further ones fail at once, and later one tries")
  func breaker() {
    let calls = calls(failures: 2)
    ask(calls)
    wire.answer(.failure(.timedOut))
    ask(calls)
    wire.answer(.failure(.unreachable("refused")))
    ask(calls)
    #expect(wire.sent == 2)
    #expect(wire.answers == [.failed(.timeout), .failed(.failed), .failed(.breaker)])
    wire.pass(1000)
    ask(calls)
    ask(calls)
    #expect(wire.sent == 3 && wire.answers.last == .failed(.breaker))
    wire.answer(200, #"{"result":{}}"#)
    ask(calls)
    #expect(wire.sent == 4 && calls.breakerState(.rpc) == .closed(failures: 0))
  }

  @Test("replies that nobody can use fail their own client and leave the breaker closed")
  func unusable() {
    let calls = calls(failures: 1)
    for (status, body) in [(500, ""), (404, "{}"), (200, "<html>"), (204, "")] {
      ask(calls)
      wire.answer(status, body)
    }
    ask(calls)
    wire.answer(.failure(.tooLarge(limit: 1024)))
    ask(calls)
    wire.answer(.failure(.badURL("a header")))
    #expect(wire.answers == Array(repeating: .failed(.failed), count: 6))
    #expect(calls.breakerState(.rpc) == .closed(failures: 0))
    ask(calls)
    wire.answer(503, "")
    #expect(calls.breakerState(.rpc) == .open(until: 1000))
  }

  @Test("after the end nothing is sent, and a kind without an endpoint is never sent")
  func closed() {
    let calls = calls()
    ask(calls, .refresh)
    #expect(wire.sent == 0)
    calls.close()
    ask(calls)
    #expect(wire.sent == 0 && wire.answers == [.failed(.closed), .failed(.closed)])
  }

  @Test("of a request only listed headers are kept, in one line each, no more than some bytes")
  func forwarded() {
    var headers = HTTPHeaders()
    headers.add(name: "Cookie", value: "a=1")
    headers.add(name: "COOKIE", value: "b=2")
    headers.add(name: "X-Secret", value: "s")
    headers.add(name: "X-Long", value: String(repeating: "x", count: ForwardedHeaders.mostBytes))
    headers.add(name: "X-Odd", value: "a\u{1}b")
    headers.add(name: "X-Short", value: "s")
    let kept = ForwardedHeaders.chosen(["cookie", "x-missing", "x-odd", "x-long", "x-short"], from: headers)
    // A header that is too long takes no other with it.
    #expect(
      kept == [BackendHeader(name: "cookie", value: "a=1; b=2"), BackendHeader(name: "x-short", value: "s")])
  }
}
