import Cryptography
import Foundation
import Push
import Synchronization
import TestSupport

extension PushServers {
  /// - Parameters:
  ///   - vapidKey: nil: the right one.
  ///   - apnsKey: likewise.
  ///   - accountKey: in PEM, likewise.
  func configuration(
    vapidKey: VAPIDKey? = nil, apnsKey: PrivateKey? = nil, accountKey: String? = nil
  ) throws -> PushConfiguration {
    let account = try account(accountKey)
    return PushConfiguration(
      webPush: .init(
        key: vapidKey ?? self.vapidKey, subject: "mailto:push@example.com", allowsPrivateAddresses: true,
        link: "https://example.com/chat"),
      apns: .init(
        key: apnsKey ?? self.apnsKey, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topics: Self.topics,
        productionURL: origin, sandboxURL: origin),
      fcm: .init(account: try ServiceAccount(String(decoding: account, as: UTF8.self)), url: origin),
      limits: .init(timeoutMilliseconds: 60_000), certificateAuthorities: certificatePath)
  }

  /// A service for these, which ends with the body.
  func withService<Result>(
    _ configuration: PushConfiguration? = nil, clock: PushClock = PushClock(),
    _ body: (PushService) async throws -> Result
  ) async throws -> Result {
    let service = try PushService(
      configuration ?? self.configuration(), userAgent: "Fanfare/test", now: { clock.now }, age: { clock.age })
    defer { service.close() }
    return try await body(service)
  }
}

/// The clocks of a service of notifications: some seconds behind the machine's, and as many further as a test says.
final class PushClock: Sendable {
  private let start: Int64
  private let passed = Mutex<Int64>(0)

  init(behind seconds: Int64 = 0) { start = Int64(Date().timeIntervalSince1970) - seconds }

  var now: Int64 { start + age }
  var age: Int64 { passed.withLock { $0 } }
  func advance(_ seconds: Int64) { passed.withLock { $0 += seconds } }
}

extension PushService {
  func outcome(_ message: PushMessage, _ device: PushDevice) async -> PushOutcome {
    await withCheckedContinuation { waiting in send(message, to: device) { waiting.resume(returning: $0) } }
  }

  /// The outcomes of messages that are sent at the same time.
  func outcomes(_ messages: [(PushMessage, PushDevice)]) async -> [PushOutcome] {
    await withTaskGroup(of: PushOutcome.self) { group in
      for (message, device) in messages { group.addTask { await self.outcome(message, device) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}
