import Foundation
import Push
import TestSupport
import Testing

/// What people are told of by real processes, where services, phones and brokers do what they should not.
@Suite("Notifications over processes", .ownThread, .serialized)
struct NotificationProcessTests {
  /// Everything about somebody else comes after what is looked at, since the services take what comes in order.
  private func passBarrier(
    _ servers: NotifyingServers, _ services: PushServers, number: Int = 99, at place: String = "broker"
  ) async throws {
    let user = "barrier\(number)"
    let phone = try await servers.phone(of: user, at: place)
    try await phone.register(number)
    try await servers.phone(of: "ann", at: place).publish(on: "inbox:#ann,\(user)")
    let isThere = await eventually { !services.requests(to: PushServers.fcmToken(number)).isEmpty }
    try #require(isThere)
    phone.cut()
  }

  private static func error(_ status: Int, _ name: String, _ code: String? = nil) -> String {
    let details =
      code.map { #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"# } ?? ""
    return #"{"error":{"code":\#(status),"status":"\#(name)","message":"words","details":[\#(details)]}}"#
  }

  @Test("Retry-After is waited for, and then it is sent once")
  func retryAfter() async throws {
    let token = PushServers.fcmToken(1)
    let busy = Self.error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
    let answers = [token: PushServers.Answer(status: 429, headers: ["retry-after": "4"], body: busy, only: 1)]
    try await NotifyingServers.with(answers, push: #""delay":"1s""#) { servers, services in
      let bob = try await servers.phone(of: "bob")
      try await bob.register(1)
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,bob")
      #expect(await eventually { services.requests(to: token).count == 2 })
      let times = services.requests(to: token).map(\.at)
      #expect(times.count == 2 && (times.last ?? 0) - (times.first ?? 0) >= 4)
      try await passBarrier(servers, services)
      #expect(services.requests(to: token).count == 2)
      let said = try await servers.why("bob", "inbox:#ann,bob")
      #expect(said.contains("tried again later") && said.contains("services have taken it"), "\(said)")
    }
  }

  /// What APNs says of a device whose app is gone, and since when: an hour before it is asked, or an hour after that.
  private static func unregistered(isLater: Bool) -> String {
    let time = Int64(Date().timeIntervalSince1970 * 1000) + (isLater ? 3_600_000 : -3_600_000)
    return #"{"reason":"Unregistered","timestamp":\#(time)}"#
  }

  /// How each service calls the two devices of a person, and says of the first that it is gone.
  private static func goneDevice(
    _ kind: PushDevice.Kind
  ) -> (names: [String], answer: PushServers.Answer) {
    switch kind {
    case .web: (["/push/gone", "/push/kept"], .init(status: 410))
    case .apns:
      ([1, 2].map(PushServers.apnsToken), .init(status: 410, body: unregistered(isLater: true)))
    case .fcm:
      ([1, 2].map(PushServers.fcmToken), .init(status: 404, body: error(404, "NOT_FOUND", "UNREGISTERED")))
    }
  }

  @Test(
    "A device that its service does not know any more is removed, and the person's map of devices says so",
    arguments: PushDevice.Kind.allCases)
  func gone(_ kind: PushDevice.Kind) async throws {
    let (names, answer) = Self.goneDevice(kind)
    try await NotifyingServers.with([names[0]: answer], push: #""delay":"1s""#) { servers, services in
      let bob = try await servers.phone(of: "bob")
      let devices =
        switch kind {
        case .web: try names.map(services.browser)
        case .apns: try [1, 2].map { try PushServers.apns($0) }
        case .fcm: try [1, 2].map(PushServers.fcm)
        }
      let (gone, kept) = (try await bob.register(devices[0]), try await bob.register(devices[1]))
      #expect(try await servers.phone(of: "bob").keys(of: "push.devices:bob") == [gone, kept, "settings"].sorted())
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,bob")
      #expect(try await eventually { try await bob.devices() == [kept] })
      #expect(try await servers.phone(of: "bob").keys(of: "push.devices:bob") == [kept, "settings"].sorted())
      #expect(services.requests(to: names[1]).count == 1)
      let said = try await servers.why("bob", "inbox:#ann,bob")
      #expect(said.contains("does not know the device any more"), "\(said)")
      try await passBarrier(servers, services)
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,bob")
      #expect(await eventually { services.requests(to: names[1]).count == 2 })
      // What a service is sent at once goes over one connection, to the first device first.
      #expect(services.requests(to: names[0]).count == 1, "nobody sends to a device that is gone")
    }
  }

  @Test("A device that APNs says was gone before it registered stays, and is told once more")
  func registeredSince() async throws {
    let token = PushServers.apnsToken(1)
    let answers = [token: PushServers.Answer(status: 410, body: Self.unregistered(isLater: false), only: 1)]
    try await NotifyingServers.with(answers, push: #""delay":"1s""#) { servers, services in
      let bob = try await servers.phone(of: "bob")
      let device = try await bob.register(PushServers.apns(1))
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,bob")
      #expect(await eventually { services.requests(to: token).count == 2 })
      #expect(
        try await eventually { try await servers.why("bob", "inbox:#ann,bob").contains("services have taken it") })
      #expect(try await bob.devices() == [device])
      try await passBarrier(servers, services)
      #expect(services.requests(to: token).count == 2)
    }
  }

