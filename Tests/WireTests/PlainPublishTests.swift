import Testing

@testable import Wire

@Suite("Plain publish commands")
struct PlainPublishTests {
  /// Commands that the plain reader must leave to the general one, or may read itself: either way the result is the
  /// same.
  static let texts = [
    #"{"id":7,"publish":{"channel":"a:b","data":{"x":[1,"é",null]}}}"#,
    #"{"publish":{"data":"text","channel":"a"},"id":4294967295}"#,
    #" { "id" : 9 , "publish" : { "channel" : "a" , "data" : 1.5e3 , "idempotency_key" : "k" } } "#,
    #"{"publish":{"channel":"a","data":true}}"#,
    #"{"id":1,"publish":{"channel":"a\u0062","data":1}}"#,
    #"{"id":1,"publish":{"channel":"a","data":null}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1,"idempotency_key":""}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1,"tags":{}}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1,"type":1,"key":"k"}}"#,
    #"{"id":1,"publish":{"channel":"a","key":"k","removed":true}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1,"type":0,"score":0}}"#,
    #"{"id":1,"publish":{}}"#,
    #"{"id":1,"publish":null}"#,
    #"{"id":null,"publish":{"channel":"a","data":1}}"#,
    #"{"id":0,"publish":{"channel":"a","data":1}}"#,
    #"{"id":123456789012,"publish":{"channel":"a","data":1}}"#,
    #"{"id":01,"publish":{"channel":"a","data":1}}"#,
    #"{"id":1.0,"publish":{"channel":"a","data":1}}"#,
    #"{"id":1,"id":1,"publish":{"channel":"a","data":1}}"#,
    #"{"id":1,"publish":{"channel":"a","channel":"b","data":1}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1},"publish":{"channel":"a","data":1}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1},"ping":{}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1},}"#,
    #"{"id":1,"publish":{"channel":"a","data":[1,]}}"#,
    #"{"id":1,"publish":{"channel":"a","data":1}"#,
  ]

  /// The general reader sees the same command behind a key that is escaped, which is never plain.
  @Test("A publish command reads the same in the plain and in the general reader", arguments: texts)
  func sameAsGeneral(text: String) {
    let general = text.replacing("\"publish\"", with: #""p\u0075blish""#)
    #expect(outcome(text) == outcome(general))
  }

  @Test("A plain publish command that was cut or changed anywhere reads as in the general reader")
  func damaged() {
    var random = SeededRandom(seed: 0x5EED)
    for text in Self.texts {
      let bytes = Array(text.utf8)
      for _ in 0..<60 {
        var changed = bytes
        changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0x20...0x7E, using: &random)
        if Bool.random(using: &random) { changed.removeSubrange(Int.random(in: 0..<changed.count, using: &random)...) }
        let damaged = String(decoding: changed, as: UTF8.self)
        let general = damaged.replacing("\"publish\"", with: #""p\u0075blish""#)
        #expect(outcome(damaged) == outcome(general), "\(damaged)")
      }
    }
  }

  /// Positions in a sentence differ by the escape, so of a refusal only its words are compared.
  private func outcome(_ text: String) -> String {
    do throws(MalformedInput) {
      return "\(try ClientCodec.decode(Array(text.utf8), format: .json))"
    } catch {
      return error.description.filter { !$0.isNumber }
    }
  }

  @Test(
    "The answer to a publish is written as the general encoders write it",
    arguments: [0, 1, 9, 10, 127, 128, 16_383, 16_384, 99_999_999, 1_000_000_000, UInt32.max])
  func reply(id: UInt32) {
    var json: [UInt8] = []
    JSONReplyEncoder.encode(.publish(id: id), into: &json)
    var protobuf: [UInt8] = []
    ProtobufReplyEncoder.encode(.publish(id: id), into: &protobuf)
    #expect(ClientCodec.encode([.publish(id: id)], format: .json) == json)
    #expect(ClientCodec.encode([.publish(id: id)], format: .protobuf) == protobuf)
  }

  @Test("One byte that is not plain is found at any place in a text of any length")
  func wordBoundaries() {
    for length in 0...33 {
      let plain = [UInt8](repeating: UInt8(ascii: "~"), count: length)
      #expect(plain.withUnsafeBytes { JSONText.isPlain($0) })
      #expect(!plain.withUnsafeBytes { $0.holdsControl })
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max {
          var text = plain
          text[place] = byte
          let isPlain = byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
          guard text.withUnsafeBytes({ JSONText.isPlain($0) }) == isPlain,
            text.withUnsafeBytes({ $0.holdsControl }) == (byte < 0x20 || byte == 0x7F),
            JSONText.endOfPlain(in: text, from: 0) == (isPlain ? length : place)
          else {
            Issue.record("byte \(byte) at \(place) of \(length)")
            continue
          }
        }
      }
    }
  }

  @Test("Numbers of any length are written as they are")
  func decimals() {
    var value: UInt64 = 1
    while true {
      for offset in [value - 1, value, value &* 9] where offset > 0 {
        let push = ClientReply.push(.publication(channel: "a", Publication(offset: offset, data: [0x31])))
        let expected = "{\"push\":{\"channel\":\"a\",\"pub\":{\"data\":1,\"offset\":\(offset)}}}"
        #expect(ClientCodec.encode([push], format: .json) == Array(expected.utf8))
      }
      let (next, overflows) = value.multipliedReportingOverflow(by: 10)
      if overflows { return }
      value = next
    }
  }

  @Test("A namespace is found in small and in large tables, and not where it is but a part of a name")
  func namespaces() throws {
    for count in [1, 16, 17, 40] {
      var table = NamespaceTable()
      for index in 0..<count {
        var options = ChannelOptions()
        options.historySize = index + 1
        table.namespaces["n\(index)"] = options
      }
      for index in 0..<count {
        #expect(table.options(for: try ChannelName("n\(index):x"))?.historySize == index + 1)
        #expect(table.options(for: try ChannelName("$n\(index):x:y"))?.historySize == index + 1)
      }
      #expect(table.options(for: try ChannelName("n\(count):x")) == nil)
      #expect(table.options(for: try ChannelName("n:x")) == nil)
      #expect(table.options(for: try ChannelName(":x")) == nil)
      #expect(table.options(for: try ChannelName("$")) == ChannelOptions())
      #expect(table.options(for: try ChannelName("n0")) == ChannelOptions())
    }
  }
}
