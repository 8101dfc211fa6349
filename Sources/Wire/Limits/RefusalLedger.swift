/// Why somebody was refused, held back or sent away: each cause is a constant in the code, never a peer's text.
public struct RefusalCause: Sendable, Hashable {
  /// The name in metrics: `address_connections`.
  public var name: String
  /// The sentence in the log: what happened, and which setting rules it.
  public var sentence: String

  public init(_ name: String, _ sentence: String) {
    self.name = name
    self.sentence = sentence
  }
}

/// Sums up refusals per cause, so that a flood of them makes a line a minute and not a flood of lines.
///
/// The first refusal of a cause is told at once. Later ones are counted, and told when the ledger is drained, once a
/// minute; a cause that had nothing to tell for a whole minute begins anew.
///
/// Each line names the source that was refused most, out of a fixed number of candidates: with more sources than that
/// each newcomer costs every candidate one, so a source of more than one in nine of all refusals is among them (Misra
/// and Gries). That is what an operator wants to know of an attack, and it costs no memory that the attacker chooses.
public struct RefusalLedger: Sendable {
  /// A line that is to be logged, at `info`.
  public struct Line: Sendable, Equatable {
    public var cause: RefusalCause
    /// Refusals since the last line of the same cause.
    public var count: Int
    /// The address or the user that was refused most; "" where nobody stands out.
    public var source: String
    /// How many of the refusals were certainly this source's.
    public var sourceCount: Int

    public init(cause: RefusalCause, count: Int, source: String, sourceCount: Int) {
      self.cause = cause
      self.count = count
      self.source = source
      self.sourceCount = sourceCount
    }
  }

  private struct Entry {
    var count = 0
    var candidates: [(source: String, count: Int)] = []

    var top: (source: String, count: Int) { candidates.max { $0.count < $1.count } ?? ("", 0) }

    mutating func add(_ source: String) {
      count += 1
      if let place = candidates.firstIndex(where: { $0.source.hasSameBytes(as: source) }) {
        candidates[place].count += 1
      } else if candidates.count < RefusalLedger.mostCandidates {
        candidates.append((source, 1))
      } else {
        for place in candidates.indices { candidates[place].count -= 1 }
        candidates.removeAll { $0.count == 0 }
      }
    }
  }

  private static let mostCandidates = 8
  /// In bytes.
  private static let longestSource = 64

  private var entries: [RefusalCause: Entry] = [:]

  public init() {}

  /// Counts a refusal.
  ///
  /// - Parameter source: an address or a user; cut where it is long.
  /// - Returns: a line to log now, where this is the first after a quiet minute.
  @discardableResult
  public mutating func note(_ cause: RefusalCause, from source: String) -> Line? {
    let source = source.beginning(bytes: Self.longestSource)
    guard entries[cause] != nil else {
      entries[cause] = Entry()
      return Line(cause: cause, count: 1, source: source, sourceCount: 1)
    }
    entries[cause]?.add(source)
    return nil
  }

  /// The lines for refusals since the last call, in the order of the causes' names. To be called once a minute.
  public mutating func drain() -> [Line] {
    var lines: [Line] = []
    for (cause, entry) in entries {
      guard entry.count > 0 else {
        entries[cause] = nil
        continue
      }
      let top = entry.top
      lines.append(Line(cause: cause, count: entry.count, source: top.source, sourceCount: top.count))
      entries[cause] = Entry()
    }
    return lines.sorted { $0.cause.name < $1.cause.name }
  }
}
