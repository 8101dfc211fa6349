import ClientProtobuf
import Foundation
import SwiftProtobuf
import Testing

@testable import Wire

@Suite("The push of a publication")
struct PublicationPushTests {
  /// Everything that may be there or not, and characters of every kind.
  private static func publication(using random: inout SeededRandom) -> Publication {
    let texts = [
      "", "u", "user-42", "é😀", "a\"b\\c\n\r\t\u{1}\u{1F}\u{7F}", String(repeating: "x", count: 200), "1234567é",
    ]
    let payloads = [
      "", "1", "{\"a\" : [1,\n2,\r\n3]}", "\"\(String(repeating: "é", count: 40_000))\"", "{\"text\":\"é\"}",
    ]
    func text() -> String { texts[Int.random(in: 0..<texts.count, using: &random)] }
    func payload() -> [UInt8] { utf8(payloads[Int.random(in: 0..<payloads.count, using: &random)]) }
    var info: ClientInfo?
    if Bool.random(using: &random) {
      info = ClientInfo(
        user: text(), client: text(), connectionInfo: Bool.random(using: &random) ? payload() : nil,
        channelInfo: Bool.random(using: &random) ? payload() : nil)
    }
    // One: the generated messages write several in no order that they promise.
    let tags = Bool.random(using: &random) ? [text(): text()] : [:]
    let numbers: [UInt64] = [0, 1, 9, 10, 127, 128, 16_383, 16_384, 1 << 32, UInt64(Int64.max), .max]
    func number() -> UInt64 { numbers[Int.random(in: 0..<numbers.count, using: &random)] }
    return Publication(
      offset: number(), time: Int64(bitPattern: number()), data: payload(), info: info, tags: tags)
  }

  private static func channel(using random: inout SeededRandom) -> String {
    ["", "c", "chat:room-1234", "é\"\\", String(repeating: "n", count: 130)][Int.random(in: 0..<5, using: &random)]
  }

  @Test("in Protobuf has the bytes that the generated messages give")
  func protobuf() throws {
    var random = SeededRandom(seed: 11)
    for _ in 0..<2_000 {
      let (channel, publication) = (Self.channel(using: &random), Self.publication(using: &random))
      let push = ClientReply.push(.publication(channel: channel, publication))
      var expected: [UInt8] = []
      ProtobufReplyEncoder.encode(push, into: &expected)
      #expect(ClientCodec.encode([push], format: .protobuf) == expected, "\(publication)")
    }
  }

  @Test("in JSON has the bytes that the writer of the other replies gives")
  func json() {
    var random = SeededRandom(seed: 12)
    for round in 0..<2_000 {
      let (channel, publication) = (Self.channel(using: &random), Self.publication(using: &random))
      let push = ClientReply.push(.publication(channel: channel, publication, binaryData: round % 3 == 0))
      var expected: [UInt8] = []
      JSONReplyEncoder.encode(push, into: &expected)
      #expect(ClientCodec.encode([push], format: .json) == expected, "\(publication)")
    }
  }

  @Test("with several tags is read back whole by the generated messages")
  func tags() throws {
    let tags = ["b": "2", "a": "", "": "é", "long": String(repeating: "x", count: 300)]
    let push = ClientReply.push(.publication(channel: "c", Publication(data: [0x31], tags: tags)))
    let message = try #require(try ProtobufFraming.split(ClientCodec.encode([push], format: .protobuf)).first)
    #expect(try ProtoReply(serializedBytes: message).push.pub.tags == tags)
  }

  @Test(
    "appended as a frame stands behind what was there, byte for byte as a frame of its own",
    arguments: WireFormat.allCases)
  func appending(format: WireFormat) {
    var random = SeededRandom(seed: 13)
    for round in 0..<200 {
      let binary = round % 4 == 0
      var (appended, expected): ([UInt8], [UInt8]) = ([7, 7], [7, 7])
      for _ in 0..<5 {
        let (channel, publication) = (Self.channel(using: &random), Self.publication(using: &random))
        let push = ClientReply.push(.publication(channel: channel, publication, binaryData: binary))
        ClientCodec.appendFrame(publication, on: channel, binaryData: binary, format: format, into: &appended)
        expected += ClientCodec.frame(for: [push], format: format)
        #expect(
          ClientCodec.frame(for: [push], format: format)
            == ServerFrame.message(ClientCodec.encode([push], format: format), format: format))
      }
      #expect(appended == expected)
    }
  }

  @Test("among other replies stands in its place", arguments: WireFormat.allCases)
  func among(format: WireFormat) {
    let push = ClientReply.push(.publication(channel: "c", Publication(offset: 1, data: [0x31])))
    let separator: [UInt8] = format == .json ? [0x0A] : []
    let parts = [.ping(id: 1), push, .ping(id: 2)].map { ClientCodec.encode([$0], format: format) }
    #expect(
      ClientCodec.encode([.ping(id: 1), push, .ping(id: 2)], format: format)
        == Array(parts.joined(separator: separator)))
  }
}

