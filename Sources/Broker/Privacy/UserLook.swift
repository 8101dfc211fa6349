import Apps
import DequeModule
import Log
import Wire

/// A look at what is kept of one user, for whoever asks what that is or wants a copy.
///
/// States:
/// - settling: the log writes what it has taken. Can transition to: looking.
/// - looking: the disk's pages, then those of the memory store; each row is held against the user, which may wait for
///   the store. Can transition to: listing, reading (an export has come to a picture).
/// - reading: a part of a picture is read on a thread that may wait for the disk. Can transition to: over.
/// - listing: entries of the user's own lists, which show what the user sees. Can transition to: walking, over (an
///   export).
/// - walking: the channels on which the user is present are counted. Can transition to: over, when it answers.
///
/// A turn does one step: a page of a store, ``rowsPerTurn`` of its rows, a page of a list, or a part of the walk. Looks
/// take turns with one another (``UserLooks``). An export is over after each page, and goes on from its cursor with the
/// next request.
final class UserLook {
  enum Kind: Equatable { case counts, export }

  /// How much is kept of one kind.
  struct Amount: Equatable {
    var count = 0
    var bytes = 0
  }

  let kind: Kind
  let user: String
  let sought: SoughtUsers
  let requester: Requester
  var position: Cursor
  var isSettled = false
  /// Rows of the page that are still to be looked at, the next one last.
  var rows: [TracedRow] = []
  /// What was found, by what it is called in the answer.
  var amounts: [String: Amount] = [:]
  /// Rows of an export that go into its answer.
  var exported: [TracedRow] = []
  var exportedBytes = 0
  /// The page of an export is full, or was read to its end.
  var isPageRead = false
  /// What stands as the cursor in the answer of a user's own look; nil: ``position`` does.
  var page: String?
  /// The picture of which the page of an export gives a part; nil: it gives none.
  var picture: PictureCopy?
  /// How far the channels are looked through for the user's presence; nil: not begun.
  var walk: ChannelWalk?
  /// Channels on which the user is present. A set, because a walk may look at one twice.
  var present: Set<ChannelName> = []

  /// Rows that one turn looks at.
  static let rowsPerTurn = 64

  /// How far a look has come.
  enum Cursor: Equatable {
    case disk(TracePosition)
    case memory(TracePosition)
    /// A picture, from a byte of it on; its record stands at the position, and the look goes on behind that.
    case picture(TracePosition, from: Int)
    /// The user's own lists, from a list and a key of it on.
    case lists(Int, after: String)
    case over

    /// As it stands in an answer.
    var text: String {
      switch self {
      case .disk(let at): "d.\(Self.text(at))"
      case .memory(let at): "m.\(Self.text(at))"
      case .picture(let at, let start): "p.\(start).\(Self.text(at))"
      case .lists(let index, let key): "l.\(index).\(key)"
      case .over: ""
      }
    }

    /// Reads what ``text`` wrote; nil where it did not.
    init?(_ text: String) {
      if text.isEmpty {
        self = .disk(.start)
        return
      }
      let kind = text.prefix { $0 != "." }
      let count = kind == "l" ? 3 : kind == "p" ? 6 : 5
      let parts = text.split(separator: ".", maxSplits: count - 1, omittingEmptySubsequences: false)
      guard parts.count == count else { return nil }
      switch kind {
      case "l":
        guard let index = Int(parts[1]), index >= 0 else { return nil }
        self = .lists(index, after: String(parts[2]))
      case "d", "m":
        guard let position = Self.position(parts[1...]) else { return nil }
        self = kind == "d" ? .disk(position) : .memory(position)
      case "p":
        guard let start = Int(parts[1]), start >= 0, start % PicturePart.longest == 0,
          let position = Self.position(parts[2...])
        else { return nil }
        self = .picture(position, from: start)
      default: return nil
      }
    }

    private static func text(_ at: TracePosition) -> String {
      "\(at.table.rawValue).\(at.channel).\(at.offset).\(at.key)"
    }

    /// - Parameter parts: four of them.
    private static func position(_ parts: ArraySlice<Substring>) -> TracePosition? {
      let parts = Array(parts)
      guard let table = UInt8(parts[0]).flatMap({ TracePosition.Table(rawValue: $0) }), let channel = Int64(parts[1]),
        let offset = UInt64(parts[2]), offset <= UInt64(Int64.max)
      else { return nil }
      return TracePosition(table: table, channel: channel, offset: offset, key: String(parts[3]))
    }
  }

  init(_ kind: Kind, of user: String, from cursor: Cursor, for requester: Requester) {
    self.kind = kind
    self.user = user
    sought = SoughtUsers([user])
    self.requester = requester
    position = cursor
  }

  func count(_ row: TracedRow, as name: String) { count(row.publication.cost, as: name) }

  func count(_ bytes: Int, as name: String) {
    amounts[name, default: Amount()].count += 1
    amounts[name, default: Amount()].bytes += bytes
  }

  func export(_ row: TracedRow) {
    exported.append(row)
    exportedBytes += row.publication.cost
  }
}

/// The looks under way.
struct UserLooks {
  /// How many there are.
  private(set) var count = 0
  /// Those that go on when their turn comes; the others wait for a store or a picture.
  private var ready: Deque<UserLook> = []

  /// Looks that are under way at a time; one more is refused.
  static let most = 8

  mutating func begin() { count += 1 }

  mutating func end() { count -= 1 }

  mutating func add(_ look: UserLook) { ready.append(look) }

  mutating func next() -> UserLook? { ready.popFirst() }

  /// When the next one goes on, in monotonic milliseconds: at once, when everybody else had a turn; `.max`: none does.
  var nextDeadline: Int64 { ready.isEmpty ? .max : 0 }
}
