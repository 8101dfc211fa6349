/// What a moderator asks about suspended users, or does to one. Answered with JSON, as all of ``UserRequest``.
///
/// The states of a user, each of which the broker keeps on disk and every gateway knows:
///
///     free        suspend              → suspended, with an end or without
///     suspended   suspend              → suspended, with the new end and reason
///     suspended   lift, or its end     → free
///     suspended   the data is deleted  → free; suspended, where the deletion bans
public enum SuspensionRequest: Sendable, Equatable {
  /// - until: seconds since 1970; nil: until it is lifted.
  case suspend(user: String, until: Int64?, reason: String)
  case lift(user: String)
  /// All that are in force.
  case list

  /// Bytes of a reason.
  public static let longestReason = 1000
  /// Most suspensions of one answer.
  public static let mostListed = 1000

  /// Whether it suspends somebody, or lifts a suspension.
  var changes: Bool { if case .list = self { false } else { true } }

  var payloadBytes: Int {
    switch self {
    case .suspend(let user, _, let reason): user.utf8.count + reason.utf8.count
    case .lift(let user): user.utf8.count
    case .list: 0
    }
  }

  private enum Kind: UInt8 { case suspend = 1, lift, list }

  func write(to sink: inout some ByteSink) {
    switch self {
    case .suspend(let user, let until, let reason):
      sink.write(byte: Kind.suspend.rawValue)
      sink.write(user)
      sink.write(optionalTime: until)
      sink.write(reason)
    case .lift(let user):
      sink.write(byte: Kind.lift.rawValue)
      sink.write(user)
    case .list: sink.write(byte: Kind.list.rawValue)
    }
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    switch Kind(rawValue: try reader.readByte()) {
    case .suspend:
      self = .suspend(
        user: try reader.readString(), until: try reader.readOptionalTime(), reason: try reader.readString())
    case .lift: self = .lift(user: try reader.readString())
    case .list: self = .list
    case nil: throw MalformedMessage()
    }
  }
}
