import NIOCore
import NIOPosix
package import Wire

#if canImport(Glibc)
  import Glibc
#endif

/// Hub and fan-out with subscribers and without connections, so that what a delivery costs can be counted.
///
/// Every send goes to a datagram socket whose reader never reads: the kernel takes each datagram and drops it, so that a
/// send neither waits nor falls short, however many there are.
package final class FanOutProbe {
  package struct NoSocket: Error, CustomStringConvertible {
    package let description = "the kernel gave no datagram socket on the loopback address; allow one and count again"
  }

  private let hub: Hub
  private let fanOut: FanOut
  private let channels: [ChannelName]
  private let frames: EncodedFrames
  private let sockets: DiscardingSockets
  private let rules: SessionRules
  private var members: [Member] = []
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private var next = 0

  /// - Parameter subscribers: of each channel.
  package init(channels: Int, subscribers: Int, encoding publication: Publication) throws {
    sockets = try DiscardingSockets()
    // A clock that stands still: one slice is enough for everything.
    fanOut = FanOut(limits: FanOut.Limits(queueBytes: 1 << 20), ring: nil) { 0 }
    let table = NamespaceTable()
    hub = Hub(fanOut: fanOut, namespaces: table)
    rules = SessionRules(SessionConfiguration(), namespaces: table)
    self.channels = try (0..<channels).map { try ChannelName("room-\($0)") }
    let push = ClientReply.push(.publication(channel: "room-0", publication))
    frames = EncodedFrames(json: ClientCodec.frame(for: [push], format: .json), protobuf: nil)
    for channel in self.channels {
      for _ in 0..<subscribers {
        let member = Member(
          id: UInt64(members.count + 1), descriptor: sockets.sender, loop: group.next(), rules: rules)
        members.append(member)
        hub.attach(member.driver, to: channel, [])
      }
    }
  }

  deinit { group.shutdownGracefully { _ in } }

  /// A frame to each of so many channels, one after the other.
  package func deliver(_ count: Int) {
    for _ in 0..<count {
      hub.deliver(frames, on: channels[next])
      next += 1
      if next == channels.count { next = 0 }
      fanOut.runSlice()
    }
  }

  /// What a subscriber is to the fan-out.
  private final class Member: SessionTransport, OutletOwner, SessionHost {
    let id: UInt64
    let eventLoop: any EventLoop
    let format = WireFormat.json
    let outlet: Outlet
    let driver: SessionDriver
  }
}
