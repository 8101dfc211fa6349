/// A moment of the clock that never goes back (`CLOCK_MONOTONIC`), and whose clock it is. The clocks of two machines
/// have nothing to do with one another, and one that was started anew has another clock than before.
public struct HopStamp: Sendable, Equatable {
  /// A number that all processes of one start of one machine share.
  public var host: UInt64
  public var nanoseconds: UInt64

  public init(host: UInt64, nanoseconds: UInt64) {
    self.host = host
    self.nanoseconds = nanoseconds
  }

  /// Nanoseconds since another stamp; nil where the two are not of one clock, or stand in the wrong order.
  public func since(_ other: HopStamp) -> UInt64? {
    host == other.host && nanoseconds >= other.nanoseconds ? nanoseconds - other.nanoseconds : nil
  }
}

/// What goes along with a publication, or a call, that is measured: of each hop that is over, whoever ended it has
/// taken note already, so that two stamps are enough.
public struct HopTrace: Sendable, Equatable {
  /// When the server got it: a frame was read, a service's request taken in.
  public var began: HopStamp
  /// When the hop before ended, and this one began.
  public var last: HopStamp
  /// The trace and its span for the whole, whose children the hops are; nil: measured, and told to nobody.
  public var context: TraceContext?

  public init(began: HopStamp, last: HopStamp, context: TraceContext? = nil) {
    self.began = began
    self.last = last
    self.context = context
  }
}

/// Says that the message after this one, or the publication, is measured: sent just before it in the same session, by
/// either end. Whoever does not want to know ignores it, and so nothing that is not measured carries anything.
public struct LinkTrace: Sendable, Equatable {
  public enum Subject: Sendable, Equatable {
    /// The gateway's request with this id.
    case request(UInt64)
    case publication(ChannelName, offset: UInt64)
  }

  public var subject: Subject
  public var trace: HopTrace

  public init(_ subject: Subject, _ trace: HopTrace) {
    self.subject = subject
    self.trace = trace
  }

  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    switch subject {
    case .request(let id):
      sink.write(byte: 0)
      sink.write(id)
    case .publication(let channel, let offset):
      sink.write(byte: 1)
      sink.write(channel)
      sink.write(offset)
    }
    for stamp in [trace.began, trace.last] {
      sink.write(fixed: stamp.host)
      sink.write(fixed: stamp.nanoseconds)
    }
    sink.write(flag: trace.context != nil)
    if let context = trace.context {
      sink.write(fixed: context.traceHigh)
      sink.write(fixed: context.traceLow)
      sink.write(fixed: context.span)
      sink.write(flag: context.isSampled)
    }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let subject: Subject
    switch try reader.readByte() {
    case 0: subject = .request(try reader.readNumber())
    case 1: subject = .publication(try reader.readChannel(), offset: try reader.readNumber())
    default: throw MalformedMessage()
    }
    let began = HopStamp(host: try reader.readFixed(), nanoseconds: try reader.readFixed())
    let last = HopStamp(host: try reader.readFixed(), nanoseconds: try reader.readFixed())
    var context: TraceContext?
    if try reader.readFlag() {
      context = TraceContext(
        traceHigh: try reader.readFixed(), traceLow: try reader.readFixed(), span: try reader.readFixed(),
        isSampled: try reader.readFlag())
    }
    try reader.requireEnd()
    self.init(subject, HopTrace(began: began, last: last, context: context))
  }
}
