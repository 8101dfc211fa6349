internal import CZeroMQ
import Glibc

/// A ZeroMQ socket, closed exactly once: when its owner lets go of it.
///
/// Not Sendable: libzmq sockets belong to one thread. Options that matter before `bind` or `connect` are set when the
/// socket is made; see `Socket.Options`.
///
/// No call waits unless `blocking: true` asks for it, because in Fanfare one thread serves every socket.
public struct Socket: ~Copyable {
  public enum Kind: Sendable {
    case router, dealer, xpub, xsub, pub, sub, pair, req, rep

    var code: Int32 {
      switch self {
      case .router: ZMQ_ROUTER
      case .dealer: ZMQ_DEALER
      case .xpub: ZMQ_XPUB
      case .xsub: ZMQ_XSUB
      case .pub: ZMQ_PUB
      case .sub: ZMQ_SUB
      case .pair: ZMQ_PAIR
      case .req: ZMQ_REQ
      case .rep: ZMQ_REP
      }
    }
  }

  public let kind: Kind
  let core: SocketCore

  /// Fails with `.tooManyOpen`, `.terminated`, or `.invalid` for an option out of range.
  public init(_ context: Context, _ kind: Kind, _ options: Options = Options()) throws(ZeroMQError) {
    let core = try SocketCore(context, kind)
    try options.apply(to: core)
    self.kind = kind
    self.core = core
  }

  deinit { core.close() }

  /// Closes the socket now. What was sent goes on for the linger time, and libzmq gives the endpoint free soon after,
  /// on a thread of its own: a `bind` to it right away may fail with `.addressInUse`.
  public consuming func close() {}

  /// Listens at `endpoint`. `tcp://127.0.0.1:*` picks a free port: read `lastEndpoint`.
  ///
  /// An `ipc://` path that another process listens on is taken over without an error: libzmq removes the file first.
  public borrowing func bind(_ endpoint: String) throws(ZeroMQError) {
    guard unsafe zmq_bind(core.handle, endpoint) == 0 else { throw .last(.bind, endpoint) }
    core.noteEndpoint(endpoint)
  }

  /// Connects in the background, and again whenever the connection is lost.
  public borrowing func connect(_ endpoint: String) throws(ZeroMQError) {
    guard unsafe zmq_connect(core.handle, endpoint) == 0 else { throw .last(.connect, endpoint) }
    core.noteEndpoint(endpoint)
  }

  /// SUB: also receive messages that begin with `prefix`. XSUB and XPUB peers send `0x01` + topic instead.
  public borrowing func subscribe(to prefix: [UInt8]) throws(ZeroMQError) {
    try core.set(ZMQ_SUBSCRIBE, prefix, "subscribe")
  }

  public borrowing func unsubscribe(from prefix: [UInt8]) throws(ZeroMQError) {
    try core.set(ZMQ_UNSUBSCRIBE, prefix, "unsubscribe")
  }

  /// Whether a message waits to be received: asks libzmq, where a receive would take it.
  public var hasInput: Bool {
    get throws(ZeroMQError) { try core.events().contains(.input) }
  }

  /// The endpoint of the last `bind` or `connect`, with the port that was chosen.
  public var lastEndpoint: String {
    get throws(ZeroMQError) {
      var text = [UInt8](repeating: 0, count: 1024)
      var count = text.count
      guard
        unsafe text.withUnsafeMutableBytes({ buffer in
          unsafe zmq_getsockopt(core.handle, ZMQ_LAST_ENDPOINT, buffer.baseAddress, &count)
        }) == 0
      else { throw .last(.getOption, "lastEndpoint") }
      return String(decoding: text.prefix(while: { $0 != 0 }), as: UTF8.self)
    }
  }
}

@available(*, unavailable)
extension Socket: Sendable {}

/// The pointer that a `Socket` owns, in a box that a poller may keep: after `close()` the box says so, so that nobody
/// hands a dangling pointer to libzmq.
@safe
final class SocketCore {
  /// nil once closed; libzmq answers ENOTSOCK to nil.
  private(set) var handle: UnsafeMutableRawPointer?
  private let context: Context
  /// Whether the socket has an `inproc` endpoint.
  private(set) var isInProcess = false
  /// Sends and receives, counted so that a poller knows when to ask the socket again.
  private(set) var uses: UInt64 = 0
  /// The last use was a receive that found nothing: what comes after it is told by the descriptor.
  private(set) var isDrained = false
  /// The count of the poller that watches the socket; nil for a socket without an `inproc` endpoint.
  var neighbours: Neighbours?

  init(_ context: Context, _ kind: Socket.Kind) throws(ZeroMQError) {
    guard let handle = unsafe zmq_socket(context.handle, kind.code) else { throw .last(.openSocket) }
    unsafe self.handle = unsafe handle
    self.context = context
  }

  deinit { close() }

  func close() {
    guard let open = unsafe handle else { return }
    unsafe handle = nil
    _ = unsafe zmq_close(open)
  }

  func noteEndpoint(_ endpoint: String) {
    if endpoint.hasPrefix("inproc:") { isInProcess = true }
  }

  func noteSent() {
    uses &+= 1
    isDrained = false
    if let neighbours { neighbours.sends &+= 1 }
  }

  func noteReceived(_ found: Bool) {
    uses &+= 1
    isDrained = !found
  }

  /// A descriptor that becomes readable when something has changed on the socket; nil for a closed socket.
  var descriptor: Int32? {
    var descriptor: Int32 = -1
    var count = MemoryLayout<Int32>.size
    let code = unsafe zmq_getsockopt(handle, ZMQ_FD, &descriptor, &count)
    return code == 0 ? descriptor : nil
  }

  /// What the socket is ready for; nothing once it is closed.
  func events() throws(ZeroMQError) -> Poller.Events {
    guard unsafe handle != nil else { return [] }
    var events: Int32 = 0
    var count = MemoryLayout<Int32>.size
    while unsafe zmq_getsockopt(handle, ZMQ_EVENTS, &events, &count) < 0 {
      if zmq_errno() != EINTR { throw .last(.poll) }
    }
    return Poller.Events(rawValue: Int16(truncatingIfNeeded: events))
  }

  func set(_ option: Int32, _ value: Int32, _ name: String) throws(ZeroMQError) {
    guard unsafe withUnsafeBytes(of: value, { unsafe set(option, $0) }) else { throw .last(.setOption, name) }
  }

  func set(_ option: Int32, _ value: Int64, _ name: String) throws(ZeroMQError) {
    guard unsafe withUnsafeBytes(of: value, { unsafe set(option, $0) }) else { throw .last(.setOption, name) }
  }

  func set(_ option: Int32, _ value: [UInt8], _ name: String) throws(ZeroMQError) {
    guard unsafe value.withUnsafeBytes({ unsafe set(option, $0) }) else { throw .last(.setOption, name) }
  }

  private func set(_ option: Int32, _ value: UnsafeRawBufferPointer) -> Bool {
    unsafe zmq_setsockopt(handle, option, value.baseAddress, value.count) == 0
  }
}
