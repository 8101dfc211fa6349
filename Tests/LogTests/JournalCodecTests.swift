import TestSupport
import Testing
import Wire

@testable import Log

@Suite struct JournalCodecTests {
  private static func entry(_ random: inout SeededGenerator) -> JournalEntry {
    func bytes(_ most: Int) -> [UInt8] {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in .random(in: 0...255, using: &random) }
    }
    func some<Value>(_ value: @autoclosure () -> Value) -> Value? {
      Bool.random(using: &random) ? value() : nil
    }
    let info = some(ClientInfo(user: "u\u{e9}", client: "", connectionInfo: bytes(9), channelInfo: nil))
    let publication = Publication(
      offset: .random(in: 0 ... .max, using: &random), time: .random(in: .min ... .max, using: &random),
      data: bytes(40), info: info, tags: some(["a": "1", "": "\0"]) ?? [:],
      change: some(KeyChange(key: "k", removed: true, score: -1, expires: .max)))
    return JournalEntry(
      channel: .random(in: .min ... .max, using: &random), publication: publication,
      floor: .random(in: 0 ... .max, using: &random), ttl: .random(in: 0 ... .max, using: &random),
      idempotency: some(IdempotencyRecord(key: "key", offset: 3, digest: .max, expires: -7)),
      origin: some(RequestOrigin(gateway: .max, request: 0)))
  }

  @Test("What a row was made of comes back")
  func roundTrip() throws {
    var random = SeededGenerator(seed: 1)
    for count in 0..<50 {
      let entries = (0..<count).map { _ in Self.entry(&random) }
      #expect(try JournalCodec.decode(JournalCodec.encode(entries)) == entries)
    }
  }

  @Test("A row that ends too early is damaged, wherever it ends, and so is one with a byte too many")
  func drip() {
    var random = SeededGenerator(seed: 2)
    let row = JournalCodec.encode((0..<6).map { _ in Self.entry(&random) })
    for length in 0..<row.count {
      #expect(throws: JournalDamage.self) { try JournalCodec.decode(Array(row.prefix(length))) }
    }
    #expect(throws: JournalDamage.self) { try JournalCodec.decode(row + [0]) }
  }

  @Test("A row of another version, or with a flag that nobody knows, is damaged")
  func unknown() {
    var random = SeededGenerator(seed: 3)
    var row = JournalCodec.encode([Self.entry(&random)])
    row[0] = JournalCodec.version + 1
    #expect(throws: JournalDamage.self) { try JournalCodec.decode(row) }
    row[0] = JournalCodec.version
    row[5 + 40] |= 128
    #expect(throws: JournalDamage.self) { try JournalCodec.decode(row) }
  }

  @Test("Bytes that somebody changed are decoded or damaged, and trap nowhere")
  func fuzz() {
    var random = SeededGenerator(seed: 4)
    var decoded = 0
    for _ in 0..<3000 {
      var row = JournalCodec.encode((0..<Int.random(in: 0...4, using: &random)).map { _ in Self.entry(&random) })
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        row[.random(in: 0..<row.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      if (try? JournalCodec.decode(row)) != nil { decoded += 1 }
    }
    #expect((1..<3000).contains(decoded))
  }
}