@Suite("A publish command in Protobuf")
struct ProtobufPublishTests {
  /// What the general decoder makes of the same bytes.
  private static func generated(_ message: [UInt8]) throws -> ProtoCommand {
    var options = BinaryDecodingOptions()
    options.discardUnknownFields = true
    return try ProtoCommand(serializedBytes: message, options: options)
  }

  private static func sample(_ change: (inout ProtoCommand) -> Void = { _ in }) throws -> [UInt8] {
    var command = ProtoCommand()
    command.id = 300
    command.publish.channel = "chat:é"
    command.publish.data = Data([0, 1, 255])
    command.publish.idempotencyKey = "key"
    change(&command)
    return try command.serializedBytes()
  }

  @Test("in its plain form is read without the generated messages")
  func plain() throws {
    let message = try Self.sample()
    let command = try #require(ProtobufPublish.read(message, 0..<message.count))
    var expected = ClientCommand.Publish()
    expected.channel = "chat:é"
    expected.data = [0, 1, 255]
    expected.idempotencyKey = "key"
    #expect(command == ClientCommand(id: 300, body: .publish(expected)))
  }

  @Test("changed at will, is never read otherwise than the generated messages read it")
  func mutations() throws {
    let samples = try [
      Self.sample(), Self.sample { $0.publish.clearIdempotencyKeyForTest() }, Self.sample { $0.id = 0 },
      Self.sample { $0.subscribe.channel = "x" },
    ]
    var random = SeededRandom(seed: 21)
    var plain = 0
    for _ in 0..<40_000 {
      var message = samples[Int.random(in: 0..<samples.count, using: &random)]
      for _ in 0..<Int.random(in: 0...2, using: &random) where !message.isEmpty {
        let place = Int.random(in: 0..<message.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: message.remove(at: place)
        case 1: message.insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 2: message += message[place...]
        default: message[place] = UInt8.random(in: 0...255, using: &random)
        }
      }
      guard let command = ProtobufPublish.read(message, 0..<message.count) else { continue }
      plain += 1
      let general = try Self.generated(message)
      guard case .publish(let publish) = command.body else {
        Issue.record("something else than a publish command")
        continue
      }
      #expect(
        command.id == general.id && general.hasPublish && publish.channel == general.publish.channel
          && publish.data == Array(general.publish.data)
          && (publish.idempotencyKey ?? "") == general.publish.idempotencyKey, "\(message)")
    }
    #expect(plain > 1_000, "hardly a mutation is read, so this shows little")
  }

  @Test("that is not UTF-8 is refused as before")
  func invalidText() throws {
    // 7: publish {1: channel of one byte that begins a longer character}
    #expect(refusal([5, 0x3A, 3, 0x0A, 1, 0xC3], .protobuf) != nil)
  }
}

extension ProtoPublishRequest {
  fileprivate mutating func clearIdempotencyKeyForTest() { idempotencyKey = "" }
}

@Suite("Strings in JSON and on the link")
struct StringBytesTests {
  @Test("the end of plain text is found wherever it is")
  func endOfPlain() {
    for length in 0..<40 {
      for place in 0..<length {
        for special: UInt8 in [0, 0x0A, 0x1F, 0x22, 0x5C, 0x80, 0xC3, 0xFF] {
          var bytes = [UInt8](repeating: 0x7F, count: length)
          bytes[place] = special
          for start in 0...place { #expect(JSONText.endOfPlain(in: bytes, from: start) == place) }
        }
      }
      for plain: UInt8 in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F] {
        let bytes = [UInt8](repeating: plain, count: length)
        #expect(JSONText.endOfPlain(in: bytes, from: 0) == length)
      }
    }
  }

  @Test("two strings are the same by their bytes alone")
  func sameBytes() {
    #expect("abc".hasSameBytes(as: "abc"))
    #expect("".hasSameBytes(as: ""))
    #expect(!"abc".hasSameBytes(as: "abd"))
    #expect(!"\u{E9}".hasSameBytes(as: "e\u{301}"), "canonically equal, and two names")
    let long = String(repeating: "x", count: 100)
    #expect(long.hasSameBytes(as: String(repeating: "x", count: 100)))
    #expect(!long.hasSameBytes(as: long + "y"))
  }

  @Test("bytes that are no UTF-8 make no string, and the character that stands for them does")
  func exactly() {
    #expect(String(exactly: [0x61, 0xC3, 0xA9], 0..<3) == "aé")
    #expect(String(exactly: [0x61, 0xC3, 0xA9], 0..<2) == nil)
    #expect(String(exactly: [0xEF, 0xBF, 0xBD], 0..<3) == "\u{FFFD}")
    #expect(String(exactly: [0xED, 0xA0, 0x80], 0..<3) == nil)
    #expect(String(exactly: [0xFF], 0..<1) == nil)
    #expect(String(exactly: [0xFF], 0..<0) == "")
  }
}
