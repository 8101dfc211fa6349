import Cryptography
import Foundation
import Push
import TestSupport
import Testing

/// Notifications to services that check everything, in HTTP/2, and whose readers are other people's code.
@Suite("Notifications to push services, APNs and FCM", .ownThread)
struct PushServiceTests {
  private static func message(
    _ body: String = "Hello", title: String = "Ada", key: String? = "chat:7", isWithdrawal: Bool = false
  ) throws -> PushMessage {
    try PushMessage(
      title: title, body: body, data: ["channel": "chat:7"], badge: 3, timeToLive: 3600, collapseKey: key,
      isWithdrawal: isWithdrawal)
  }

  private func withServers(
    _ answers: [String: PushServers.Answer] = [:], _ body: (PushServers) async throws -> Void
  ) async throws {
    let servers = try await PushServers(answers)
    defer { servers.stop() }
    try await body(servers)
  }

  // MARK: Web Push

  @Test("A browser can read what it is sent: a text, one that was shortened, a withdrawal, and one without a key")
  func webPush() async throws {
    try await withServers { servers in
      try await servers.withService { service in
        let device = try servers.browser()
        let messages = [
          try Self.message(), try Self.message(String(repeating: "ü", count: 5000)),
          try Self.message(isWithdrawal: true), try Self.message(key: nil),
        ]
        for message in messages { #expect(await service.outcome(message, device) == .taken(id: nil)) }
      }
      #expect(servers.broken == [])
      let requests = servers.requests(of: "web")
      try #require(requests.count == 4)
      #expect(requests[0].value("notification.title") == "Ada" && requests[0].value("notification.body") == "Hello")
      #expect(requests[0].value("web_push") == "8030" && requests[0].value("app_badge") == "3")
      #expect(requests[0].value("notification.data.channel") == "chat:7")
      #expect(requests[1].value("notification.body")?.hasSuffix("ü…") == true)
      #expect((4090...4096).contains(requests[1].size ?? 0))
      let tag = try #require(requests[0].value("notification.tag"))
      #expect(requests[2].value("withdraw") == tag && requests[0].headers["topic"] == tag)
      #expect(requests[3].headers["topic"] == nil && requests[3].value("notification.tag") == nil)
    }
  }

  @Test("A hundred notifications at the same time arrive with one token, each encrypted by itself")
  func manyBrowsers() async throws {
    try await withServers { servers in
      try await servers.withService { service in
        let all = try (0..<100).map { (try Self.message("\($0)"), try servers.browser("/push/\($0)")) }
        #expect(await service.outcomes(all).allSatisfy { $0 == .taken(id: nil) })
      }
      #expect(servers.broken == [])
      let requests = servers.requests(of: "web")
      #expect(Set(requests.compactMap { $0.value("notification.body") }).count == 100)
      #expect(Set(requests.compactMap { $0.headers["authorization"] }).count == 1)
    }
  }

  @Test("What a push service answers becomes what the caller has to do, and a redirect leads nowhere")
  func webPushAnswers() async throws {
    let date = "Wed, 21 Oct 2099 07:28:00 GMT"
    let answers: [String: PushServers.Answer] = [
      "/push/404": .init(status: 404), "/push/410": .init(status: 410, body: "gone"), "/push/413": .init(status: 413),
      "/push/429": .init(status: 429, headers: ["retry-after": "17"]),
      "/push/date": .init(status: 503, headers: ["retry-after": date]), "/push/500": .init(status: 500),
      "/push/307": .init(status: 307, headers: ["location": "/push/elsewhere"]), "/push/400": .init(status: 400),
      "/push/long": .init(status: 201, body: "0123456789", times: 20_000),
    ]
    try await withServers(answers) { servers in
      try await servers.withService { service in
        func outcome(_ name: String) async throws -> PushOutcome {
          await service.outcome(try Self.message(), try servers.browser("/push/\(name)"))
        }
        for name in ["404", "410"] {
          guard case .forget(let reason, nil) = try await outcome(name) else {
            Issue.record("\(name) ends no subscription")
            continue
          }
          #expect(reason.contains(name) && !reason.contains("/push/"))
        }
        for (name, seconds) in [("429", 17), ("date", PushOutcome.mostSeconds), ("500", nil)] as [(String, Int64?)] {
          guard case .later(seconds, _) = try await outcome(name) else {
            Issue.record("\(name) is not tried after \(seconds ?? 0) seconds")
            continue
          }
        }
        guard case .tooLarge = try await outcome("413"), case .refused = try await outcome("400"),
          case .refused(let redirect) = try await outcome("307"), case .unanswered(let long) = try await outcome("long")
        else {
          Issue.record("an answer is something else")
          return
        }
        #expect(redirect.contains("redirect") && long.contains("more than"))
      }
      #expect(servers.broken == [] && !servers.requests.contains { $0.device == "/push/elsewhere" })
    }
  }

  @Test("With another key than browsers subscribed for, the operator is told")
  func otherVAPIDKey() async throws {
    try await withServers { servers in
      try await servers.withService(servers.configuration(vapidKey: try VAPIDKey())) { service in
        guard case .refused(let said) = await service.outcome(try Self.message(), try servers.browser()) else {
          Issue.record("another key is taken")
          return
        }
        #expect(said.contains("VapidPkHashMismatch") && said.contains("push.web"))
      }
    }
  }

  @Test("A service whose certificate nobody vouches for is sent nothing")
  func untrusted() async throws {
    try await withServers { servers in
      var configuration = try servers.configuration()
      configuration.certificateAuthorities = nil
      try await servers.withService(configuration) { service in
        for device in [try servers.browser(), try PushServers.apns(1), try PushServers.fcm(1)] {
          guard case .failed(let reason) = await service.outcome(try Self.message(), device) else {
            Issue.record("\(device) was sent to")
            continue
          }
          #expect(reason.contains("certificate"), "\(reason)")
        }
      }
      #expect(servers.requests.isEmpty)
    }
  }

  @Test(
    "What a service has read over HTTP/2 may have been taken where the connection or the server ends before the answer",
    arguments: [true, false])
  func answerLost(isCut: Bool) async throws {
    let answer = PushServers.Answer(hang: !isCut, cut: isCut)
    let names = ["/push/lost", PushServers.apnsToken(1), PushServers.fcmToken(1)]
    try await withServers(Dictionary(uniqueKeysWithValues: names.map { ($0, answer) })) { servers in
      let devices = [try servers.browser("/push/lost"), try PushServers.apns(1), try PushServers.fcm(1)]
      let messages = try devices.map { (try Self.message(), $0) }
      let outcomes = try await servers.withService { service in
        async let outcomes = service.outcomes(messages)
        let areRead = await eventually { names.allSatisfy { !servers.requests(to: $0).isEmpty } }
        #expect(areRead)
        // Nobody waits any more after that for what hangs.
        if !isCut { service.close() }
        return await outcomes
      }
      #expect(outcomes.count == 3 && servers.broken == [])
      for outcome in outcomes {
        guard case .unanswered(let reason) = outcome else {
          Issue.record("\(outcome)")
          continue
        }
        #expect(reason.hasSuffix("it may have taken the notification"))
      }
    }
  }

  // MARK: APNs

  @Test("APNs takes alerts, long ones, withdrawals and all urgencies, with one token for all of them")
  func apns() async throws {
    try await withServers { servers in
      try await servers.withService { service in
        var messages = [
          (try Self.message(), try PushServers.apns(1)),
          (try Self.message(String(repeating: "漢", count: 5000)), try PushServers.apns(2)),
          (try Self.message(isWithdrawal: true), try PushServers.apns(3, topic: "com.example.other")),
          (try PushMessage(title: "Ada", timeToLive: 0, hasSound: false), try PushServers.apns(4)),
        ]
        for urgency in PushMessage.Urgency.allCases {
          for number in 10..<30 {
            messages.append((try PushMessage(title: "Ada", urgency: urgency), try PushServers.apns(number)))
          }
        }
        for outcome in await service.outcomes(messages) {
          guard case .taken(let id?) = outcome else {
            Issue.record("\(outcome)")
            continue
          }
          #expect(servers.requests.contains { $0.headers["apns-id"] == id })
        }
      }
      #expect(servers.broken == [])
      let requests = servers.requests(of: "apns")
      func request(_ number: Int) -> PushServers.Request? {
        requests.first { $0.device == PushServers.apnsToken(number) }
      }
      #expect(requests.count == 84 && Set(requests.compactMap { $0.headers["authorization"] }).count == 1)
      #expect(request(1)?.value("aps.alert.body") == "Hello" && request(1)?.value("aps.badge") == "3")
      #expect((4090...4096).contains(request(2)?.size ?? 0))
      #expect(request(3)?.headers["apns-push-type"] == "background")
      #expect(request(3)?.headers["apns-collapse-id"] == request(3)?.value("withdraw"))
      #expect(request(3)?.headers["apns-topic"] == "com.example.other")
      #expect(request(4)?.headers["apns-expiration"] == "0" && request(4)?.value("aps.sound") == nil)
      #expect(Set(requests.compactMap { $0.headers["apns-priority"] }) == ["10", "5", "1"])
    }
  }

  @Test("What APNs answers ends a device with the time that it names, waits, or is told to the operator")
  func apnsAnswers() async throws {
    let cases: [(Int, String)] = [
      (410, #"{"reason":"Unregistered","timestamp":1700000000123}"#), (400, #"{"reason":"BadDeviceToken"}"#),
      (400, #"{"reason":"DeviceTokenNotForTopic"}"#), (429, #"{"reason":"TooManyRequests"}"#),
      (503, #"{"reason":"Shutdown"}"#), (413, #"{"reason":"PayloadTooLarge"}"#),
      (403, #"{"reason":"InvalidProviderToken"}"#),
    ]
    let answers = cases.enumerated().map { number, answer in
      (PushServers.apnsToken(number), PushServers.Answer(status: answer.0, body: answer.1))
    }
    try await withServers(Dictionary(uniqueKeysWithValues: answers)) { servers in
      try await servers.withService { service in
        var outcomes: [PushOutcome] = []
        for number in cases.indices {
          outcomes.append(await service.outcome(try Self.message(), try PushServers.apns(number)))
        }
        #expect(outcomes[0] == .forget(reason: "APNs answered 410, Unregistered", since: 1_700_000_000_123))
        #expect(outcomes[1] == .forget(reason: "APNs answered 400, BadDeviceToken", since: nil))
        #expect(outcomes[2] == .forget(reason: "APNs answered 400, DeviceTokenNotForTopic", since: nil))
        #expect(outcomes[3] == .later(afterSeconds: 60, reason: "APNs answered 429, TooManyRequests"))
        #expect(outcomes[4] == .later(afterSeconds: nil, reason: "APNs answered 503, Shutdown"))
        #expect(outcomes[5] == .tooLarge(reason: "APNs answered 413, PayloadTooLarge"))
        guard case .refused(let said) = outcomes[6] else {
          Issue.record("\(outcomes[6])")
          return
        }
        #expect(said.contains("clock"))
      }
    }
  }

  @Test("A token that APNs takes for expired is made anew after 20 minutes, and nothing is sent until then")
  func expiredToken() async throws {
    let answers = [
      PushServers.apnsToken(1): PushServers.Answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#)
    ]
    try await withServers(answers) { servers in
      let clock = PushClock(behind: 1300)
      try await servers.withService(clock: clock) { service in
        let (refused, other) = (try PushServers.apns(1), try PushServers.apns(2))
        clock.advance(5)
        guard case .taken = await service.outcome(try Self.message(), other) else {
          Issue.record("the first was not taken")
          return
        }
        clock.advance(100)
        for (device, seconds) in [(refused, 1100), (other, 1100)] as [(PushDevice, Int64)] {
          guard case .later(seconds, let reason) = await service.outcome(try Self.message(), device) else {
            Issue.record("\(device) waits for another time")
            continue
          }
          #expect(reason.contains("clock"))
        }
        clock.advance(1100)
        guard case .taken = await service.outcome(try Self.message(), other) else {
          Issue.record("with a new token it is not taken")
          return
        }
      }
      #expect(servers.broken == [])
      let tokens = servers.requests(of: "apns").compactMap { $0.headers["authorization"] }
      #expect(tokens.count == 3 && Set(tokens).count == 2)
    }
  }

  @Test("Tokens follow each other after 50 minutes, which APNs takes; a key of somebody else's it does not")
  func renewedToken() async throws {
    try await withServers { servers in
      let clock = PushClock(behind: 3100)
      try await servers.withService(clock: clock) { service in
        for _ in 0..<3 {
          guard case .taken = await service.outcome(try Self.message(), try PushServers.apns(1)) else {
            Issue.record("a token is not taken after \(clock.age) seconds")
            return
          }
          clock.advance(1500)
        }
      }
      #expect(servers.broken == [])
      #expect(Set(servers.requests(of: "apns").compactMap { $0.headers["authorization"] }).count == 2)
      try await servers.withService(servers.configuration(apnsKey: try PrivateKey(on: .p256))) { service in
        guard case .refused(let said) = await service.outcome(try Self.message(), try PushServers.apns(1)) else {
          Issue.record("another key is taken")
          return
        }
        #expect(said.contains("InvalidProviderToken") && said.contains("push.apns"))
      }
    }
  }
}
