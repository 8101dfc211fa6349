import CLinuxIO
import COpenSSL
import Glibc

/// Where a worker's connections lead.
@safe struct Links {
  let subscribers: ServerAddress
  let publishers: ServerAddress
  let tls: TLSClient?
  /// Connections come from the addresses 127.1.worker.n.
  let spreads: Bool

  init(_ target: Target) throws(BenchError) {
    subscribers = try ServerAddress(target.url)
    publishers = try target.publishURL.map { url throws(BenchError) in try ServerAddress(url) } ?? subscribers
    tls = subscribers.isSecure || publishers.isSecure ? try TLSClient(trust: target.trust) : nil
    spreads = target.spreadsSourceAddresses
  }
}

/// How far connecting is.
struct Connecting {
  /// Connects that are under way at once.
  static let parallel = 512
  /// Seconds without any progress until connecting is given up, unless the plan says otherwise.
  static let usualPatience = 30.0

  /// Nanoseconds without any progress until connecting is given up.
  let patience: UInt64
  var rest: Range<Int> = 0..<0
  var inFlight = 0
  var ready = 0
  var beganAt: UInt64 = 0
  var deadline: UInt64 = .max
  let latency = FlatHistogram()

  init(patience: Double?) { self.patience = nanoseconds(patience ?? Self.usualPatience) }

  mutating func begin(all: Range<Int>, at now: UInt64) {
    rest = all
    (inFlight, ready, beganAt) = (0, 0, now)
    deadline = now + patience
  }
}

extension EventLoop {
  func address(_ connection: UnsafeMutablePointer<Connection>) -> ServerAddress {
    unsafe connection.pointee.publisher < 0 ? links.subscribers : links.publishers
  }

  /// Starts connects until enough are under way.
  func connectMore() throws(BenchError) {
    while connecting.inFlight < Connecting.parallel, let index = connecting.rest.first {
      connecting.rest.removeFirst()
      if unsafe run.isReturning && !isToReturn(connections + index) { continue }
      connecting.inFlight += 1
      try connect(index)
    }
  }

  private func connect(_ index: Int) throws(BenchError) {
    let connection = unsafe connections + index
    let address = unsafe address(connection)
    var source: UInt32 = 0
    if links.spreads && address.isLoopback {
      // Each address has some 28,000 ports; 127.1.worker.1 on.
      source = 0x7F01_0001 + UInt32(truncatingIfNeeded: (plan.worker & 255) << 8 + index / 10_000 % 128)
    }
    unsafe connection.pointee.startedAt = linuxio_now()
    let descriptor = unsafe address.socketAddress.withUnsafeBytes { bytes in
      // A slow reader's window is small, as behind a bad network, so that the server notices it soon.
      unsafe linuxio_connect(bytes.baseAddress, Int32(bytes.count), source, connection.pointee.isSlow ? 16 << 10 : 0)
    }
    guard descriptor >= 0 else { throw unreachable(address, -descriptor) }
    unsafe connection.pointee.descriptor = descriptor
    if let stamps, unsafe connection.pointee.line != nil { try stamps.begin(at: descriptor) }
    unsafe connection.pointee.stage = .connecting
    unsafe connection.pointee.awaitsRoom = true
    try watch(descriptor, LINUXIO_READABLE | LINUXIO_WRITABLE, tag: UInt64(index))
  }

  private func unreachable(_ address: ServerAddress, _ error: Int32) -> BenchError {
    let reason = unsafe String(cString: strerror(error))
    return BenchError("\(address.url) cannot be reached: \(reason). Does the server run, and is the port right?")
  }

  /// Goes on with a connection whose connect or TLS handshake has come further.
  func establish(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    let address = unsafe address(connection)
    if unsafe connection.pointee.stage == .connecting {
      let error = unsafe linuxio_socket_error(connection.pointee.descriptor)
      guard error == 0 else { return unsafe try lose(connection, unreachable(address, -error).description) }
      guard address.isSecure, let tls = links.tls else { return unsafe try greet(connection) }
      unsafe connection.pointee.tls = unsafe try tls.open(connection.pointee.descriptor, host: address.host)
      unsafe connection.pointee.stage = .securing
    }
    guard let tls = unsafe connection.pointee.tls else { return }
    let result = unsafe SSL_connect(tls)
    guard result != 1 else { return unsafe try greet(connection) }
    switch unsafe TLSClient.outcome(tls, result) {
    case .wantsRead: unsafe awaitRoom(connection, false)
    case .wantsWrite: unsafe awaitRoom(connection, true)
    case .ended: unsafe try lose(connection, "the server ended the TLS handshake")
    case .failed(let reason): unsafe try lose(connection, reason)
    }
  }

