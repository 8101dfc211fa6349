/// The answer to a publish, written without the general encoders: nothing but publications is sent more often, and the
/// answer holds only the command's id.
enum PublishReply {
  /// The key of the field `publish` in `client.proto`: its number, and the wire type of bytes.
  private static let field: UInt8 = 8 << 3 | 2

  /// Appends the reply as it stands among other replies in one message.
  static func append(_ id: UInt32, _ format: WireFormat, to bytes: inout [UInt8]) {
    switch format {
    case .json: appendJSON(id, to: &bytes)
    case .protobuf: appendProtobuf(id, to: &bytes)
    }
  }

  private static func appendJSON(_ id: UInt32, to bytes: inout [UInt8]) {
    bytes.put("{\"id\":")
    var power: UInt32 = 1
    while id / power >= 10 { power *= 10 }
    while power > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: id / power % 10))
      power /= 10
    }
    bytes.put(",\"publish\":{}}")
  }

  private static func appendProtobuf(_ id: UInt32, to bytes: inout [UInt8]) {
    // An id of 0 is left out. The length is always below 128.
    bytes.append(UInt8(truncatingIfNeeded: (id == 0 ? 0 : 1 + Varint.size(UInt64(id))) + 2))
    if id != 0 {
      bytes.append(1 << 3)
      bytes.put(varint: UInt64(id))
    }
    bytes.append(field)
    bytes.append(0)
  }
}
