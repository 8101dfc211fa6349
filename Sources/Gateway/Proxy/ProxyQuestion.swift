public import Wire

/// What a session asks the backend, or the gateway for all of its sessions.
public enum ProxyQuestion: Sendable, Equatable {
  case connect(Connect)
  case refresh
  case subscribe(channel: String, data: [UInt8])
  case publish(Publish)
  case subRefresh(channel: String)
  case rpc(method: String, data: [UInt8])
  /// For nobody in particular.
  case sharedPoll(channel: String, [PolledKey])

  public struct Connect: Sendable, Equatable {
    /// The token's user, where the client brought a valid one; nil: it brought none.
    public var user: String?
    public var name: String
    public var version: String
    public var data: [UInt8]
    /// Server-side subscriptions that the client wants to recover.
    public var channels: [String]
  }

  public struct Publish: Sendable, Equatable {
    public var channel: String
    public var data: [UInt8]
    /// The channel holds bytes, not JSON.
    public var isBinary: Bool
    /// What is done to a key, on map channels.
    public var write: MapWrite?
    /// The publication that the data replaces; nil: it is a new one.
    public var offset: UInt64?
  }

  /// A key of a shared poll.
  public struct PolledKey: Sendable, Equatable {
    public var key: String
    /// The version that is known here; 0: none, and nil where the backend has no versions.
    public var version: UInt64?

    public init(key: String, version: UInt64? = nil) {
      self.key = key
      self.version = version
    }
  }

  public var kind: ProxyKind {
    switch self {
    case .connect: .connect
    case .refresh: .refresh
    case .subscribe: .subscribe
    case .publish: .publish
    case .subRefresh: .subRefresh
    case .rpc: .rpc
    case .sharedPoll: .sharedPollRefresh
    }
  }
}

/// Who asks: what every request to the backend says of the client.
public struct ProxyAsker: Sendable, Equatable {
  public var client: String
  public var format: WireFormat
  /// How the client is connected: `websocket`, `sse` or `http_stream`.
  public var transport = "websocket"
  /// Empty: anonymous, or not connected yet.
  public var user: String
  /// Raw JSON that the backend attached to the connection, or the token.
  public var meta: [UInt8]?

  public init(client: String, format: WireFormat, user: String = "", meta: [UInt8]? = nil) {
    self.client = client
    self.format = format
    self.user = user
    self.meta = meta
  }
}

/// The body of a request to the backend, in the fields of Centrifugo's event proxies.
enum ProxyRequest {
  /// - Parameters:
  ///   - usesBase64: payloads go as `b64data` even where they are JSON.
  ///   - includesMeta: the connection's `meta` goes along.
  static func body(
    of question: ProxyQuestion, from asker: ProxyAsker, usesBase64: Bool, includesMeta: Bool
  ) -> [UInt8] {
    if case .sharedPoll(let channel, let keys) = question { return body(of: keys, on: channel) }
    let isBinary = usesBase64 || !question.hasJSON(from: asker.format)
    var writer = JSONWriter(capacity: 256)
    writer.object { writer in
      writer.write("client", asker.client)
      writer.write("transport", asker.transport)
      writer.write("protocol", asker.format == .json ? "json" : "protobuf")
      writer.write("encoding", isBinary ? "binary" : "json")
      if case .connect(let connect) = question {
        if let user = connect.user { writer.write("user", user) }
      } else {
        writer.write("user", asker.user)
      }
      write(question, isBinary: isBinary, to: &writer)
      if includesMeta, let meta = asker.meta { writer.write("meta", raw: meta) }
    }
    return writer.bytes
  }

  private static func body(of keys: [ProxyQuestion.PolledKey], on channel: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 64 + 48 * keys.count)
    writer.object { writer in
      writer.write("channel", channel)
      writer.list("items") { writer in
        for key in keys {
          writer.object { writer in
            writer.write("key", key.key)
            if let version = key.version { writer.write("version", version) }
          }
        }
      }
    }
    return writer.bytes
  }

  private static func write(_ question: ProxyQuestion, isBinary: Bool, to writer: inout JSONWriter) {
    switch question {
    case .connect(let connect):
      if !connect.name.isEmpty { writer.write("name", connect.name) }
      if !connect.version.isEmpty { writer.write("version", connect.version) }
      if !connect.channels.isEmpty {
        writer.list("channels") { writer in
          for channel in connect.channels { writer.write(element: channel) }
        }
      }
    case .refresh, .sharedPoll: break
    case .subscribe(let channel, _), .subRefresh(let channel): writer.write("channel", channel)
    case .publish(let publish):
      writer.write("channel", publish.channel)
      if let write = publish.write {
        writer.write("key", write.key)
        if write.removed { writer.write("removed", true) }
      }
      if let offset = publish.offset { writer.write("offset", offset) }
    case .rpc(let method, _): if !method.isEmpty { writer.write("method", method) }
    }
    let payload = question.payload
    guard !payload.isEmpty else { return }
    if isBinary { writer.write("b64data", base64: payload) } else { writer.write("data", raw: payload) }
  }
}

extension ProxyQuestion {
  fileprivate var payload: [UInt8] {
    switch self {
    case .connect(let connect): connect.data
    case .subscribe(_, let data), .rpc(_, let data): data
    case .publish(let publish): publish.data
    case .refresh, .subRefresh, .sharedPoll: []
    }
  }

  /// Whether the payload can stand in JSON as it is. What JSON clients sent was checked when it came.
  fileprivate func hasJSON(from format: WireFormat) -> Bool {
    switch self {
    case .publish(let publish): !publish.isBinary
    case .connect, .subscribe, .rpc: format == .json || payload.isEmpty || JSONSyntax.isValid(payload)
    case .refresh, .subRefresh, .sharedPoll: true
    }
  }
}
