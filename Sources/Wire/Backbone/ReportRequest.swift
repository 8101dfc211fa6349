/// What a moderator asks about reports of people, or does with one. Answered with JSON, as all of ``UserRequest``.
public enum ReportRequest: Sendable, Equatable {
  case list(Query)
  /// One report with all that was kept with it, by its number.
  case look(UInt64)
  case settle(Settlement)
  case picture(Picture)

  /// A part of a picture that is kept with a report.
  public struct Picture: Sendable, Equatable {
    public var number: UInt64
    public var id: String
    /// The first byte that is wanted.
    public var start: Int

    public init(number: UInt64, id: String, start: Int = 0) {
      (self.number, self.id, self.start) = (number, id, start)
    }
  }

  public struct Query: Sendable, Equatable {
    public enum Filter: String, Sendable, CaseIterable { case open, settled, all }

    public var filter: Filter
    /// Reports of this user alone; nil: of everybody.
    public var user: String?
    /// The number from which on to list; 0: from the first.
    public var from: UInt64
    public var limit: Int

    /// Most reports of one answer.
    public static let most = 50

    public init(_ filter: Filter = .open, user: String? = nil, from: UInt64 = 0, limit: Int = most) {
      (self.filter, self.user, self.from, self.limit) = (filter, user, from, limit)
    }
  }

  public struct Settlement: Sendable, Equatable {
    /// What the moderator found.
    public enum Outcome: String, Sendable, CaseIterable { case dismissed, warned, suspended, other }

    public var number: UInt64
    public var outcome: Outcome
    /// For other moderators; "": nothing.
    public var note: String

    /// In bytes.
    public static let longestNote = 1000

    public init(number: UInt64, outcome: Outcome, note: String = "") {
      (self.number, self.outcome, self.note) = (number, outcome, note)
    }
  }

  var payloadBytes: Int {
    switch self {
    case .list(let query): query.user?.utf8.count ?? 0
    case .look: 0
    case .settle(let settlement): settlement.note.utf8.count
    case .picture(let picture): picture.id.utf8.count
    }
  }

  private enum Kind: UInt8 { case list = 1, look, settle, picture }

  func write(to sink: inout some ByteSink) {
    switch self {
    case .list(let query):
      sink.write(byte: Kind.list.rawValue)
      sink.write(query.filter.rawValue)
      sink.write(optionalText: query.user)
      sink.write(query.from)
      sink.write(UInt64(max(0, query.limit)))
    case .look(let number):
      sink.write(byte: Kind.look.rawValue)
      sink.write(number)
    case .settle(let settlement):
      sink.write(byte: Kind.settle.rawValue)
      sink.write(settlement.number)
      sink.write(settlement.outcome.rawValue)
      sink.write(settlement.note)
    case .picture(let picture):
      sink.write(byte: Kind.picture.rawValue)
      sink.write(picture.number)
      sink.write(picture.id)
      sink.write(UInt64(max(0, picture.start)))
    }
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    switch Kind(rawValue: try reader.readByte()) {
    case .list:
      guard let filter = Query.Filter(rawValue: try reader.readString()) else { throw MalformedMessage() }
      let (user, from) = (try reader.readOptionalString(), try reader.readNumber())
      self = .list(Query(filter, user: user, from: from, limit: Int(clamping: try reader.readNumber())))
    case .look: self = .look(try reader.readNumber())
    case .settle:
      let number = try reader.readNumber()
      guard let outcome = Settlement.Outcome(rawValue: try reader.readString()) else { throw MalformedMessage() }
      self = .settle(Settlement(number: number, outcome: outcome, note: try reader.readString()))
    case .picture:
      self = .picture(
        Picture(
          number: try reader.readNumber(), id: try reader.readString(), start: Int(clamping: try reader.readNumber())))
    case nil: throw MalformedMessage()
    }
  }
}
