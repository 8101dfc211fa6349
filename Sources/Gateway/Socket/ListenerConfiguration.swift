import Logging
public import TLS
public import Wire

/// What the public port is told at its start.
public struct ListenerConfiguration: Sendable {
  /// An address or a name that resolves to one of ours. `::` listens on IPv6 and IPv4, `0.0.0.0` on IPv4 alone.
  public var host: String
  /// 0 takes any free port; ``Listener/boundPort`` says which.
  public var port: Int
  /// Connections that the kernel may hold until we accept them.
  public var backlog: Int32
  /// Sockets open at once, in the HTTP phase or beyond. One more is answered 503 and closed.
  public var maxConnections: Int
  /// Shares of these connections, for addresses and for those that have not signed in: 503, and 429 where an address's
  /// own share is used up.
  public var admission: AdmissionLimits
  /// Addresses of proxies that speak for clients: in `X-Forwarded-For`, and in the PROXY protocol where
  /// ``expectsProxyHeader`` is on.
  public var trustedProxies: [AddressRange]
  /// Connections of trusted proxies begin with a header of the PROXY protocol, version 2; one that does not is closed.
  public var expectsProxyHeader: Bool
  /// Counts and logs whom the gateway turned away.
  public var refusals = Refusals(logger: Logger(label: "fanfare.listener"))
  /// How long a client may take from accepting to a complete request head, the TLS handshake included.
  public var headerTimeoutMilliseconds: Int64
  /// Bytes of a whole request head: request line and all headers. More is answered 431.
  public var maxHeaderBytes: Int
  /// Origins that may connect: `https://app.example.com`, `https://*.example.com`, or `*` for any. Empty: only pages
  /// that came from this very host. A request without an `Origin` (no browser) is always allowed.
  public var allowedOrigins: [String]
  /// Bytes of one message from a client, however many fragments it comes in. More closes with 1009.
  public var maxMessageBytes: Int
  /// Bytes of answers that may wait for one client before its socket is read later; and of what nobody asked for,
  /// before it is closed with 3008.
  public var queueLimitBytes: Int
  /// Bytes that may wait for all connections of the process, accepted and not taken by the kernel. From half of it on,
  /// clients whose answers wait are read later; beyond it, the connection for which most waits is closed.
  public var egressLimitBytes: Int
  /// Bytes that may wait for one connection, whatever they are, beside the one frame that is under way. More closes
  /// with 3008: nobody alone may use up what is there for all.
  public var answerLimitBytes: Int
  /// Bytes of pongs that may wait for a peer that pings and does not read. More closes with 3008.
  public var pongLimitBytes = 16_384
  /// How long we wait for the peer's part of an orderly close before the socket is closed hard.
  public var closeGraceMilliseconds: Int64 = 2_000
  /// As ``closeGraceMilliseconds``, for a slow reader, whose pipe is full and whose memory we want back.
  public var slowCloseGraceMilliseconds: Int64
  /// Where WebSockets are opened.
  public var path = "/connection/websocket"
  /// Whether clients whose network lets no WebSocket through are answered by streams (``StreamRequest``).
  public var answersStreams = true
  /// What this gateway is called in connect results, and so in requests with a session's commands.
  var node = ""
  /// Nil: no TLS here (a proxy in front does it, or nobody).
  public var tls: TLSContext?
  /// The budget of bytes that wait, where something beside connections counts in it too; nil: the listener makes its
  /// own.
  var egress: EgressBudget?
  /// Headers of upgrade requests that are kept for the backend, in lower case.
  var forwardedHeaders: [String] = []
  /// Nil: messages are not compressed.
  public var compression: CompressionOptions?
  /// Nil: there are no pictures here.
  public var pictures: PictureService?
  /// Nil: the demo is off.
  var demo: DemoService?

  public init(
    host: String, port: Int, backlog: Int32, maxConnections: Int, admission: AdmissionLimits,
    trustedProxies: [AddressRange], expectsProxyHeader: Bool, headerTimeoutMilliseconds: Int64, maxHeaderBytes: Int,
    allowedOrigins: [String], maxMessageBytes: Int, queueLimitBytes: Int, egressLimitBytes: Int, answerLimitBytes: Int,
    slowCloseGraceMilliseconds: Int64
  ) {
    self.host = host
    self.port = port
    self.backlog = backlog
    self.maxConnections = maxConnections
    self.admission = admission
    self.trustedProxies = trustedProxies
    self.expectsProxyHeader = expectsProxyHeader
    self.headerTimeoutMilliseconds = headerTimeoutMilliseconds
    self.maxHeaderBytes = maxHeaderBytes
    self.allowedOrigins = allowedOrigins
    self.maxMessageBytes = maxMessageBytes
    self.queueLimitBytes = queueLimitBytes
    self.egressLimitBytes = egressLimitBytes
    self.answerLimitBytes = answerLimitBytes
    self.slowCloseGraceMilliseconds = slowCloseGraceMilliseconds
  }
}
