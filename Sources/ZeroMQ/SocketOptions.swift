internal import CZeroMQ

extension Socket {
  /// What a socket is made with. `nil` keeps the default of libzmq; times are in milliseconds, −1 means for ever.
  ///
  /// ZMQ_IMMEDIATE is left out: with it, libzmq 4.3 takes a lost connection's pipe away between two frames of a message
  /// that is being read, and ends the process over it.
  public struct Options: Sendable {
    /// How long a closed socket goes on sending. libzmq's default here is 0 (see `Context`).
    public var lingerMilliseconds: Int32?
    /// In messages per peer, not bytes. Over `inproc` the sender's and the receiver's marks add up.
    public var sendHighWaterMark: Int32?
    public var receiveHighWaterMark: Int32?
    /// A peer that sends a larger frame is disconnected. Per frame: it does not bound how many frames a message has.
    public var maxMessageBytes: Int64?
    public var sendTimeoutMilliseconds: Int32?
    public var receiveTimeoutMilliseconds: Int32?
    /// ROUTER: refuse the identity frame of an unknown or full peer instead of dropping the message.
    public var routerMandatory: Bool?
    /// ROUTER: a peer that comes back under its old identity replaces its old connection.
    public var routerHandover: Bool?
    /// What the peer's ROUTER knows this socket as: 1 to 255 bytes, not beginning with a zero byte.
    public var routingID: [UInt8]?
    public var heartbeatIntervalMilliseconds: Int32?
    public var heartbeatTimeoutMilliseconds: Int32?
    /// What the peer is asked to use as its timeout: rounded down to tenths of a second.
    public var heartbeatTTLMilliseconds: Int32?
    public var reconnectIntervalMilliseconds: Int32?
    /// The interval doubles up to this.
    public var reconnectIntervalMaxMilliseconds: Int32?
    /// How long a new connection may take over its ZMTP handshake.
    public var handshakeIntervalMilliseconds: Int32?
    public var connectTimeoutMilliseconds: Int32?
    /// XPUB: pass on every subscription, not only the first for a topic.
    public var xpubVerbose: Bool?
    /// XPUB: pass on every subscription and every cancellation.
    public var xpubVerboser: Bool?
    /// XPUB: a subscription that was received counts for nothing until `subscribe(to:)` says for what its sender is
    /// subscribed, before the next one is received.
    public var xpubManual: Bool?
    /// PUB and XPUB: `send` fails with `.wouldBlock` at the high-water mark instead of dropping.
    public var xpubNoDrop: Bool?
    /// How many connections may wait to be accepted.
    public var backlog: Int32?
    public var ipv6: Bool?
    public var tcpKeepalive: TCPKeepalive?
    public var curve: Curve.Role?

    public init() {}

    /// Fills in options in place: `Socket.Options { $0.routerMandatory = true }`.
    public init(_ fill: (inout Options) -> Void) {
      fill(&self)
    }
  }

  public struct TCPKeepalive: Equatable, Sendable {
    /// Idle time before the first probe.
    public var idleSeconds: Int32
    public var intervalSeconds: Int32
    /// Unanswered probes after which the connection counts as lost.
    public var probes: Int32

    public init(idleSeconds: Int32, intervalSeconds: Int32, probes: Int32) {
      self.idleSeconds = idleSeconds
      self.intervalSeconds = intervalSeconds
      self.probes = probes
    }
  }
}

extension Socket.Options {
  /// Gives a connection up whose peer has vanished without a word, as a machine does that has lost its power or its
  /// wire. TCP by itself would wait for a quarter of an hour. To be called for both ends, with the same patience.
  ///
  /// - A third of the patience after the last question, each end asks the other for a sign of life. Libzmq's own thread
  ///   asks and answers (ZMTP 3.1, PING and PONG), so a loop that is busy costs no connection.
  /// - An end that hears nothing for the patience after a question ends the connection: within four thirds of it, that
  ///   is. What it asks its peer to wait, should the questions stop, is the same.
  /// - A connection that is not there within a third of the patience, or has not shaken hands within all of it, is
  ///   tried again: the kernel repeats a first packet after 1, 2, 4, 8 seconds and so on, and would find a way that is
  ///   there again as late as that.
  ///
  /// A message counts as a sign of life when it is whole, so the patience is also what the largest one may take.
  ///
  /// - Parameter milliseconds: 300 to 6 million; libzmq counts what the peer is asked for in tenths of a second.
  public mutating func giveUpDeadConnections(patience milliseconds: Int32 = 6000) {
    precondition((300...6_000_000).contains(milliseconds), "a patience of 300 ms to 6,000 s is wanted")
    heartbeatIntervalMilliseconds = milliseconds / 3
    heartbeatTimeoutMilliseconds = milliseconds
    heartbeatTTLMilliseconds = milliseconds
    connectTimeoutMilliseconds = milliseconds / 3
    handshakeIntervalMilliseconds = milliseconds
  }

