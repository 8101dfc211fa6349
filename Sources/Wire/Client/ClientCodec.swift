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
    ServerFrame.message(encode(replies, format: format), format: format)
  }
}