  @Test("A phone whose socket is open and reads nothing acknowledges nothing, so it is notified")
  func frozen() async throws {
    try await NotifyingServers.with(push: #""delay":"1s""#) { servers, services in
      let bob = try await servers.phone(of: "bob")
      try await bob.register(1)
      try await bob.ask(#""subscribe":{"channel":"inbox:#ann,bob"}"#)
      bob.socket.pauseReading()
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,bob")
      #expect(await eventually { services.requests(to: PushServers.fcmToken(1)).count == 1 })
      #expect(bob.socket.closing == nil, "the server believes that the phone is there")
      let request = try #require(services.requests(to: PushServers.fcmToken(1)).first)
      #expect(request.value("message.data.channel") == "inbox:#ann,bob" && request.value("message.data.offset") == "1")
      #expect(request.value("message.notification.title") == "New message" && !"\(request.text)".contains("secret"))
    }
  }

  @Test("Whoever acknowledges at one of two gateways is not notified, wherever the device registered")
  func gateways() async throws {
    try await NotifyingServers.with(push: #""delay":"8s""#, gateways: 2) { servers, services in
      let one = try await servers.phone(of: "bob", at: "gateway0")
      let other = try await servers.phone(of: "bob", at: "gateway1")
      try await one.register(1)
      let ann = try await servers.phone(of: "ann", at: "gateway0")
      try await ann.publish(on: "inbox:#ann,bob")
      try await other.call("push.delivered", ##"{"subject":"inbox:#ann,bob","offset":1}"##)
      try await passBarrier(servers, services, at: "gateway1")
      #expect(services.requests(to: PushServers.fcmToken(1)).isEmpty)
      let said = try await servers.why("bob", "inbox:#ann,bob")
      #expect(said.contains("a device acknowledged it in time"), "\(said)")
      try await ann.publish(on: "inbox:#ann,bob")
      #expect(await eventually { services.requests(to: PushServers.fcmToken(1)).count == 1 })
      try await other.call("push.seen", ##"{"subject":"inbox:#ann,bob"}"##)
      #expect(await eventually { services.requests(to: PushServers.fcmToken(1)).count == 2 })
      #expect(services.requests(to: PushServers.fcmToken(1)).last?.value("message.data.withdraw") != nil)
    }
  }

  @Test(
    "What was under way when the broker was killed is sent as soon as it is up; what was answered is not sent again")
  func killed() async throws {
    let token = PushServers.fcmToken(1)
    let answers = [token: PushServers.Answer(status: 200, only: 1, hang: true)]
    try await NotifyingServers.with(answers, push: #""delay":"1s""#) { servers, services in
      try await servers.phone(of: "bob").register(1)
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,bob")
      #expect(await eventually { services.requests(to: token).count == 1 })
      try await servers.killAndRestart()
      // An answer is waited for a minute, and a service for 20 seconds: it is neither of these.
      let clock = ContinuousClock()
      let up = clock.now
      #expect(await eventually { services.requests(to: token).count == 2 })
      #expect(clock.now - up < .seconds(15), "it was sent as soon as the broker was up")
      #expect(
        try await eventually { try await servers.why("bob", "inbox:#ann,bob").contains("services have taken it") })
      try await servers.killAndRestart()
      try await passBarrier(servers, services)
      #expect(services.requests(to: token).count == 2)
      let keys = services.requests(to: token).map { $0.value("message.android.collapse_key") }
      #expect(keys.first == keys.last && keys.first != nil, "the second replaces the first where that arrived")
    }
  }

  @Test("An export has the devices and nothing that reaches them; a deletion leaves neither these nor what waits")
  func deletion() async throws {
    let (user, token) = ("zQ7xbob", PushServers.fcmToken(7))
    try await NotifyingServers.with(push: #""delay":"1s""#) { servers, services in
      let bob = try await servers.phone(of: user)
      let device = try await bob.register(7)
      let later = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
      try await bob.call("push.settings", "{\"muted_until\":\(later)}")
      try await servers.phone(of: "ann").publish(on: "inbox:#ann,\(user)")
      #expect(try await eventually { try await servers.why(user, "inbox:#ann,\(user)").contains("quiet hours") })
      #expect(try await eventually { try !servers.files(holding: token).isEmpty })
      var (pages, cursor): (String, String?) = ("", "")
      while let from = cursor {
        let page = try await servers.call("user_export", "{\"user\":\"\(user)\",\"cursor\":\"\(from)\"}")
        pages += page
        cursor = (NotifiedPhone.object(page)["result"] as? [String: Any])?["cursor"] as? String
        if cursor?.isEmpty == true { cursor = nil }
      }
      #expect(pages.contains(device) && !pages.contains(token), "\(pages)")
      bob.cut()
      _ = try await servers.call("user_delete", "{\"user\":\"\(user)\"}")
      let isDone = try await eventually {
        try await servers.call("user_delete_status", "{\"user\":\"\(user)\"}").contains("\"done\"")
      }
      #expect(isDone)
      for trace in [token, device, user] { #expect(try servers.files(holding: trace) == [], "\(trace)") }
      #expect(services.requests(to: token).isEmpty)
    }
  }

  @Test("why says of each what became of it: sent, acknowledged in time, refused, given up")
  func why() async throws {
    let answers = [
      PushServers.fcmToken(3): PushServers.Answer(status: 403, body: Self.error(403, "PERMISSION_DENIED")),
      PushServers.fcmToken(4): PushServers.Answer(status: 503, body: Self.error(503, "UNAVAILABLE", "UNAVAILABLE")),
    ]
    try await NotifyingServers.with(answers, push: #""delay":"8s","give_up_after":"3s""#) { servers, _ in
      let ann = try await servers.phone(of: "ann")
      let users = [
        ("sent", "services have taken it"), ("heard", "a device acknowledged it in time"),
        ("refused", "the service refused it, and would again"), ("away", "given up"),
      ]
      for (place, (user, _)) in users.enumerated() {
        let phone = try await servers.phone(of: user)
        try await phone.register(place + 1)
        try await ann.publish(on: "inbox:#ann,\(user)")
        if user == "heard" {
          try await phone.call("push.delivered", ##"{"subject":"inbox:#ann,heard","offset":1}"##)
        }
        phone.cut()
      }
      for (user, expected) in users {
        var said = ""
        let isSaid = try await eventually {
          said = try await servers.why(user, "inbox:#ann,\(user)")
          return said.contains(expected)
        }
        #expect(isSaid, "\(user): \(said)")
        for (_, other) in users where other != expected { #expect(!said.contains(other), "\(user): \(said)") }
      }
    }
  }
}
