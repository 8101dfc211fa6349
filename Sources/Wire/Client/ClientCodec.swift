/// The client protocol in either encoding: bytes to commands, replies to WebSocket frames.
public enum ClientCodec {
  /// The most commands in one message. Two bytes make an empty JSON command and one an empty Protobuf command, while
  /// each takes over a hundred bytes here: without a limit, 64 KiB from anybody would become many MiB. A batch of
  /// commands that say something stays far below: the usual 128 channels take 128 subscribe requests.
  public static let maximumCommands = 4_096

  static func checkRoom(after count: Int) throws(MalformedInput) {
    if count >= maximumCommands {
      throw MalformedInput("more than \(maximumCommands) commands in one message; send them in several")
    }
  }

  /// The commands of one whole WebSocket message; at least one.
  ///
  /// - Throws: what is wrong with it, for disconnect 3501.
  public static func decode(_ bytes: [UInt8], format: WireFormat) throws(MalformedInput) -> [ClientCommand] {
    var commands: [ClientCommand] = []
    try decode(bytes, format: format, into: &commands)
    return commands
  }

  /// Appends the commands of one message to `commands`, for callers that read one message after another and keep the
  /// memory.
  ///
  /// - Throws: what is wrong with it, for disconnect 3501; `commands` may then hold some of its commands.
  public static func decode(
    _ bytes: [UInt8], format: WireFormat, into commands: inout [ClientCommand]
  ) throws(MalformedInput) {
    try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(MalformedInput) in
      try unsafe decode(UnsafeRawBufferPointer(bytes), format: format, into: &commands)
    }
  }

  /// Appends the commands of one message, whose bytes are read in place, to `commands`.
  ///
  /// - Parameter bytes: the message; not kept.
  /// - Throws: what is wrong with it, for disconnect 3501; `commands` may then hold some of its commands.
  public static func decode(
    _ bytes: UnsafeRawBufferPointer, format: WireFormat, into commands: inout [ClientCommand]
  ) throws(MalformedInput) {
    switch format {
    case .json: try unsafe JSONCommandDecoder.decode(bytes, into: &commands)
    case .protobuf: try unsafe ProtobufCommandDecoder.decode(bytes, into: &commands)
    }
  }

  /// Replies as the payload of one WebSocket message.
  public static func encode(_ replies: [ClientReply], format: WireFormat) -> [UInt8] {
    var bytes: [UInt8] = []
    for reply in replies {
      if format == .json, !bytes.isEmpty { bytes.append(0x0A) }
      if case .push(.publication(let channel, let publication, let binaryData)) = reply {
        PublicationPush.append(
          publication, on: channel, binaryData: binaryData, format, asFrame: false, to: &bytes)
        continue
      }
      if case .publish(let id) = reply {
        PublishReply.append(id, format, to: &bytes)
        continue
      }
      switch format {
      case .json: JSONReplyEncoder.encode(reply, into: &bytes)
      case .protobuf: ProtobufReplyEncoder.encode(reply, into: &bytes)
      }
    }
    return bytes
  }

  /// Replies as one whole WebSocket frame, ready to be sent to any number of clients.
  public static func frame(for replies: [ClientReply], format: WireFormat) -> [UInt8] {
    if replies.count == 1, case .push(.publication(let channel, let publication, let binaryData)) = replies[0] {
      var frame: [UInt8] = []
      appendFrame(publication, on: channel, binaryData: binaryData, format: format, into: &frame)
      return frame
    }
    return ServerFrame.message(encode(replies, format: format), format: format)
  }

  /// Appends a publication, as the subscribers of the channel get it, as one whole WebSocket frame: the same bytes as
  /// ``frame(for:format:)`` gives for its push. Measured first and written once, straight to where it stays.
  ///
  /// - Parameter binaryData: the channel's data format is binary, so that JSON clients get a base64 string.
  public static func appendFrame(
    _ publication: Publication, on channel: String, binaryData: Bool = false, format: WireFormat,
    into bytes: inout [UInt8]
  ) {
    PublicationPush.append(publication, on: channel, binaryData: binaryData, format, asFrame: true, to: &bytes)
  }

  /// A publication as one whole WebSocket frame for subscribers who take patches: its payload, or the patch that makes
  /// it from the payload before (``FossilPatch``). In JSON it stands there as a string of its text.
  ///
  /// - Parameters:
  ///   - publication: on a stream; its payload, or the patch, is UTF-8 where the format is JSON.
  ///   - isPatch: the data is a patch.
  public static func frame(
    of publication: Publication, on channel: String, isPatch: Bool, format: WireFormat
  ) -> [UInt8] {
    var frame: [UInt8] = []
    PublicationPush.appendFrame(publication, on: channel, isPatch: isPatch, format, to: &frame)
    return frame
  }
}
