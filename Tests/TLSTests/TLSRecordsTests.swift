import COpenSSL
import NIOCore
import TestSupport
import Testing

@testable import TLS

/// What is ours of TLS 1.3, without a handshake before it. The listener's tests hold it against OpenSSL.
@Suite("TLS records")
struct TLSRecordsTests {
  /// One end of a connection whose keys were agreed on.
  private final class End {
    let loop = TLSLoop()
    let records: TLSRecords
    var input = ByteBuffer()

    init(
      sending: UInt8, receiving: UInt8, suite: RecordCipher.Suite = .aes256GCM, sealedRecords: UInt64 = 0,
      recordsPerKey: UInt64 = 1 << 23
    ) throws {
      let keys = TrafficKeys()
      TLSRecordsTests.fill(&keys.sending, suite, sending)
      TLSRecordsTests.fill(&keys.receiving, suite, receiving)
      let cipher = try #require(loop.cipher(suite))
      records = try #require(
        TLSRecords(keys, cipher, sealedRecords: sealedRecords, loop: loop, recordsPerKey: recordsPerKey))
    }

    func write(_ text: String) -> ByteBuffer {
      #expect(Array(text.utf8).withUnsafeBytes { records.write($0) })
      return output()
    }

    func output() -> ByteBuffer { loop.takeOutput(ByteBufferAllocator()) ?? ByteBuffer() }

    func next() -> TLSRecords.Event { records.next(&input, ByteBufferAllocator()) }

