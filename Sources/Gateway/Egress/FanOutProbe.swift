import Auth
import NIOCore
import NIOPosix
import TLS
import Wire

#if canImport(Glibc)
  import Glibc
#endif

/// Hub and fan-out with subscribers and without connections, so that what a delivery costs can be counted.
///
/// Every send goes to a datagram socket whose reader never reads: the kernel takes each datagram and drops it, so that
/// a send neither waits nor falls short, however many there are.
///
/// It stands here and not in MicroBench, which alone uses it: its subscribers are subclasses of ``Outlet``, so that a
/// delivery to them goes the way of a delivery to a ``Connection``. Another module may subclass a class only where that is
/// `open`, and would need the hub, the fan-out, tapes and sessions as `package`. Within one module the compiler knows all
/// callers and all subclasses of these, and builds the fan-out's loops accordingly; a probe must not change what it
/// counts. An outlet of closures would cost each delivery a call that a connection's does not have.
package final class FanOutProbe {
  package struct NoSocket: Error, CustomStringConvertible {
    package let description = "the kernel gave no datagram socket on the loopback address; allow one and count again"
  }

  private let hub: Hub
  private let fanOut: FanOut
  private let channels: [ChannelName]
  private let frames: EncodedFrames
  private let sockets: DiscardingSockets
  private let host = SilentHost()
  private var drivers: [SessionDriver] = []
  private let tls = TLSLoop()
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private var next = 0

  /// - Parameters:
  ///   - subscribers: of each channel.
  ///   - encrypts: each subscriber gets records of TLS.
  ///   - session: by what the subscribers' sessions go.
  package init(
    channels: Int, subscribers: Int, encrypts: Bool = false, session: SessionConfiguration,
    encoding publication: Publication
  ) throws {
    sockets = try DiscardingSockets()
    // A clock that stands still: one slice is enough for everything.
    fanOut = FanOut(limits: FanOut.Limits(queueBytes: 1 << 20), ring: nil) { 0 }
    let table = NamespaceTable()
    hub = Hub(fanOut: fanOut, namespaces: table)
    let rules = SessionRules(session, namespaces: table)
    self.channels = try (0..<channels).map { try ChannelName("room-\($0)") }
    let push = ClientReply.push(.publication(channel: "room-0", publication))
    frames = EncodedFrames(json: ClientCodec.frame(for: [push], format: .json), protobuf: nil)
    for channel in self.channels {
      for _ in 0..<subscribers {
        let id = UInt64(drivers.count + 1)
        let driver = SessionDriver(
          transport: Member(
            id: id, descriptor: sockets.sender, tls: encrypts ? TLSHandler(countingOn: tls) : nil, loop: group.next()),
          host: host, rules: rules,
          identity: SessionIdentity(client: "c\(id)", session: "s"), firstPingDelayMilliseconds: 10_000)
        drivers.append(driver)
        hub.attach(driver, to: channel, [])
      }
    }
  }

  deinit { group.shutdownGracefully { _ in } }

  /// Delivers a frame to each of so many channels, one after the other.
  package func deliver(_ count: Int) {
    for _ in 0..<count {
      hub.deliver(frames, on: channels[next])
      next += 1
      if next == channels.count { next = 0 }
      fanOut.runSlice()
    }
  }
}

/// What a subscriber is to the fan-out: an outlet, and a session that is never spoken to.
private final class Member: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  let format = WireFormat.json
  private let socket: Int32
  private let tls: TLSHandler?

  init(id: UInt64, descriptor: Int32, tls: TLSHandler?, loop: any EventLoop) {
    eventLoop = loop
    socket = descriptor
    self.tls = tls
    super.init(id: id, descriptor: tls == nil ? descriptor : -1)
  }

  override func transmit(_ bytes: UnsafeRawBufferPointer) {
    if let tls, case .sent = unsafe tls.transmit(bytes, on: socket) { return }
    preconditionFailure("a datagram socket took a part of a frame")
  }
  override func closeSlow() { preconditionFailure("nobody is slow here") }
  override func abandon() { preconditionFailure("a datagram socket failed") }
  func send(_ frame: [UInt8]) {}
  func close(_ code: DisconnectCode) {}
  func pauseReading() {}
  var progress: PeerProgress? { nil }
  func resumeReading() {}
}

private final class SilentHost: SessionHost {
  let verifier: any TokenVerifier = NoTokens()
  let revocations = Revocations()
  let time = SessionTime(monotonic: 0, wall: 0)
  func request(_ request: BrokerRequest, tag: UInt64, terms: SubscribeTerms?, from driver: SessionDriver) {}
  func requestsComplete() {}
  func attach(_ driver: SessionDriver, to channel: ChannelName, _ flags: HubFlags, _ filters: HubFilters) {}
  func detach(_ driver: SessionDriver, from channel: ChannelName) {}
  func releaseHeld(for driver: SessionDriver) {}
  func discardHeld(for driver: SessionDriver) {}
  func sessionEnded(_ driver: SessionDriver) {}

  private struct NoTokens: TokenVerifier {
    func verifyConnection(_ token: String) async throws(TokenError) -> ConnectionClaims {
      throw .unavailable(reason: "nobody asks")
    }
    func verifySubscription(_ token: String) async throws(TokenError) -> SubscriptionClaims {
      throw .unavailable(reason: "nobody asks")
    }
  }
}

/// A datagram socket to write to, and one that it writes to and that nobody reads.
private final class DiscardingSockets {
  let sender: Int32
  private let receiver: Int32

  init() throws {
    receiver = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    sender = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = unsafe withUnsafeMutablePointer(to: &address) { typed in
      unsafe typed.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(receiver, address, length) == 0 && getsockname(receiver, address, &length) == 0
          && connect(sender, address, length) == 0
      }
    }
    guard isConnected else { throw FanOutProbe.NoSocket() }
  }

  deinit {
    _ = Glibc.close(sender)
    _ = Glibc.close(receiver)
  }
}