  func apply(to core: SocketCore) throws(ZeroMQError) {
    try core.apply(ZMQ_LINGER, lingerMilliseconds, "lingerMilliseconds")
    try core.apply(ZMQ_SNDHWM, sendHighWaterMark, "sendHighWaterMark")
    try core.apply(ZMQ_RCVHWM, receiveHighWaterMark, "receiveHighWaterMark")
    if let bytes = maxMessageBytes { try core.set(ZMQ_MAXMSGSIZE, bytes, "maxMessageBytes") }
    try core.apply(ZMQ_SNDTIMEO, sendTimeoutMilliseconds, "sendTimeoutMilliseconds")
    try core.apply(ZMQ_RCVTIMEO, receiveTimeoutMilliseconds, "receiveTimeoutMilliseconds")
    try core.apply(ZMQ_ROUTER_MANDATORY, routerMandatory, "routerMandatory")
    try core.apply(ZMQ_ROUTER_HANDOVER, routerHandover, "routerHandover")
    if let identity = routingID { try core.set(ZMQ_ROUTING_ID, identity, "routingID") }
    try core.apply(ZMQ_XPUB_VERBOSE, xpubVerbose, "xpubVerbose")
    try core.apply(ZMQ_XPUB_VERBOSER, xpubVerboser, "xpubVerboser")
    try core.apply(ZMQ_XPUB_MANUAL, xpubManual, "xpubManual")
    try core.apply(ZMQ_XPUB_NODROP, xpubNoDrop, "xpubNoDrop")
    try applyConnection(to: core)
    try curve?.apply(to: core)
  }

  private func applyConnection(to core: SocketCore) throws(ZeroMQError) {
    try core.apply(ZMQ_HEARTBEAT_IVL, heartbeatIntervalMilliseconds, "heartbeatIntervalMilliseconds")
    try core.apply(ZMQ_HEARTBEAT_TIMEOUT, heartbeatTimeoutMilliseconds, "heartbeatTimeoutMilliseconds")
    try core.apply(ZMQ_HEARTBEAT_TTL, heartbeatTTLMilliseconds, "heartbeatTTLMilliseconds")
    try core.apply(ZMQ_RECONNECT_IVL, reconnectIntervalMilliseconds, "reconnectIntervalMilliseconds")
    try core.apply(ZMQ_RECONNECT_IVL_MAX, reconnectIntervalMaxMilliseconds, "reconnectIntervalMaxMilliseconds")
    try core.apply(ZMQ_HANDSHAKE_IVL, handshakeIntervalMilliseconds, "handshakeIntervalMilliseconds")
    try core.apply(ZMQ_CONNECT_TIMEOUT, connectTimeoutMilliseconds, "connectTimeoutMilliseconds")
    try core.apply(ZMQ_BACKLOG, backlog, "backlog")
    try core.apply(ZMQ_IPV6, ipv6, "ipv6")
    if let keepalive = tcpKeepalive {
      try core.set(ZMQ_TCP_KEEPALIVE, Int32(1), "tcpKeepalive")
      try core.set(ZMQ_TCP_KEEPALIVE_IDLE, keepalive.idleSeconds, "tcpKeepalive.idleSeconds")
      try core.set(ZMQ_TCP_KEEPALIVE_INTVL, keepalive.intervalSeconds, "tcpKeepalive.intervalSeconds")
      try core.set(ZMQ_TCP_KEEPALIVE_CNT, keepalive.probes, "tcpKeepalive.probes")
    }
  }
}

extension SocketCore {
  fileprivate func apply(_ option: Int32, _ value: Int32?, _ name: String) throws(ZeroMQError) {
    if let value { try set(option, value, name) }
  }

  fileprivate func apply(_ option: Int32, _ value: Bool?, _ name: String) throws(ZeroMQError) {
    if let value { try set(option, value ? Int32(1) : 0, name) }
  }
}
