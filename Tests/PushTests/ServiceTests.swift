import Cryptography
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import Push

enum TestKeys {
  /// A key on P-256 in PEM.
  static func ec() throws -> String {
    try TestCertificate.openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
  }
}

enum PushServiceParts {
  static func tokens(_ account: ServiceAccount) -> AccessTokens {
    let client = HTTPClient(HTTPClient.Limits(), name: "push test", userAgent: "test")
    return AccessTokens(account, client: client, limits: PushConfiguration.Limits(), now: { 0 }, age: { 0 })
  }
}

/// Outcomes in the order in which they were told.
final class PushOutcomes: Sendable {
  private let outcomes = Mutex<[PushOutcome]>([])

  var all: [PushOutcome] { outcomes.withLock { $0 } }
  func add(_ outcome: PushOutcome) { outcomes.withLock { $0.append(outcome) } }
}

extension PushService {
  func outcome(_ message: PushMessage, _ device: PushDevice) async -> PushOutcome {
    await withCheckedContinuation { waiting in send(message, to: device) { waiting.resume(returning: $0) } }
  }
}

@Suite("The service of notifications, without the services behind it", .ownThread)
struct ServiceTests {
  private func service(
    _ configuration: PushConfiguration
  ) throws -> PushService {
    try PushService(configuration, userAgent: "test", now: { 1_700_000_000 }, age: { 0 })
  }

  private func web(
    allowsPrivate: Bool = true, limits: PushConfiguration.Limits = .init()
  ) throws -> PushConfiguration {
    let key = try VAPIDKey()
    return PushConfiguration(
      webPush: .init(key: key, subject: "mailto:a@b", allowsPrivateAddresses: allowsPrivate), limits: limits)
  }

  @Test("Devices of a kind that is not configured are refused, at registration as when they are sent to")
  func notConfigured() async throws {
    let service = try service(PushConfiguration())
    defer { service.close() }
    let devices: [PushDevice] = [
      try ExampleBrowser.device(), .apns(try ExampleDevice.apns()), .fcm(try ExampleDevice.fcm()),
    ]
    #expect(service.browserKey == nil)
    for device in devices {
      let fault = try #require(service.fault(of: device))
      #expect(fault.contains("of the kind \(device.kind.rawValue)"))
      #expect(await service.outcome(try PushMessage(title: "Ada"), device) == .refused(fault))
    }
  }