    /// Everything in a record, sealed with our keys.
    func seal(_ content: [UInt8], _ type: UInt8) throws -> ByteBuffer {
      var room = [UInt8](repeating: 0, count: content.count + TLSRecords.overheadBytes)
      let cipher = try #require(loop.cipher(.aes256GCM))
      let count = copenssl_seal(
        cipher.sealing, &peerTraffic, type, content, content.count, &room)
      return ByteBuffer(bytes: room[..<count])
    }
    var peerTraffic = copenssl_traffic()
  }

  private static func fill(_ traffic: inout copenssl_traffic, _ suite: RecordCipher.Suite, _ byte: UInt8) {
    traffic.secret_bytes = suite.secretBytes
    _ = withUnsafeMutableBytes(of: &traffic.secret) { $0.initializeMemory(as: UInt8.self, repeating: byte) }
  }

  private func pair(_ suite: RecordCipher.Suite = .aes256GCM, recordsPerKey: UInt64 = 1 << 23) throws -> (End, End) {
    (
      try End(sending: 1, receiving: 2, suite: suite, recordsPerKey: recordsPerKey),
      try End(sending: 2, receiving: 1, suite: suite, recordsPerKey: recordsPerKey)
    )
  }

  /// An end, and keys to make records for it that no end of ours would make.
  private func attacked() throws -> End {
    let end = try End(sending: 1, receiving: 2)
    Self.fill(&end.peerTraffic, .aes256GCM, 2)
    end.peerTraffic.key_bytes = 32
    #expect(copenssl_begin_traffic(&end.peerTraffic) == 1)
    return end
  }

  private static func isFailure(_ event: TLSRecords.Event) -> Bool { if case .failed = event { true } else { false } }

  @Test("keys follow from secrets as in the example handshake of RFC 8448, section 3")
  func keys() {
    func bytes(_ hex: String) -> [UInt8] {
      stride(from: 0, to: hex.count, by: 2).map { place in
        let start = hex.index(hex.startIndex, offsetBy: place)
        return UInt8(hex[start...].prefix(2), radix: 16) ?? 0
      }
    }
    let secret = "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643"
    var traffic = copenssl_traffic()
    #expect(copenssl_take_secret(&traffic, "SERVER_TRAFFIC_SECRET_0 00ff \(secret)", "SERVER_TRAFFIC_SECRET_0") == 1)
    traffic.key_bytes = 16
    #expect(copenssl_begin_traffic(&traffic) == 1)
    let key = withUnsafeBytes(of: &traffic.key) { Array($0.prefix(16)) }
    let nonce = withUnsafeBytes(of: &traffic.iv) { Array($0) }
    #expect(key == bytes("9f02283b6c9c07efc26bb9f2ac92e356"))
    #expect(nonce == bytes("cf782b88dd83549aadf1e984"))
  }

  @Test(
    "a line of the key log that has another label, or another form, teaches nothing",
    arguments: [
      "CLIENT_TRAFFIC_SECRET_0 00 " + String(repeating: "ab", count: 32), "SERVER_TRAFFIC_SECRET_0", "",
      "SERVER_TRAFFIC_SECRET_0 00", "SERVER_TRAFFIC_SECRET_0 00 abcd",
      "SERVER_TRAFFIC_SECRET_0 00 " + String(repeating: "xy", count: 32),
    ])
  func keyLog(line: String) {
    var traffic = copenssl_traffic()
    #expect(copenssl_take_secret(&traffic, line, "SERVER_TRAFFIC_SECRET_0") == 0)
    #expect(traffic.secret_bytes == 0)
  }

  @Test(
    "both sides understand each other, however the records are cut",
    arguments: [RecordCipher.Suite.aes128GCM, .aes256GCM, .chaCha20Poly1305], [1, 3, 1_000, .max])
  func conversation(suite: RecordCipher.Suite, piece: Int) throws {
    let (one, other) = try pair(suite)
    let texts = ["a", String(repeating: "b", count: 16_384), "", String(repeating: "c", count: 40_000), "d"]
    for (from, to) in [(one, other), (other, one)] {
      var sealed = ByteBuffer()
      for text in texts { sealed.writeImmutableBuffer(from.write(text)) }
      #expect(!sealed.readableBytesView.contains([UInt8](repeating: 0x62, count: 8)))
      var got = ""
      while let part = sealed.readSlice(length: min(piece, sealed.readableBytes)), part.readableBytes > 0 {
        to.input.writeImmutableBuffer(part)
        while case .data(let text) = to.next() { got += String(buffer: text) }
      }
      #expect(got == texts.joined())
      #expect(to.input.readableBytes == 0)
    }
  }

  @Test("a record is opened once: again, or out of its turn, it counts as forged (replay attack)")
  func replay() throws {
    let (one, other) = try pair()
    let (first, second) = (one.write("first"), one.write("second"))
    other.input = first
    #expect(other.next() == .data(ByteBuffer(string: "first")))
    other.input = first
    #expect(Self.isFailure(other.next()))
    let (third, fourth) = try pair()
    fourth.input = second
    #expect(Self.isFailure(fourth.next()))
    _ = third
  }

  @Test("a flipped bit anywhere in a record is found")
  func tampered() throws {
    for place in 0..<32 {
      let (one, other) = try pair()
      var record = one.write("ten bytes.")
      // A length that has grown waits for the rest.
      if place == 3 || place == 4 { continue }
      let bit = try #require(record.getInteger(at: place, as: UInt8.self)) ^ 1
      record.setInteger(bit, at: place)
      other.input = record
      #expect(Self.isFailure(other.next()))
      #expect(other.output().readableBytes == 24)
    }
  }

  @Test("keys change before they are worn out, and the other side follows")
  func wornOut() throws {
    let (one, other) = try pair(recordsPerKey: 5)
    for number in 0..<100 {
      other.input.writeImmutableBuffer(one.write("\(number)"))
      #expect(other.next() == .data(ByteBuffer(string: "\(number)")))
      #expect(other.next() == .needsInput)
      one.input.writeImmutableBuffer(other.write("\(number)"))
      #expect(one.next() == .data(ByteBuffer(string: "\(number)")))
    }
  }

  @Test("a change of keys is answered where the peer asks for it, once for all that it asked meanwhile")
  func keyUpdates() throws {
    let end = try attacked()
    for _ in 0..<50 {
      end.input.writeImmutableBuffer(try end.seal([24, 0, 0, 1, 1], 22))
      #expect(copenssl_update_traffic(&end.peerTraffic) == 1)
    }
    end.input.writeImmutableBuffer(try end.seal(Array("after".utf8), 23))
    #expect(end.next() == .data(ByteBuffer(string: "after")))
    #expect(end.next() == .needsInput)
    #expect(end.output().readableBytes == 5 + TLSRecords.overheadBytes)
    // The message is split over two records, which the protocol allows although no peer does it.
    end.input.writeImmutableBuffer(try end.seal([24, 0], 22))
    #expect(end.next() == .needsInput)
    end.input.writeImmutableBuffer(try end.seal([0, 1, 0], 22))
    #expect(end.next() == .needsInput)
    #expect(end.output().readableBytes == 0)
  }

  @Test(
    "what a client may not send behind its handshake is refused with an alert",
    arguments: [
      ([24, 0, 0, 1, 2], 22), ([24, 0, 0, 2, 0, 0], 22), ([24, 0, 0, 1, 0, 24], 22), ([4, 0, 0, 1, 0], 22), ([], 22),
      ([1, 0, 0], 21), ([], 21), ([1], 20), ([1], 99),
    ] as [([UInt8], UInt8)])
  func refused(content: [UInt8], type: UInt8) throws {
    let end = try attacked()
    end.input = try end.seal(content, type)
    #expect(Self.isFailure(end.next()))
    #expect(end.output().readableBytes == 24)
  }

  @Test("a message that breaks off, records without a type, and nothing but empty records are refused")
  func brokenOff() throws {
    let end = try attacked()
    end.input = try end.seal([24, 0], 22)
    #expect(end.next() == .needsInput)
    end.input = try end.seal([65], 23)
    #expect(Self.isFailure(end.next()))
    let zeros = try attacked()
    zeros.input = try zeros.seal([0, 0, 0], 0)
    #expect(Self.isFailure(zeros.next()))
    let empty = try attacked()
    for _ in 0..<32 { empty.input.writeImmutableBuffer(try empty.seal([], 23)) }
    #expect(empty.next() == .needsInput)
    empty.input = try empty.seal([], 23)
    #expect(Self.isFailure(empty.next()))
  }

  @Test("padding is taken off, a goodbye is understood, and other alerts are errors")
  func alerts() throws {
    let end = try attacked()
    end.input = try end.seal([65, 23, 0, 0, 0], 0)
    #expect(end.next() == .data(ByteBuffer(string: "A")))
    end.input = try end.seal([1, 90], 21)
    #expect(end.next() == .needsInput)
    end.input = try end.seal([1, 0], 21)
    #expect(end.next() == .closed)
    let other = try attacked()
    other.input = try other.seal([2, 20], 21)
    #expect(other.next() == .failed(.failed(detail: "the peer says: bad record mac")))
  }

  @Test("what does not look like a record is refused at its header, without waiting for the rest")
  func headers() throws {
    let headers: [[UInt8]] = [
      [22, 3, 3, 0, 1], [21, 3, 3, 0, 2], [20, 3, 3, 0, 1], [71, 69, 84, 32, 47], [23, 3, 3, 0x41, 1],
    ]
    for header in headers {
      let end = try attacked()
      for byte in header.dropLast() {
        end.input.writeInteger(byte)
        #expect(end.next() == .needsInput)
      }
      end.input.writeInteger(header[4])
      #expect(Self.isFailure(end.next()))
    }
    for header: [UInt8] in [[23, 3, 3, 0, 16], [23, 3, 3, 0, 0]] {
      let end = try attacked()
      end.input = ByteBuffer(bytes: header + [UInt8](repeating: 0, count: Int(header[4])))
      #expect(Self.isFailure(end.next()))
    }
  }
}
