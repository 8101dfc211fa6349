import Foundation
import TestSupport
import Testing
import Wire

/// A server reads what anybody sends: whatever the bytes, the decoders answer with commands or a sentence.
@Suite("Damaged messages", .ownThread)
struct DamagedMessageTests {
  /// Damaged messages that a test reads: few enough to be quick in a debug build. FUZZ_ROUNDS sets more for a long run.
  private static let rounds = ProcessInfo.processInfo.environment["FUZZ_ROUNDS"].flatMap { Int($0) } ?? 80_000

  private static func corpus(_ format: WireFormat) -> [[UInt8]] {
    switch format {
    case .json:
      let texts = CommandExample.all.map { utf8($0.json) }
      return texts + [
        Array(texts.joined(separator: [0x0A])), utf8(#"{"id":1,"refresh":{"token":"\ud83d\ude00é😀\n\u0041"}}"#),
        utf8(#"{"x":[[[{"a":[-1.5e+10,null,true]}]]],"id":7,"ping":{}}"#),
      ]
    case .protobuf:
      let messages = CommandExample.all.map(\.protobuf)
      return messages.map { framed([$0]) } + [framed(messages)]
    }
  }

  @Test("a message cut at any byte is refused, or read up to a command's end", arguments: WireFormat.allCases)
  func cutAnywhere(format: WireFormat) throws { try cut(format) }

  private func cut(_ format: WireFormat) throws {
    for message in Self.corpus(format) {
      let commands = try ClientCodec.decode(message, format: format)
      for length in 0..<message.count {
        guard let read = try? ClientCodec.decode(Array(message[..<length]), format: format) else { continue }
        #expect(read.count < commands.count && commands.starts(with: read), "cut at \(length)")
      }
    }
  }

  @Test("whatever is changed in a message, nothing traps, and every payload stands in the message as it is")
  func mutatedJSON() { mutateJSON() }

  private func mutateJSON() {
    let corpus = Self.corpus(.json)
    var random = SeededRandom(seed: 3)
    var accepted = 0
    for _ in 0..<Self.rounds {
      let message = mutate(corpus, using: &random)
      guard let commands = try? ClientCodec.decode(message, format: .json) else { continue }
      accepted += 1
      for payload in commands.flatMap(payloads) {
        if !JSONSyntax.isValid(payload) || !contains(message, payload) {
          Issue.record(
            "a payload is not the message's own: \(String(decoding: message, as: UTF8.self).debugDescription)")
        }
      }
    }
    #expect(accepted > Self.rounds / 100, "hardly a mutation is accepted, so this shows little")
  }

  @Test("what is read as one command is JSON to Foundation too")
  func acceptedIsJSON() { compareAccepted() }

  private func compareAccepted() {
    let corpus = Self.corpus(.json).filter { (try? ClientCodec.decode($0, format: .json))?.count == 1 }
    var random = SeededRandom(seed: 4)
    var compared = 0
    for _ in 0..<Self.rounds / 2 {
      let message = mutate(corpus, using: &random)
      guard (try? ClientCodec.decode(message, format: .json))?.count == 1 else { continue }
      // Messages that Foundation cannot judge: it refuses lone surrogates and numbers beyond its own, RFC 8259 allows
      // both.
      let text = String(decoding: message, as: UTF8.self)
      if text.contains("\\u") || hasExponent(message) { continue }
      compared += 1
      if (try? JSONSerialization.jsonObject(with: Data(message))) == nil {
        Issue.record("Foundation refuses \(text.debugDescription)")
      }
    }
    #expect(compared > Self.rounds / 200, "hardly a mutation is compared, so this shows little")
  }

  @Test("whatever is changed in a Protobuf message, nothing traps")
  func mutatedProtobuf() { mutateProtobuf() }

  private func mutateProtobuf() {
    let corpus = Self.corpus(.protobuf)
    var random = SeededRandom(seed: 5)
    var accepted = 0
    for _ in 0..<Self.rounds {
      if (try? ClientCodec.decode(mutate(corpus, using: &random), format: .protobuf)) != nil { accepted += 1 }
    }
    #expect(accepted > Self.rounds / 100, "hardly a mutation is accepted, so this shows little")
  }

  @Test("random bytes are refused or read, in both formats", arguments: WireFormat.allCases)
  func noise(format: WireFormat) { readNoise(format) }

  private func readNoise(_ format: WireFormat) {
    var random = SeededRandom(seed: 6)
    var refused = 0
    for _ in 0..<Self.rounds / 8 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      if refusal(bytes, format) != nil { refused += 1 }
    }
    #expect(refused > Self.rounds / 16)
  }

  // MARK: Changes

  private func mutate(_ corpus: [[UInt8]], using random: inout SeededRandom) -> [UInt8] {
    let tokens = [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "0", "-", "e", ".", "null", "true", "\n", "\"id\":1,",
    ]
    var bytes = corpus[Int.random(in: 0..<corpus.count, using: &random)]
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1 where place < bytes.count: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
      case 2 where place < bytes.count: bytes.remove(at: place)
      case 3: bytes.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
      case 4: bytes.insert(contentsOf: utf8(tokens[Int.random(in: 0..<tokens.count, using: &random)]), at: place)
      case 5:
        let end = Int.random(in: place...bytes.count, using: &random)
        bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
      default:
        let other = corpus[Int.random(in: 0..<corpus.count, using: &random)]
        bytes.replaceSubrange(place..., with: other[Int.random(in: 0...other.count, using: &random)...])
      }
    }
    return bytes
  }

  private func payloads(_ command: ClientCommand) -> [[UInt8]] {
    let all: [[UInt8]] =
      switch command.body {
      case .connect(let connect): [connect.data] + connect.subs.values.map(\.data)
      case .subscribe(let subscribe): [subscribe.data]
      case .publish(let publish): [publish.data]
      case .send(let data), .rpc(_, let data): [data]
      default: []
      }
    return all.filter { !$0.isEmpty }
  }

  private func contains(_ message: [UInt8], _ part: [UInt8]) -> Bool {
    guard part.count <= message.count else { return false }
    return (0...(message.count - part.count)).contains { message[$0...].starts(with: part) }
  }

  private func hasExponent(_ message: [UInt8]) -> Bool {
    zip(message, message.dropFirst()).contains { digit, letter in
      (0x30...0x39).contains(digit) && (letter == 0x65 || letter == 0x45)
    }
  }
}
