import ClientProtobuf
import Foundation
import SwiftProtobuf
import Testing

@testable import Wire

@Suite("Replies to those who take patches")
struct DeltaReplyTests {
  private static let payload = #"{"text":"é \"quoted\" \\ ","list":[1,\#n2]}"#
  private static let publication = Publication(
    offset: 42, time: 1_700_000_000_000, data: utf8(payload), info: ClientInfo(user: "u", client: "k"),
    tags: ["a": "1"])

  @Test("in JSON a whole payload stands as a string of its text")
  func wholeJSON() throws {
    let push = try pushed(isPatch: false)
    #expect(push["data"] as? String == Self.payload)
    #expect(push["delta"] == nil)
    #expect(push["offset"] as? Int == 42)
    #expect((push["info"] as? [String: Any])?["user"] as? String == "u")
    #expect(push["tags"] as? [String: String] == ["a": "1"])
  }

  @Test("in JSON a patch is marked as one, and has no newline that would cut a frame in two")
  func patchJSON() throws {
    let push = try pushed(isPatch: true)
    #expect(push["delta"] as? Bool == true)
    #expect(push["data"] as? String == Self.payload)
    let frame = ClientCodec.frame(of: Self.publication, on: "c", isPatch: true, format: .json)
    #expect(!frame.dropFirst(10).contains(0x0A))
  }

  @Test("in Protobuf the payload is its bytes, and a patch is marked", arguments: [false, true])
  func protobuf(isPatch: Bool) throws {
    let frame = ClientCodec.frame(of: Self.publication, on: "c", isPatch: isPatch, format: .protobuf)
    var expected = ProtoReply()
    expected.push.channel = "c"
    expected.push.pub.data = Data(utf8(Self.payload))
    expected.push.pub.info.user = "u"
    expected.push.pub.info.client = "k"
    expected.push.pub.offset = 42
    expected.push.pub.tags = ["a": "1"]
    expected.push.pub.time = 1_700_000_000_000
    expected.push.pub.delta = isPatch
    var message: [UInt8] = []
    ProtobufFraming.append(expected, to: &message)
    #expect(frame == ServerFrame.message(message, format: .protobuf))
  }

  @Test("a subscribe result says that there are patches, and what was recovered stands there whole")
  func result() throws {
    var result = ClientReply.SubscribeResult()
    result.recovered = true
    result.delta = true
    result.publications = [Publication(offset: 1, data: utf8(#"{"a":"b"}"#))]
    let reply = ClientReply.subscribe(id: 2, result)
    #expect(
      String(decoding: ClientCodec.encode([reply], format: .json), as: UTF8.self)
        == #"{"id":2,"subscribe":{"publications":[{"data":"{\"a\":\"b\"}","offset":1}],"recovered":true,"delta":true}}"#
    )
    let messages = try ProtobufFraming.split(ClientCodec.encode([reply], format: .protobuf))
    let proto = try ProtoReply(serializedBytes: messages[0])
    #expect(proto.subscribe.delta)
    #expect(Array(proto.subscribe.publications[0].data) == utf8(#"{"a":"b"}"#))
    #expect(!proto.subscribe.publications[0].delta)
  }

  @Test("the field numbers are the protocol's")
  func numbers() throws {
    var publication = ProtoPublication()
    publication.delta = true
    #expect(try publication.serializedBytes() as [UInt8] == [8 << 3, 1])
    var result = ProtoSubscribeResult()
    result.delta = true
    #expect(try result.serializedBytes() as [UInt8] == [13 << 3, 1])
    var request = ProtoSubscribeRequest()
    request.delta = "f"
    #expect(try request.serializedBytes() as [UInt8] == [12 << 3 | 2, 1, UInt8(ascii: "f")])
    #expect(try request.jsonString() == #"{"delta":"f"}"#)
    #expect(try publication.jsonString() == #"{"delta":true}"#)
    #expect(try result.jsonString() == #"{"delta":true}"#)
  }

  private func pushed(isPatch: Bool) throws -> [String: Any] {
    let frame = ClientCodec.frame(of: Self.publication, on: "c", isPatch: isPatch, format: .json)
    let header = frame[1] & 0x7F < 126 ? 2 : 4
    let reply = try #require(try JSONSerialization.jsonObject(with: Data(frame[header...])) as? [String: Any])
    let push = try #require(reply["push"] as? [String: Any])
    #expect(push["channel"] as? String == "c")
    return try #require(push["pub"] as? [String: Any])
  }
}
