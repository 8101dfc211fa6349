/// One message to a client, whatever its wire format.
public enum ClientReply: Sendable, Equatable {
  case connect(id: UInt32, ConnectResult)
  case subscribe(id: UInt32, SubscribeResult)
  case unsubscribe(id: UInt32)
  case publish(id: UInt32)
  /// Names each client once, in no order: thousands may be there, and nobody asked for them sorted.
  /// - isPartial: there are more clients than one answer names (Fanfare's alone).
  case presence(id: UInt32, [ClientInfo], isPartial: Bool = false)
  case presenceStats(id: UInt32, clients: UInt32, users: UInt32)
  case history(id: UInt32, HistoryResult)
  case ping(id: UInt32)
  case rpc(id: UInt32, data: [UInt8])
  case refresh(id: UInt32, RefreshResult)
  /// - items: of a shared poll: what the client tracks now and has an older version of.
  case subRefresh(id: UInt32, expires: Bool, ttl: UInt32, items: [Publication] = [])
  case error(id: UInt32, ClientError)
  /// The server's ping: `{}`, in Protobuf a reply of length 0.
  case serverPing
  case push(ClientPush)

  public struct ConnectResult: Sendable, Equatable {
    public var client = ""
    public var version = ""
    public var expires = false
    /// Seconds.
    public var ttl: UInt32 = 0
    public var data: [UInt8] = []
    public var subs: [String: SubscribeResult] = [:]
    /// Seconds between the server's pings.
    public var ping: UInt32 = 0
    public var pong = false
    public var session = ""
    public var node = ""
    public init() {}
  }

  public struct SubscribeResult: Sendable, Equatable {
    public var expires = false
    /// Seconds.
    public var ttl: UInt32 = 0
    public var recoverable = false
    public var positioned = false
    /// The kind of channel, as it was asked for (``ClientCommand/Subscribe/type``).
    public var type: Int32 = 0
    public var epoch = ""
    public var offset: UInt64 = 0
    public var publications: [Publication] = []
    public var recovered = false
    public var wasRecovering = false
    /// Fanfare's alone: what could not be recovered.
    public var gap: RecoveryGap?
    /// The part of a map that this is: 0 it is live from here, 1 the stream of changes, 2 a page of the state.
    public var phase: Int32 = 0
    public var data: [UInt8] = []
    /// The channel's data format is binary: base64 strings in JSON.
    public var binaryData = false
    /// Publications may come as patches: each against the payload of the one before it, of those in the result too.
    public var delta = false
    /// Where the next page of a map's state begins; empty: this is the last page.
    public var cursor = ""
    /// Entries of a map.
    public var state: [Publication] = []
    /// Milliseconds that the client is to leave between publications of its own, or of those with one key; 0: none.
    public var publishDebounce: UInt32 = 0
    public init() {}
  }

  public struct HistoryResult: Sendable, Equatable {
    public var publications: [Publication] = []
    public var epoch = ""
    public var offset: UInt64 = 0
    /// The channel's data format is binary: base64 strings in JSON.
    public var binaryData = false
    public init() {}
  }

  public struct RefreshResult: Sendable, Equatable {
    public var client = ""
    public var version = ""
    public var expires = false
    /// Seconds.
    public var ttl: UInt32 = 0
    public init() {}
  }
}

/// A message that the server sends unasked.
public enum ClientPush: Sendable, Equatable {
  case publication(channel: String, Publication, binaryData: Bool = false)
  case join(channel: String, ClientInfo)
  case leave(channel: String, ClientInfo)
  case unsubscribe(channel: String, UnsubscribeCode)
  case message(data: [UInt8])
  /// A server-side subscription was added.
  /// - data: JSON that was given with the subscription; empty: none.
  case subscribe(channel: String, recoverable: Bool, positioned: Bool, StreamPosition, data: [UInt8] = [])
  case disconnect(DisconnectCode)
  /// The connection expires at another time than before, or no more.
  /// - ttl: seconds until then.
  case refresh(expires: Bool, ttl: UInt32)
  /// The server ends, and the client is to connect anew when that time is over: it finds another server then. Until then
  /// everything goes on. Fanfare's alone, for clients that said ``ClientCommand/Connect/reconnects``.
  case reconnect(afterMilliseconds: UInt32)
}

/// The two encodings of the client protocol.
public enum WireFormat: Int, Sendable, CaseIterable {
  case json
  case protobuf
}
