import HTTPClient
import TestSupport
import Testing

@testable import Push

/// What others send is read whole or refused, whatever it is.
@Suite("Devices and answers out of garbage")
struct GarbageTests {
  /// Changes some bytes of a text, cuts it, or doubles a part of it.
  private static func changed(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var text = text
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      guard let place = text.indices.randomElement(using: &random) else { return text }
      switch Int.random(in: 0..<4, using: &random) {
      case 0: text[place] = UInt8.random(in: 0...255, using: &random)
      case 1: text.removeSubrange(place...)
      case 2: text.insert(contentsOf: text[place...].prefix(40), at: place)
      default: text.remove(at: place)
      }
    }
    return text
  }

  @Test("A changed device is refused, or is one that comes back from its own JSON", arguments: 0..<8 as Range<UInt64>)
  func devices(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let devices: [PushDevice] = [
      try ExampleBrowser.device(), .apns(try ExampleDevice.apns(topic: "com.example.app")),
      .fcm(try ExampleDevice.fcm()),
    ]
    var refused = 0
    for _ in 0..<500 {
      for device in devices {
        do {
          let read = try PushDevice(json: Self.changed(device.json, &random))
          #expect(try PushDevice(json: read.json) == read)
        } catch {
          refused += 1
        }
      }
    }
    #expect(refused > 100)
  }

  @Test("Every status with any body has a meaning, and a text of one line", arguments: 0..<4 as Range<UInt64>)
  func answers(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let bodies = [
      #"{"reason":"Unregistered","timestamp":1700000000123}"#, #"{"access_token":"ya29.a","expires_in":3599}"#,
      #"{"error":{"status":"NOT_FOUND","message":"words","details":[{"errorCode":"UNREGISTERED"}]}}"#,
    ]
    for status in 100..<600 {
      for body in bodies {
        var reply = HTTPReply(status: status, body: Self.changed(Array(body.utf8), &random))
        reply.retryAfterSeconds = Bool.random(using: &random) ? Int64.random(in: 1 ... .max, using: &random) : nil
        var outcomes = [WebPushAnswer.verdict(reply, host: "push.example.net")]
        for verdict in [APNsAnswer.verdict(reply, id: "id"), FCMAnswer.verdict(reply)] {
          if case .outcome(let outcome) = verdict { outcomes.append(outcome) }
        }
        if case .outcome(let outcome) = AccessTokenAnswer.verdict(reply) { outcomes.append(outcome) }
        for outcome in outcomes { Self.check(outcome) }
      }
    }
  }

  private static func check(_ outcome: PushOutcome) {
    let text: String
    switch outcome {
    case .taken(let id): text = id ?? ""
    case .later(let seconds, let reason):
      #expect(seconds.map { (1...PushOutcome.mostSeconds).contains($0) } ?? true)
      text = reason
    case .forget(let reason, _), .tooLarge(let reason), .refused(let reason), .failed(let reason),
      .unanswered(let reason):
      text = reason
    }
    #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } && text.utf8.count < 700)
  }
}
