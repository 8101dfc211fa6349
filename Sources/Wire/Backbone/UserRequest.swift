/// What a service asks about one user's data, or has done to it. Answered with JSON (``BrokerResponse/result(_:)``).
public enum UserRequest: Sendable, Equatable {
  /// What is kept of the user, counted by kind.
  case data(user: String)
  /// A page of it, with contents.
  ///
  /// - cursor: of the page before; empty: the first.
  case export(user: String, cursor: String)
  case delete(Deletion)
  case deletionStatus(user: String)
  /// What stands between two people in an app, without contents: for whoever helps people.
  case pair(app: String, user: String, other: String)
  /// Who is in groups of Clique, without contents: for whoever helps people.
  case groups(Groups)
  /// Lifts a block that a user has set in Clique, in place of the user.
  case unblock(user: String, other: String)

  /// Reports of people in Clique, for moderators.
  case reports(ReportRequest)
  case suspensions(SuspensionRequest)

  /// Which groups are meant.
  public enum Groups: Sendable, Equatable {
    /// Those that a user is in.
    case of(user: String)
    /// The one with the id of a conversation.
    case one(String)
  }

  /// A deletion of everything that is kept of a user.
  public struct Deletion: Sendable, Equatable {
    public var user: String
    /// Channels that are deleted as a whole too, because they are the user's by what they are called.
    public var channels: [ChannelName]
    /// The user's tokens stay revoked, which keeps the id on disk for as long.
    public var isBanned: Bool
    /// Seconds since 1970 until when; nil: as long as revocations last.
    public var bannedUntil: Int64?

    public init(user: String, channels: [ChannelName] = [], isBanned: Bool = false, bannedUntil: Int64? = nil) {
      self.user = user
      self.channels = channels
      self.isBanned = isBanned
      self.bannedUntil = bannedUntil
    }
  }

  /// Most channels that one deletion names.
  public static let mostChannels = 64
  /// Most bytes of a user id.
  public static let longestUser = 1024

  /// What a service is granted for the request: the methods that look, that hand out, and that destroy are told apart.
  public var grant: String {
    switch self {
    case .data, .deletionStatus: "user_data"
    case .export: "user_export"
    case .delete: "user_delete"
    case .pair, .groups: "user_pair"
    case .unblock: "user_unblock"
    case .reports, .suspensions: "user_moderate"
    }
  }

  /// Bytes of texts in memory.
  var payloadBytes: Int {
    switch self {
    case .data(let user), .deletionStatus(let user): user.utf8.count
    case .export(let user, let cursor): user.utf8.count + cursor.utf8.count
    case .delete(let deletion):
      deletion.channels.reduce(deletion.user.utf8.count) { $0 + 32 + $1.string.utf8.count }
    case .pair(let app, let user, let other): app.utf8.count + user.utf8.count + other.utf8.count
    case .groups(.of(let text)), .groups(.one(let text)): text.utf8.count
    case .unblock(let user, let other): user.utf8.count + other.utf8.count
    case .reports(let request): request.payloadBytes
    case .suspensions(let request): request.payloadBytes
    }
  }
}

// How the request stands in the body of a link message.

private enum UserRequestKind: UInt8 {
  case data = 1
  case export, delete, deletionStatus, pair, groupsOfUser, group, unblock, reports, suspensions
}

extension UserRequest {
  func write(to sink: inout some ByteSink) {
    switch self {
    case .data(let user):
      sink.write(byte: UserRequestKind.data.rawValue)
      sink.write(user)
    case .export(let user, let cursor):
      sink.write(byte: UserRequestKind.export.rawValue)
      sink.write(user)
      sink.write(cursor)
    case .delete(let deletion):
      sink.write(byte: UserRequestKind.delete.rawValue)
      sink.write(deletion.user)
      sink.write(UInt64(deletion.channels.count))
      for channel in deletion.channels { sink.write(channel) }
      sink.write(flag: deletion.isBanned)
      sink.write(optionalTime: deletion.bannedUntil)
    case .deletionStatus(let user):
      sink.write(byte: UserRequestKind.deletionStatus.rawValue)
      sink.write(user)
    case .pair(let app, let user, let other):
      sink.write(byte: UserRequestKind.pair.rawValue)
      for text in [app, user, other] { sink.write(text) }
    case .groups(.of(let user)):
      sink.write(byte: UserRequestKind.groupsOfUser.rawValue)
      sink.write(user)
    case .groups(.one(let id)):
      sink.write(byte: UserRequestKind.group.rawValue)
      sink.write(id)
    case .unblock(let user, let other):
      sink.write(byte: UserRequestKind.unblock.rawValue)
      for text in [user, other] { sink.write(text) }
    case .reports(let request):
      sink.write(byte: UserRequestKind.reports.rawValue)
      request.write(to: &sink)
    case .suspensions(let request):
      sink.write(byte: UserRequestKind.suspensions.rawValue)
      request.write(to: &sink)
    }
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    guard let kind = UserRequestKind(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    switch kind {
    case .data: self = .data(user: try reader.readString())
    case .export: self = .export(user: try reader.readString(), cursor: try reader.readString())
    case .delete:
      var deletion = Deletion(user: try reader.readString())
      for _ in 0..<(try reader.readCount()) { deletion.channels.append(try reader.readChannel()) }
      deletion.isBanned = try reader.readFlag()
      deletion.bannedUntil = try reader.readOptionalTime()
      self = .delete(deletion)
    case .deletionStatus: self = .deletionStatus(user: try reader.readString())
    case .pair:
      self = .pair(app: try reader.readString(), user: try reader.readString(), other: try reader.readString())
    case .groupsOfUser: self = .groups(.of(user: try reader.readString()))
    case .group: self = .groups(.one(try reader.readString()))
    case .unblock: self = .unblock(user: try reader.readString(), other: try reader.readString())
    case .reports: self = .reports(try ReportRequest(from: &reader))
    case .suspensions: self = .suspensions(try SuspensionRequest(from: &reader))
    }
  }
}
