/// One command from a client, whatever its wire format.
///
/// Source: protocol facts, "Shapes". Unknown fields are ignored by the decoders.
public struct ClientCommand: Sendable, Equatable {
  /// The client's number for the command; 0 for `send` and pong alone, to which nobody waits for an answer.
  public var id: UInt32
  public var body: Body

  public init(id: UInt32, body: Body) {
    self.id = id
    self.body = body
  }

  public enum Body: Sendable, Equatable {
    /// An empty command: the answer to the server's ping.
    case pong
    case connect(Connect)
    case subscribe(Subscribe)
    case unsubscribe(channel: String)
    case publish(Publish)
    case presence(channel: String)
    case presenceStats(channel: String)
    case history(History)
    /// A ping sent by the client; answered with an empty result.
    case ping
    case send(data: [UInt8])
    case rpc(method: String, data: [UInt8])
    case refresh(token: String)
    case subRefresh(channel: String, token: String)
    /// A sub_refresh of type 1: keys of a shared poll that the client wants to hear of.
    indirect case track(Track)
    /// A sub_refresh of type 2: keys that it wants to hear of no more.
    indirect case untrack(channel: String, keys: [String])
    /// A command with an id and none of the known requests: error 104.
    case unknown
  }

  public struct Connect: Sendable, Equatable {
    public var token = ""
    public var data: [UInt8] = []
    public var subs: [String: Subscribe] = [:]
    public var name = ""
    public var version = ""
    /// Fanfare's alone: the client comes back by itself when ``ClientPush/reconnect(afterMilliseconds:)`` tells it to.
    public var reconnects = false
    public init() {}
  }

  public struct Subscribe: Sendable, Equatable {
    /// Bits of `flag`.
    public static let channelCompaction: Int64 = 1
    public static let rejectUnrecovered: Int64 = 2

    public var channel = ""
    public var token = ""
    public var recover = false
    public var epoch = ""
    public var offset: UInt64 = 0
    public var data: [UInt8] = []
    public var positioned = false
    public var recoverable = false
    public var joinLeave = false
    public var flag: Int64 = 0
    /// The fields that few subscribes set, in an object of their own, so that the many are no larger for them.
    var rare: Rare?
    public init() {}
  }

  public struct Publish: Sendable, Equatable {
    public var channel = ""
    /// The payload's raw bytes; in JSON exactly the bytes of the value, never re-encoded.
    public var data: [UInt8] = []
    /// Fanfare's alone: the same key within five minutes publishes once.
    public var idempotencyKey: String?
    /// Set where a key of a map channel is to be written or removed.
    public var map: MapWrite?
    public init() {}
  }

  public struct Track: Sendable, Equatable {
    public var channel = ""
    public var batches: [TrackBatch] = []
    /// Keys to untrack in the same step: those of a batch whose signature is for more keys than are still wanted.
    public var untracked: [String] = []
    public init() {}
  }

  /// All keys that one signature is for, in the order in which they were signed.
  public struct TrackBatch: Sendable, Equatable {
    public var signature = ""
    public var items: [TrackedItem] = []
    public init() {}
  }

  public struct TrackedItem: Sendable, Equatable {
    public var key = ""
    /// The version that the client has; 0: it has none.
    public var version: UInt64 = 0

    public init(key: String = "", version: UInt64 = 0) {
      self.key = key
      self.version = version
    }
  }

  public struct History: Sendable, Equatable {
    public var channel = ""
    /// Publications to answer with; 0: the position alone; negative: as many as the server allows.
    public var limit: Int32 = 0
    public var since: StreamPosition?
    public var reverse = false
    public init() {}
  }
}
