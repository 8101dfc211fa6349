public import Wire

/// What happened in a stretch of time, as a part of a trace.
public struct Span: Sendable, Equatable {
  /// As OpenTelemetry numbers them.
  public enum Kind: Int, Sendable {
    case inside = 1
    case server = 2
    /// A request that the server makes of somebody else.
    case client = 3
  }

  /// The trace, and this span's own id.
  public var context: TraceContext
  /// Nil: the trace begins with this span.
  public var parent: UInt64?
  public var name: String
  public var kind: Kind
  /// Nanoseconds of `CLOCK_MONOTONIC`, of this machine.
  public var start: UInt64
  public var end: UInt64
  public var attributes: SpanAttributes

  public init(
    _ context: TraceContext, parent: UInt64?, name: String, kind: Kind, from start: UInt64, to end: UInt64,
    _ attributes: SpanAttributes = .none
  ) {
    self.context = context
    self.parent = parent
    self.name = name
    self.kind = kind
    self.start = start
    self.end = end
    self.attributes = attributes
  }
}

extension Span {
  /// Bytes of memory, roughly.
  var cost: Int {
    MemoryLayout<Span>.stride + name.utf8.count + (attributes.namespace?.utf8.count ?? 0)
      + (attributes.method?.utf8.count ?? 0)
  }
}

/// What a span says beside its times. Names of channels and users are not among it: a collector is no place for them.
public struct SpanAttributes: Sendable, Equatable {
  /// Of the channel; nil: not known, empty: the channel has none.
  public var namespace: String?
  public var offset: UInt64?
  /// Of a service's call: what it asks for.
  public var method: String?
  /// The code of the error with which it was answered; nil: with none.
  public var failure: UInt32?

  public static let none = SpanAttributes()

  public init(namespace: String? = nil, offset: UInt64? = nil, method: String? = nil, failure: UInt32? = nil) {
    self.namespace = namespace
    self.offset = offset
    self.method = method
    self.failure = failure
  }

  public init(_ channel: ChannelName, offset: UInt64? = nil) {
    self.init(namespace: channel.namespace.map { String($0) } ?? "", offset: offset)
  }
}
