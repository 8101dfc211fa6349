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
}
