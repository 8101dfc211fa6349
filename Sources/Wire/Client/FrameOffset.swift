import ClientProtobuf
import SwiftProtobuf

/// Reads a publication's offset back from the frame that was made of it. It costs a look at the whole frame, and is
/// asked only for the first frame that a subscriber has not taken, when its subscription ends or somebody asks about it.
public enum FrameOffset {
  /// - Parameter frame: one whole frame of a push, as ``ServerFrame`` writes it.
  /// - Returns: nil where the frame is compressed, or holds no publication with an offset, as on channels without history.
  public static func read(_ frame: [UInt8], format: WireFormat) -> UInt64? {
    let header = ServerFrame.headerBytes(of: frame)
    guard frame.count > header, frame[0] & ServerFrame.compressedBit == 0 else { return nil }
    let payload = Array(frame[header...])
    let offset: UInt64? =
      switch format {
      case .json: json(payload)
      case .protobuf: protobuf(payload)
      }
    return offset == 0 ? nil : offset
  }

  private static func json(_ payload: [UInt8]) -> UInt64? {
    let push = (try? JSONValue(parsing: payload, levels: 3))?.object?["push"]?.object
    return (push?["pub"]?.object?["offset"]?.text).flatMap { UInt64($0) }
  }

  private static func protobuf(_ payload: [UInt8]) -> UInt64? {
    guard let message = try? ProtobufFraming.split(payload).first,
      let reply = try? ProtoReply(serializedBytes: message)
    else { return nil }
    return reply.push.pub.offset
  }
}