  /// The socket carries bytes now: asks for the upgrade to WebSocket, or opens the connection where it needs none.
  private func greet(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    switch unsafe dialect.framing(connection.pointee.state.role) {
    case .raw: unsafe try open(connection)
    case .webSocket(let path, let subprotocol, let binary):
      let path = unsafe dialect.path(connection.pointee.state) ?? path
      let key = WebSocketCodec.makeKey(nextRandom(), nextRandom())
      unsafe connection.pointee.key = key
      unsafe connection.pointee.isWebSocket = true
      unsafe connection.pointee.opcode = binary ? 2 : 1
      unsafe connection.pointee.stage = .upgrading
      unsafe connection.pointee.out.append(
        WebSocketCodec.request(
          path: path, address: address(connection), subprotocol: subprotocol,
          compresses: asksForCompression(connection), key: key))
      unsafe try flush(connection)
    }
  }

  /// Publishers send and get little, and are spared the work.
  func asksForCompression(_ connection: UnsafeMutablePointer<Connection>) -> Bool {
    unsafe plan.target.compresses && connection.pointee.state.role == .subscriber
  }

  /// The connection is upgraded, or needs no upgrade: the dialect says what it says first.
  func open(_ connection: UnsafeMutablePointer<Connection>) throws(BenchError) {
    unsafe connection.pointee.stage = .open
    unsafe dialect.open(&connection.pointee.state, into: &outgoing)
    unsafe try sendOutgoing(connection)
    if unsafe connection.pointee.state.isConfirmed {
      unsafe try confirm(connection, max(1, connection.pointee.state.channels.count))
    }
  }

  /// The server confirmed so many subscriptions of the connection, or lets a publisher publish.
  func confirm(_ connection: UnsafeMutablePointer<Connection>, _ count: Int) throws(BenchError) {
    unsafe connection.pointee.confirmed += count
    guard unsafe connection.pointee.stage == .open,
      unsafe connection.pointee.confirmed >= max(1, connection.pointee.state.channels.count),
      unsafe !connection.pointee.isReady || run.isReturning
    else { return }
    let isNew = unsafe connection.pointee.confirmed - count < max(1, connection.pointee.state.channels.count)
    guard isNew else { return }
    unsafe connection.pointee.isReady = true
    let time = linuxio_now()
    unsafe connecting.latency.record(time - connection.pointee.startedAt)
    connecting.ready += 1
    connecting.inFlight -= 1
    connecting.deadline = time + connecting.patience
    if unsafe connection.pointee.isSlow { _ = unsafe linuxio_epoll_remove(poll, connection.pointee.descriptor) }
    if connecting.rest.isEmpty && connecting.inFlight == 0 { return try allConnected(at: time) }
    try connectMore()
  }

  func allConnected(at time: UInt64) throws(BenchError) {
    connecting.deadline = .max
    guard !run.isReturning else { return }
    let report = ConnectReport(
      connections: connecting.ready, seconds: Double(time - connecting.beganAt) / 1e9,
      latency: connecting.latency.encoded)
    try console.write(.ready(report))
    run.isReady = true
  }

  /// A connection that was to stay is over: counts it, or fails where nothing can be measured without it.
  func lose(_ connection: UnsafeMutablePointer<Connection>, _ reason: String) throws(BenchError) {
    let wasReady = unsafe connection.pointee.confirmed >= max(1, connection.pointee.state.channels.count)
    unsafe connection.pointee.drop()
    if unsafe connection.pointee.isSlow && wasReady { return }
    guard unsafe connection.pointee.isReady else {
      throw BenchError(reason.contains("://") ? reason : unsafe "\(address(connection).url): \(reason)")
    }
    if run.isReturning && !wasReady { connecting.inFlight -= 1 }
    run.disconnected += 1
    run.remark(unsafe "client \(connection.pointee.state.client) was disconnected: \(reason)")
    guard unsafe connection.pointee.publisher < 0 else { throw BenchError("a publisher was disconnected: \(reason)") }
    guard run.isReturning && !wasReady else { return }
    try connectMore()
    if connecting.rest.isEmpty && connecting.inFlight == 0 { connecting.deadline = .max }
  }

  /// Has the connection told, or no longer told, when its socket has room for writing.
  func awaitRoom(_ connection: UnsafeMutablePointer<Connection>, _ awaits: Bool) {
    guard unsafe connection.pointee.awaitsRoom != awaits else { return }
    unsafe connection.pointee.awaitsRoom = awaits
    let tag = unsafe UInt64(connection - connections)
    let events = LINUXIO_READABLE | (awaits ? LINUXIO_WRITABLE : 0)
    _ = unsafe linuxio_epoll_change(poll, connection.pointee.descriptor, events, tag)
  }
}