  @Test("An endpoint that leads to a private address is not called unless that is allowed")
  func privateAddress() async throws {
    let server = try ConnectionServer()
    server.start { _ in }
    defer { server.stop() }
    let service = try service(web(allowsPrivate: false))
    defer { service.close() }
    for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"] {
      let device = try ExampleBrowser.device("https://\(host):\(server.port)/a")
      guard case .refused(let said) = await service.outcome(try PushMessage(title: "Ada"), device) else {
        Issue.record("\(host) was called")
        continue
      }
      #expect(said.contains("may not be called"), "\(host): \(said)")
    }
    #expect(server.connections == 0)
  }

  @Test("A push service that is not there has not taken anything, and it is tried again")
  func unreachable() async throws {
    let service = try service(web())
    defer { service.close() }
    let device = try ExampleBrowser.device("https://127.0.0.1:1/a")
    guard case .failed(let reason) = await service.outcome(try PushMessage(title: "Ada"), device) else {
      Issue.record("somebody listens on port 1")
      return
    }
    #expect(reason.contains("127.0.0.1"))
  }

  @Test("More notifications than may wait are turned away, and the end tells everybody who waits")
  func limits() async throws {
    // Connections wait to be taken, and nobody takes them.
    let server = try ConnectionServer()
    defer { server.stop() }
    let limits = PushConfiguration.Limits(underWay: 2, waiting: 3, timeoutMilliseconds: 60_000)
    let service = try service(web(limits: limits))
    let outcomes = PushOutcomes()
    let device = try ExampleBrowser.device("https://127.0.0.1:\(server.port)/a")
    let message = try PushMessage(title: "Ada")
    for _ in 0..<9 { service.send(message, to: device) { outcomes.add($0) } }
    #expect(await eventually { outcomes.all.count >= 4 })
    #expect(
      outcomes.all.filter { $0 == .failed(reason: "too many notifications wait for the service of kind web") }.count
        == 4)
    service.close()
    #expect(await eventually { outcomes.all.count == 9 })
    #expect(outcomes.all.allSatisfy { OutcomeKind($0) == .failed })
    #expect(await service.outcome(message, device) == .failed(reason: "the server is ending"))
    service.close()
  }

  // MARK: Answers that are lost

  /// A service that stands in for APNs on a port of this machine, without TLS.
  private func apns(
    at port: UInt16, milliseconds: Int = 60_000
  ) throws -> PushConfiguration {
    let url = "http://127.0.0.1:\(port)"
    return PushConfiguration(
      apns: .init(
        key: try PrivateKey(on: .p256), keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topics: ["com.example.app"],
        productionURL: url, sandboxURL: url),
      limits: .init(timeoutMilliseconds: milliseconds))
  }

  @Test("A service that takes the request and closes without an answer may have taken the notification")
  func answerLost() async throws {
    let server = try ConnectionServer()
    server.start { _ = $0.request() }
    defer { server.stop() }
    let service = try service(apns(at: server.port))
    defer { service.close() }
    let outcome = await service.outcome(try PushMessage(title: "Ada"), .apns(try ExampleDevice.apns()))
    guard case .unanswered(let reason) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(reason.hasPrefix("APNs: there was no reply") && reason.hasSuffix("it may have taken the notification"))
    #expect(outcome.name == "failed", "backends are told nothing new")
  }

  @Test("So may one that takes the request and does not answer in time, and one that the end cuts off")
  func answerLate() async throws {
    let isRead = Mutex(false)
    let server = try ConnectionServer()
    server.start { line in
      _ = line.request()
      isRead.withLock { $0 = true }
      line.waitForEnd()
    }
    defer { server.stop() }
    let (message, device) = (try PushMessage(title: "Ada"), PushDevice.apns(try ExampleDevice.apns()))
    let hasty = try service(apns(at: server.port, milliseconds: 300))
    #expect(OutcomeKind(await hasty.outcome(message, device)) == .unanswered)
    hasty.close()
    isRead.withLock { $0 = false }
    let ending = try service(apns(at: server.port))
    let outcomes = PushOutcomes()
    ending.send(message, to: device) { outcomes.add($0) }
    #expect(await eventually { isRead.withLock { $0 } })
    ending.close()
    #expect(outcomes.all.map { OutcomeKind($0) } == [.unanswered])
    #expect(await ending.outcome(message, device) == .failed(reason: "the server is ending"))
  }

  @Test("A service that takes no connection has taken nothing, and one that answers 408 has said so")
  func nothingTaken() async throws {
    let closed = try ConnectionServer()
    closed.start { _ in }
    closed.stop()
    let answering = try ConnectionServer()
    answering.start { line in
      while line.request() != nil { line.answer(408) }
    }
    defer { answering.stop() }
    for (port, expected) in [(closed.port, OutcomeKind.failed), (answering.port, .refused)] {
      let service = try service(apns(at: port))
      defer { service.close() }
      let outcome = await service.outcome(try PushMessage(title: "Ada"), .apns(try ExampleDevice.apns()))
      #expect(OutcomeKind(outcome) == expected, "\(outcome)")
    }
  }

  @Test("A call for a token whose answer is lost has brought no notification to anybody")
  func tokenLost() {
    let lost = HTTPCallFailure(.timedOut, mayHaveGoneOut: true)
    #expect(OutcomeKind(.unsent(lost.error, "Google's token endpoint")) == .failed)
    #expect(OutcomeKind(.after(lost, "FCM")) == .unanswered)
    #expect(OutcomeKind(.after(HTTPCallFailure(.timedOut, mayHaveGoneOut: false), "FCM")) == .failed)
    for isOut in [true, false] {
      #expect(OutcomeKind(.after(HTTPCallFailure(.badURL("no"), mayHaveGoneOut: isOut), "FCM")) == .refused)
    }
  }
}
