import ClientProtobuf
import SwiftProtobuf
import Wire

/// The commands of a JSON message.
func read(_ text: String) throws -> [ClientCommand] { try ClientCodec.decode(Array(text.utf8), format: .json) }

/// Why a JSON message is refused; nil where it is read.
func refusal(_ text: String) -> String? { refusal(Array(text.utf8), .json) }

func refusal(_ bytes: [UInt8], _ format: WireFormat) -> String? {
  do {
    _ = try ClientCodec.decode(bytes, format: format)
    return nil
  } catch {
    return error.description
  }
}

/// A reply as the text that a JSON client gets.
func json(_ replies: ClientReply...) -> String {
  String(decoding: ClientCodec.encode(replies, format: .json), as: UTF8.self)
}

/// Messages as a Protobuf client sends them.
func framed(_ messages: [ProtoCommand]) -> [UInt8] {
  var bytes: [UInt8] = []
  for message in messages { ProtobufFraming.append(message, to: &bytes) }
  return bytes
}

/// A value, changed: the types of commands and replies have no memberwise initializers.
func with<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
  var value = value
  change(&value)
  return value
}

func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// SplitMix64: a seed names a whole run, so that a failure can be repeated.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
