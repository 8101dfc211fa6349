import Log
import Wire

/// A look at what is kept of one user, for whoever asks what that is or wants a copy.
///
/// States:
/// - settling: the log writes what it has taken. Can transition to: looking.
/// - looking: the disk's pages, then those of the memory store; each row is held against the user, which may wait for
///   the store. Can transition to: listing.
/// - listing: entries of the user's own lists, which show what the user sees. Can transition to: over, when it answers.
///
/// An export is over after each page, and goes on from its cursor with the next request.
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

  /// Looks that are under way at a time; one more is refused.
  static let most = 8
  /// Rows that one turn looks at.
  static let rowsPerTurn = 64

  /// How far a look has come.
  enum Cursor: Equatable {
    case disk(TracePosition)
    case memory(TracePosition)
    /// The user's own lists, from a list and a key of it on.
    case lists(Int, after: String)
    case over

    /// As it stands in an answer.
    var text: String {
      switch self {
      case .disk(let at): "d.\(at.table.rawValue).\(at.channel).\(at.offset).\(at.key)"
      case .memory(let at): "m.\(at.table.rawValue).\(at.channel).\(at.offset).\(at.key)"
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
      let parts = text.split(separator: ".", maxSplits: text.hasPrefix("l.") ? 2 : 4, omittingEmptySubsequences: false)
      if parts[0] == "l", parts.count == 3, let index = Int(parts[1]), index >= 0 {
        self = .lists(index, after: String(parts[2]))
        return
      }
      guard parts.count == 5, let table = UInt8(parts[1]).flatMap({ TracePosition.Table(rawValue: $0) }),
        let channel = Int64(parts[2]), let offset = UInt64(parts[3]), offset <= UInt64(Int64.max)
      else { return nil }
      let position = TracePosition(table: table, channel: channel, offset: offset, key: String(parts[4]))
      switch parts[0] {
      case "d": self = .disk(position)
      case "m": self = .memory(position)
      default: return nil
      }
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
