import HTTPClient
import Logging
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("SharedPollService: between sessions and the backend")
struct SharedPollServiceTests {
  private final class Backend: Sendable {
    typealias Done = @Sendable (Result<ProxyCalls.Reply, HTTPCallError>) -> Void
    let calls = Mutex<[(body: String, done: Done)]>([])
    let now = Mutex<Int64>(1000)

    /// The bodies of calls that are not answered.
    var asked: [String] { calls.withLock { $0.map(\.body) } }

    func answer(_ body: String, status: Int = 200) {
      let first = calls.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      first?.done(.success(.init(status: status, body: Array(body.utf8))))
    }
  }

  private let backend = Backend()

  private func service(_ change: (inout ChannelOptions) -> Void = { _ in }) -> (SharedPollService, ProxyCalls) {
    let endpoint = ProxyEndpoint(
      url: "http://backend/", timeoutMilliseconds: 1000, maximumCalls: 10,
      breaker: .init(failures: 10, openMilliseconds: 1000))
    let configuration = ProxyConfiguration(
      endpoints: [.sharedPollRefresh: endpoint], connections: 1, replyBytes: 1024, allowsPrivateAddresses: true,
      certificateAuthorities: nil, callsPerClient: 4)
    let backend = backend
    let proxies = ProxyCalls(
      configuration, logger: Logger(label: "test"),
      send: { _ in
        { call, done in
          backend.calls.withLock { $0.append((String(decoding: call.body, as: UTF8.self), done)) }
        }
      }, now: { 0 })
    var options = ChannelOptions()
    options.kind = .sharedPoll
    change(&options)
    let service = SharedPollService(
      PollScene.limits, proxies: proxies, namespaces: NamespaceTable(withoutNamespace: options),
      logger: Logger(label: "test"),
      clock: { SessionTime(monotonic: backend.now.withLock { $0 }, wall: 1_700_000_000) })
    return (service, proxies)
  }

  private func track(_ service: SharedPollService, _ number: UInt64, _ key: String = "a") -> PollTracked {
    let ask = PollTrack(
      channel: channel("c"), number: 1, epoch: service.epoch(of: channel("c")),
      items: [.init(key: key, version: 0, expiresAt: .max)], untracked: [])
    return service.track(ask, of: PollScene.subscriber(number))
  }

  private func data(_ tracked: PollTracked) -> [String]? {
    guard case .tracked(let publications) = tracked else { return nil }
    return publications.map(PollScene.text)
  }

  @Test("what is tracked is asked for, and what is answered is there for whoever comes later")
  func asks() {
    let (service, _) = service()
    #expect(data(track(service, 1)) == [])
    #expect(backend.asked == [#"{"channel":"c","items":[{"key":"a"}]}"#])
    backend.answer(#"{"result":{"items":[{"key":"a","data":[1]}]}}"#)
    #expect(data(track(service, 2)) == ["a=[1]"])
    #expect(backend.asked == [])
  }

  @Test("each service has an epoch of its own for versions that are the gateway's, and none for the backend's")
  func epochs() {
    let (one, other) = (service().0, service().0)
    #expect(one.epoch(of: channel("c")) != other.epoch(of: channel("c")))
    let (versioned, _) = service { $0.poll.mode = .versioned }
    #expect(versioned.epoch(of: channel("c")).isEmpty)
    #expect(data(track(versioned, 1)) == [])
    #expect(backend.asked == [#"{"channel":"c","items":[{"key":"a","version":0}]}"#])
  }

  @Test(
    "an answer that cannot be used brings nothing, and a later one does",
    arguments: [
      (#"{"error":{"code":1000,"message":"no"}}"#, 200), (#"{"disconnect":{"code":4500,"reason":"no"}}"#, 200),
      ("<html>", 200), ("", 500), (#"{"result":{"items":[{"key":"a","b64data":"/wA="}]}}"#, 200),
    ])
  func unusable(_ body: String, _ status: Int) {
    let (service, _) = service()
    _ = track(service, 1)
    backend.answer(body, status: status)
    #expect(data(track(service, 2)) == [])
    // The channel rests: a key that is new is asked for with the others, when that is over.
    _ = track(service, 3, "b")
    #expect(backend.asked == [])
    backend.now.withLock { $0 += 20_000 }
    _ = track(service, 4, "c")
    #expect(backend.asked.count == 1)
    backend.answer(#"{"result":{"items":[{"key":"a","data":1}]}}"#)
    #expect(data(track(service, 5)) == ["a=1"])
  }

  @Test("bytes that are no JSON are taken where the namespace holds bytes")
  func binary() throws {
    let (service, _) = service { $0.dataFormat = .binary }
    _ = track(service, 1)
    backend.answer(#"{"result":{"items":[{"key":"a","b64data":"/wA="}]}}"#)
    guard case .tracked(let publications) = track(service, 2) else { throw Failure("it is not tracked") }
    #expect(publications.map(\.data) == [[0xFF, 0]])
  }

  @Test("a call that fails before it is made does no harm, and after the end nothing is tracked")
  func ends() {
    let (service, proxies) = service()
    proxies.close()
    #expect(data(track(service, 1)) == [])
    #expect(backend.asked == [])
    service.close()
    #expect(data(track(service, 2)) == nil)
    service.leave(PollScene.subscriber(1), channel("c"))
  }

  private struct Failure: Error {
    init(_ what: String) {}
  }
}
