import Synchronization
import Wire

/// One publication of a shared poll as frames: made once for all event loops, when the first of their clients needs them.
final class PolledFrames: Sendable {
  let channel: ChannelName
  private let publication: Publication
  private let isBinary: Bool
  private let made = Mutex<[WireFormat: [UInt8]]>([:])

  init(_ publication: Publication, on channel: ChannelName, isBinary: Bool) {
    self.channel = channel
    self.publication = publication
    self.isBinary = isBinary
  }

  subscript(format: WireFormat) -> [UInt8] {
    made.withLock { made in
      if let frame = made[format] { return frame }
      var frame: [UInt8] = []
      ClientCodec.appendFrame(
        publication, on: channel.string, binaryData: isBinary, format: format, into: &frame)
      made[format] = frame
      return frame
    }
  }

  /// About as many bytes as a frame has.
  var byteCount: Int { publication.data.count + channel.string.utf8.count + 64 }
}

/// What of one publication of a shared poll is for the clients of one event loop.
struct PolledPush: Sendable {
  let frames: PolledFrames
  let subscribers: [PollSubscriber]
  /// How many of them it was sent to.
  var sent = 0

  init(frames: PolledFrames, subscribers: [PollSubscriber]) {
    self.frames = frames
    self.subscribers = subscribers
  }
}
