/// What a recovery could not give, and why: told with `recovered` false, so that a client knows what it lacks instead of
/// only that it lacks something. Fanfare's alone.
public struct RecoveryGap: Sendable, Hashable {
  /// Why. What a broker does not know for certain it does not say: ``notKept`` says no more than that.
  ///
  /// Not an enum: a client may meet reasons of a later server.
  public struct Reason: RawRepresentable, Sendable, Hashable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The channel is in another epoch: nothing is known of what the client had.
    public static let epoch = Reason(rawValue: "epoch")
    /// The client's position lies ahead of the channel's.
    public static let ahead = Reason(rawValue: "ahead")
    /// They are older than the history's time allows.
    public static let expired = Reason(rawValue: "expired")
    /// As many as the history holds came after them.
    public static let size = Reason(rawValue: "size")
    /// The history was removed.
    public static let removed = Reason(rawValue: "removed")
    /// They are not kept, and which of the reasons it was is not known.
    public static let notKept = Reason(rawValue: "not_kept")
    /// There are more of them than one recovery may carry. Those that are kept can be read.
    public static let limit = Reason(rawValue: "limit")
    /// They weigh more than one recovery may carry. Those that are kept can be read.
    public static let bytes = Reason(rawValue: "bytes")
  }

  /// The first and the last offset that the client has not got; with ``Reason/limit`` and ``Reason/bytes`` all that it
  /// missed, else those that cannot be had any more. Nil: nothing is known of offsets.
  public var missing: ClosedRange<UInt64>?
  /// That of the last of them, where they are missing for several.
  public var reason: Reason

  public init(_ missing: ClosedRange<UInt64>?, _ reason: Reason) {
    self.missing = missing
    self.reason = reason
  }

  /// Nothing is known of offsets.
  public init(_ reason: Reason) { self.init(nil, reason) }
}
