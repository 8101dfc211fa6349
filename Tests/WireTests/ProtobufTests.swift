import ClientProtobuf
import Foundation
import SwiftProtobuf
import Testing
import Wire

@Suite("Protobuf commands and replies")
struct ProtobufTests {
  @Test("every command is read", arguments: CommandExample.all)
  func everyCommand(example: CommandExample) throws {
    #expect(try ClientCodec.decode(framed([example.protobuf]), format: .protobuf) == [example.command])
  }

  @Test("several commands stand one after another, each with its length before it")
  func sequences() throws {
    let bytes = framed(CommandExample.all.map(\.protobuf))
    #expect(try ClientCodec.decode(bytes, format: .protobuf) == CommandExample.all.map(\.command))
  }

  @Test("every reply is written, and read back by the generated messages", arguments: ReplyExample.all)
  func everyReply(example: ReplyExample) throws {
    let messages = try ProtobufFraming.split(ClientCodec.encode([example.reply], format: .protobuf))
    #expect(try messages.map { try ProtoReply(serializedBytes: $0) } == [example.protobuf])
  }

  @Test("several replies stand one after another")
  func replies() throws {
    let bytes = ClientCodec.encode(ReplyExample.all.map(\.reply), format: .protobuf)
    let messages = try ProtobufFraming.split(bytes)
    #expect(try messages.map { try ProtoReply(serializedBytes: $0) } == ReplyExample.all.map(\.protobuf))
  }

  @Test("a pong and a ping are a single zero byte")
  func empty() throws {
    #expect(try ClientCodec.decode([0], format: .protobuf) == [ClientCommand(id: 0, body: .pong)])
    #expect(ClientCodec.encode([.serverPing], format: .protobuf) == [0])
  }

  /// Written by hand, so that the schema itself is checked: field numbers come from the protocol's definition.
  @Test("the field numbers are the protocol's")
  func fieldNumbers() throws {
    // 1: id, 5: subscribe {1: channel, 3: recover, 6: epoch, 7: offset}
    let subscribe: [UInt8] = [0x08, 2, 0x2A, 10, 0x0A, 1, 0x63, 0x18, 1, 0x32, 1, 0x78, 0x38, 5]
    let expected = with(ClientCommand.Subscribe()) {
      $0.channel = "c"
      $0.recover = true
      $0.epoch = "x"
      $0.offset = 5
    }
    let frame = [UInt8(subscribe.count)] + subscribe
    #expect(try ClientCodec.decode(frame, format: .protobuf) == [ClientCommand(id: 2, body: .subscribe(expected))])
    // 4: push {2: channel, 4: publication {4: data, 6: offset}}
    let push = ClientReply.push(.publication(channel: "c", Publication(offset: 7, data: [0x31])))
    let bytes: [UInt8] = [12, 0x22, 10, 0x12, 1, 0x63, 0x22, 5, 0x22, 1, 0x31, 0x30, 7]
    #expect(ClientCodec.encode([push], format: .protobuf) == bytes)
  }

  @Test("a payload of a binary channel stays bytes")
  func binary() throws {
    let publication = Publication(data: [0xFF, 0x00, 0x0A])
    let bytes = ClientCodec.encode(
      [.push(.publication(channel: "c", publication, binaryData: true))], format: .protobuf)
    let reply = try ProtoReply(serializedBytes: bytes.dropFirst().map { $0 })
    #expect([UInt8](reply.push.pub.data) == [0xFF, 0x00, 0x0A])
  }

  @Test("unknown fields are passed over")
  func unknownFields() throws {
    // 200: a varint, 201: eight bytes; inside publish the same.
    let unknown: [UInt8] = [0xC0, 0x0C, 5, 0xC9, 0x0C, 1, 2, 3, 4, 5, 6, 7, 8]
    let publish: [UInt8] = [0x0A, 1, 0x63] + unknown
    let command: [UInt8] = unknown + [0x08, 1, 0x3A, UInt8(publish.count)] + publish
    let expected = ClientCommand(id: 1, body: .publish(with(.init()) { $0.channel = "c" }))
    #expect(try ClientCodec.decode([UInt8(command.count)] + command, format: .protobuf) == [expected])
  }

  @Test("two requests in one command are refused")
  func twoRequests() {
    let command = with(ProtoCommand()) {
      $0.id = 1
      $0.publish.channel = "a"
      $0.subscribe.channel = "b"
    }
    #expect(
      refusal(framed([command]), .protobuf) == "more than one request in a command; send one command for each")
  }

  @Test(
    "what is no command is refused",
    arguments: [
      ([], "an empty message; a command is a Protobuf message with its length before"),
      ([1], "a message is shorter than the length before it"),
      ([0x80], "a message without a whole length before it"),
      ([0xFF, 0xFF, 0xFF, 0xFF, 0x0F], "a message is shorter than the length before it"),
      ([0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0], "a message is shorter than the length before it"),
      ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], "a message without a whole length before it"),
      (Array(repeating: 0xFF, count: 64), "a message without a whole length before it"),
      ([2, 0x08], "a message is shorter than the length before it"),
      ([1, 0x08], "a message is not a command in Protobuf"),
      ([2, 0x22, 5], "a message is not a command in Protobuf"),
      ([2, 0x0F, 0], "a message is not a command in Protobuf"),
      ([1, 0x00], "a message is not a command in Protobuf"),
      // A channel that is not UTF-8.
      ([5, 0x32, 3, 0x0A, 1, 0xFF], "a message is not a command in Protobuf"),
      ([0, 0, 1], "a message is shorter than the length before it"),
    ] as [([UInt8], String)])
  func refused(bytes: [UInt8], sentence: String) {
    #expect(refusal(bytes, .protobuf) == sentence)
  }

  @Test("unknown groups, nested a hundred thousand times, are refused without a stack overflow")
  func groupBomb() {
    let groups = Array(repeatElement([0xA3, 0x06] as [UInt8], count: 100_000).joined())
    var bytes: [UInt8] = []
    var length = groups.count
    while length >= 0x80 {
      bytes.append(UInt8(length & 0x7F) | 0x80)
      length >>= 7
    }
    bytes.append(UInt8(length))
    #expect(refusal(bytes + groups, .protobuf) == "a message is not a command in Protobuf")
  }

  @Test("split undoes append for lengths around each size of varint")
  func framing() throws {
    var bytes: [UInt8] = []
    let lengths = [0, 1, 100, 125, 126, 127, 128, 16_380, 16_383, 16_384, 70_000]
    for length in lengths {
      ProtobufFraming.append(with(ProtoSendRequest()) { $0.data = Data(repeating: 7, count: length) }, to: &bytes)
    }
    let messages = try ProtobufFraming.split(bytes)
    #expect(try messages.map { try ProtoSendRequest(serializedBytes: $0).data.count } == lengths)
  }
}
