package import NIOCore

extension RealtimeClient {
  /// How a client behaves. Set what differs, and hand it to ``RealtimeClient/init(url:token:options:)``.
  public struct Options: Sendable {
    /// Told to the server, for its logs.
    public var name = "fanfare-swift"
    /// Told to the server, for its logs.
    public var version = ""
    /// Sent with the connect command, for a backend that decides about connections. JSON.
    public var data: [UInt8] = []
    /// Beside those of the WebSocket, in the upgrade request.
    public var headers: [(String, String)] = []
    /// Gives the connection token, at first and whenever it has expired. Throw ``TokenRefused`` to end the connection.
    public var tokenProvider: (@Sendable () async throws -> String)?
    /// How long a token provider may take; a later token counts for the next try.
    public var tokenTimeout = Duration.seconds(30)
    /// One's own user id, for the channels of Clique and State; nil: that of the token.
    public var user: String?
    /// How long connecting may take, and the answer to each command.
    public var timeout = Duration.seconds(5)
    /// How much later than announced the server's ping may come.
    public var maximumPingDelay = Duration.seconds(10)
    /// The delays between tries to connect, to subscribe, and to send again what the server could not do yet.
    public var backoff = Backoff()
    /// Failures in a row after which the client gives up; nil: never, 0: it does not reconnect.
    public var maximumReconnectAttempts: Int?
    /// Operations that may wait for their answers at a time, beside those that are kept while there is no connection;
    /// one more fails with ``RealtimeError/tooManyCalls(limit:)``.
    public var maximumCalls = 1024
    /// Operations that are kept until they are answered; one more fails with ``RealtimeError/queueFull(calls:bytes:)``.
    public var maximumQueuedCalls = 1000
    /// Bytes of these.
    public var maximumQueuedBytes = 4 << 20
    /// How long one of these is kept; then it fails with ``RealtimeError/keptTooLong``.
    public var maximumQueuedTime = Duration.seconds(24 * 3600)
    /// The server's `client.max_message_bytes`: a larger command fails here, since it would end the connection there.
    public var maximumCommandBytes = 65_536
    /// Largest message taken from the server, in bytes: a recovery of 300 publications of 64 KiB is 19 MiB.
    public var maximumMessageBytes = 32 << 20
    /// Most bytes of ``RealtimeClient/serverEvents`` that wait to be read. The newest are dropped beyond it, and
    /// ``ServerEvent/missed(_:)`` tells how many.
    public var maximumWaitingBytes = 4 << 20
    /// Largest picture that is fetched, in bytes.
    public var maximumPictureBytes = 16 << 20
    /// Path of State's pictures on the server, and of Clique's; a whole `http:` or `https:` address where they are
    /// elsewhere.
    public var statePictures = "/state/pictures"
    /// See ``statePictures``.
    public var cliquePictures = "/clique/pictures"
    /// For `wss:` on Linux, a PEM file with the authorities to trust; nil: the system's. Apple's systems decide
    /// themselves.
    public var certificateAuthorities: String?
    /// Randomness of the delays, in 0..<1.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Where the client runs; nil: on the process's shared threads.
    package var eventLoopGroup: (any EventLoopGroup)?

    /// What nothing else is said of.
    public init() {}
  }

  /// Sixteen random bytes as 32 hexadecimal digits: a key of a publication or a message, or a picture's id.
  public static func newKey() -> String {
    var digits = ""
    for _ in 0..<2 {
      let half = String(UInt64.random(in: 0...UInt64.max), radix: 16)
      digits += String(repeating: "0", count: 16 - half.count) + half
    }
    return digits
  }
}
