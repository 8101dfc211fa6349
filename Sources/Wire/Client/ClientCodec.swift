/// The client protocol in either encoding: bytes to commands, replies to WebSocket frames.
public enum ClientCodec {
  /// Most commands in one message. Two bytes make an empty JSON command and one an empty Protobuf command, while each
  /// takes over a hundred bytes here: without a limit, 64 KiB from anybody would become many MiB. A batch of commands
  /// that say something stays far below: the usual 128 channels take 128 subscribe requests.
  public static let maximumCommands = 4_096

  static func checkRoom(after count: Int) throws(CommandError) {
    if count >= maximumCommands {
      throw CommandError("more than \(maximumCommands) commands in one message; send them in several")
    }
  }

  /// The commands of one whole WebSocket message; at least one.
  ///
  /// - Throws: what is wrong with it, for disconnect 3501.
  public static func decode(_ bytes: [UInt8], format: WireFormat) throws(CommandError) -> [ClientCommand] {
    switch format {
    case .json: try JSONCommandDecoder.decode(bytes)
    case .protobuf: try ProtobufCommandDecoder.decode(bytes)
    }
  }

  /// Replies as the payload of one WebSocket message.
  public static func encode(_ replies: [ClientReply], format: WireFormat) -> [UInt8] {
    var bytes: [UInt8] = []
    for reply in replies {
      switch format {
      case .json:
        if !bytes.isEmpty { bytes.append(0x0A) }
        JSONReplyEncoder.encode(reply, into: &bytes)
      case .protobuf: ProtobufReplyEncoder.encode(reply, into: &bytes)
      }
    }
    return bytes
  }

  /// Replies as one whole WebSocket frame, ready to be sent to any number of clients.
  public static func frame(for replies: [ClientReply], format: WireFormat) -> [UInt8] {
    WebSocketFrame.server(format == .json ? .text : .binary, encode(replies, format: format))
  }
}

/// Frames as a server sends them: final, not masked (RFC 6455, section 5.2).
public enum WebSocketFrame {
  public enum Opcode: UInt8, Sendable {
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10
  }

  public static func server(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
    var frame: [UInt8] = []
    frame.reserveCapacity(payload.count + 10)
    frame.append(0x80 | opcode.rawValue)
    switch payload.count {
    case 0..<126: frame.append(UInt8(payload.count))
    case 126..<65_536:
      frame.append(126)
      frame.append(UInt8(truncatingIfNeeded: payload.count >> 8))
      frame.append(UInt8(truncatingIfNeeded: payload.count))
    default:
      frame.append(127)
      for shift in stride(from: 56, through: 0, by: -8) {
        frame.append(UInt8(truncatingIfNeeded: payload.count >> shift))
      }
    }
    frame.append(contentsOf: payload)
    return frame
  }

  /// A Close frame. The reason is cut where it would not fit a control frame, never inside a character.
  public static func close(_ code: DisconnectCode) -> [UInt8] {
    var payload = [UInt8(truncatingIfNeeded: code.code >> 8), UInt8(truncatingIfNeeded: code.code)]
    for character in code.reason {
      let utf8 = character.utf8
      if payload.count + utf8.count > 125 { break }
      payload.append(contentsOf: utf8)
    }
    return server(.close, payload)
  }
}
