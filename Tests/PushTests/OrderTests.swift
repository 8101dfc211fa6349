import Synchronization
import TestSupport
import Testing
import Wire

@testable import Push

/// The arguments of `push_send`, and its answer.
@Suite("Orders of notifications")
struct OrderTests {
  private static let token = String(repeating: "0a", count: 32)
  private static let device = #"{"kind":"apns","token":"\#(token)"}"#

  private static func order(_ members: String, devices: String = device) throws -> PushOrder {
    try PushOrder(json: Array(#"{"devices":[\#(devices)]\#(members.isEmpty ? "" : ",")\#(members)}"#.utf8))
  }

  private static func fault(_ members: String, devices: String = device) -> String? {
    do throws(ClientError) {
      _ = try PushOrder(json: Array(#"{"devices":[\#(devices)]\#(members.isEmpty ? "" : ",")\#(members)}"#.utf8))
      return nil
    } catch {
      return error.code == 107 ? error.message : "error \(error.code)"
    }
  }

  @Test("All that a message has is read, and what is left out is as usual")
  func message() throws {
    let full = try Self.order(
      #""title":"Ada","body":"Hi","data":{"channel":"chat:7"},"badge":3,"urgency":"low","ttl":60,"collapse_key":"k","#
        + #""withdraw":false,"silent":true,"link":"https://example.com/a","else":[]"#)
    let expected = try PushMessage(
      title: "Ada", body: "Hi", data: ["channel": "chat:7"], badge: 3, urgency: .low, timeToLive: 60, collapseKey: "k",
      hasSound: false, link: "https://example.com/a")
    #expect(full.message == expected)
    #expect(full.devices == [.apns(try APNsDevice(token: Self.token))])
    #expect(try Self.order(#""title":"Ada""#).message == PushMessage(title: "Ada"))
    let withdrawal = try Self.order(#""withdraw":true,"collapse_key":"k""#).message
    #expect(withdrawal.isWithdrawal && withdrawal.collapseKey == "k")
  }

  @Test(
    "What cannot be sent is error 107 with a sentence about it",
    arguments: [
      ("", "title"), (#""title":"""#, "title"), (#""title":1"#, "title"), (#""title":"a","body":[]"#, "body"),
      (#""title":"a","data":{"n":1}"#, "data"), (#""title":"a","data":{"from":"x"}"#, "from"),
      (#""title":"a","badge":-1"#, "badge"), (#""title":"a","badge":"1""#, "badge"),
      (#""title":"a","urgency":"now""#, "very-low, low, normal, high"), (#""title":"a","ttl":-1"#, "ttl"),
      (#""title":"a","ttl":1.5"#, "ttl"), (#""withdraw":true"#, "collapse key"),
      (#""withdraw":true,"collapse_key":"""#, "collapse key"), (#""title":"a","silent":1"#, "silent"),
      (#""title":"a","link":"http://example.com""#, "link"),
    ])
  func faults(_ members: String, _ said: String) {
    #expect(Self.fault(members)?.contains(said) == true, "\(members): \(Self.fault(members) ?? "was taken")")
  }

  @Test("A device that cannot be read is named by its place, without its token")
  func device() {
    for wrong in [#"{"kind":"apns","token":"secret-token"}"#, #"{"kind":"pager"}"#, "7", #"{"kind":"web"}"#] {
      let fault = Self.fault(#""title":"a""#, devices: "\(Self.device),\(wrong),\(Self.device)")
      #expect(fault?.hasPrefix("devices[1]: ") == true && fault?.contains("secret") == false, "\(fault ?? "taken")")
    }
    let many = Array(repeating: Self.device, count: 101).joined(separator: ",")
    #expect(Self.fault(#""title":"a""#, devices: many)?.contains("100") == true)
    #expect(Self.fault(#""title":"a""#, devices: "")?.contains("100") == true)
  }

  @Test("The answer has each device by its digest, and what its outcome obliges to")
  func answer() throws {
    let devices = (0..<7).map { #"{"kind":"apns","token":"\#(String(repeating: "0\($0)", count: 32))"}"# }
    let order = try Self.order(#""title":"a""#, devices: devices.joined(separator: ","))
    let outcomes: [PushOutcome] = [
      .taken(id: "x"), .forget(reason: "gone", since: 7), .later(afterSeconds: 17, reason: "busy"),
      .tooLarge(reason: "long"), .refused("a \"key\""), .failed(reason: "away"),
      .unanswered(reason: "cut"),
    ]
    let answer = try object(order.json(of: outcomes))
    let told = (answer["devices"]?.array ?? []).map(\.text)
    let expected = [
      #""taken""#, #""forget","reason":"gone","since":7"#, #""later","reason":"busy","after":17"#,
      #""too_large","reason":"long""#, #""refused","reason":"a \"key\"""#, #""failed","reason":"away""#,
      #""failed","reason":"cut""#,
    ]
    #expect(told == zip(order.devices, expected).map { #"{"id":"\#($0.id)","outcome":\#($1)}"# })
    #expect(outcomes.dropLast().map(\.name) == PushOutcome.names && outcomes.last?.name == "failed")
  }

  @Test("Outcomes are told once, when the last is known, in the order of the devices")
  func gathers() {
    let told = Mutex<[[PushOutcome]]>([])
    let gathering = PushGathering(count: 2) { outcomes in told.withLock { $0.append(outcomes) } }
    gathering.take(.refused("b"), at: 1)
    gathering.take(.refused("again"), at: 1)
    #expect(told.withLock { $0.isEmpty })
    gathering.take(.taken(id: nil), at: 0)
    gathering.take(.taken(id: nil), at: 0)
    gathering.timeOut()
    #expect(told.withLock { $0 } == [[.taken(id: nil), .refused("b")]])
  }

  @Test("What a service has not answered when the time is over it may have taken, and a late answer changes nothing")
  func timesOut() async {
    let told = Mutex<[[PushOutcome]]>([])
    let gathering = PushGathering(count: 2) { outcomes in told.withLock { $0.append(outcomes) } }
    gathering.end(afterMilliseconds: 1)
    gathering.take(.taken(id: nil), at: 0)
    #expect(await eventually { told.withLock { !$0.isEmpty } })
    gathering.take(.taken(id: nil), at: 1)
    let outcomes = told.withLock { $0 }
    #expect(outcomes.count == 1 && outcomes.first?.map { OutcomeKind($0) } == [.taken, .unanswered])
  }

  @Test("Without a service for its kind a device is refused, with the setting that is missing")
  func unconfigured() async throws {
    let service = try PushService(PushConfiguration(), userAgent: "test", now: { 0 }, age: { 0 })
    defer { service.close() }
    let web =
      #"{"kind":"web","endpoint":"https://push.example.net/a","keys":{"p256dh":"\#(ExampleBrowser.p256dh)","#
      + #""auth":"\#(ExampleBrowser.auth)"}}"#
    let fcm = #"{"kind":"fcm","token":"\#(String(repeating: "x", count: 140))"}"#
    let order = try Self.order(#""title":"a""#, devices: "\(web),\(Self.device),\(fcm)")
    let outcomes = await withCheckedContinuation { waiting in service.send(order) { waiting.resume(returning: $0) } }
    let settings = ["push.web.vapid_private_key_file", "push.apns.key_file", "push.fcm.service_account_file"]
    try #require(outcomes.count == 3)
    for (outcome, setting) in zip(outcomes, settings) {
      guard case .refused(let sentence) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(sentence.contains(setting))
    }
  }
}
