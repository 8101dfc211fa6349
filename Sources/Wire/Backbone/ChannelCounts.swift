/// How many clients are on channels: on all that were asked for, or on the first of them by name.
///
/// Whoever counts keeps to the first by name, and this is why the sums are right though nobody sends all that it has: a
/// channel that is among the first of all gateways together is among the first of each gateway that has it.
public struct ChannelCounts: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    public var channel: ChannelName
    /// Clients with a subscription to the channel.
    public var clients: UInt64

    public init(_ channel: ChannelName, clients: UInt64) {
      self.channel = channel
      self.clients = clients
    }
  }

  /// Sorted by channel, each of which stands there once.
  public private(set) var entries: [Entry]
  /// There are more channels: all of them come behind the last of the entries.
  public private(set) var hasMore: Bool

  /// - Parameters:
  ///   - entries: in any order, no channel twice.
  ///   - hasMore: there are more channels, all of them behind these; then there is at least one entry.
  public init(_ entries: [Entry] = [], hasMore: Bool = false) {
    precondition(!hasMore || !entries.isEmpty, "what has more has something: a survey asks for one channel at least")
    self.entries = entries.sorted { $0.channel < $1.channel }
    self.hasMore = hasMore
  }

  /// Entries as a peer sent them.
  init(received entries: [Entry], hasMore: Bool) throws(MalformedMessage) {
    let isSorted = zip(entries, entries.dropFirst()).allSatisfy { $0.channel < $1.channel }
    guard isSorted, !hasMore || !entries.isEmpty else { throw MalformedMessage() }
    self.entries = entries
    self.hasMore = hasMore
  }

  /// Adds what is elsewhere. Where one side has more than it names, its channels behind its last are not known, and so
  /// nothing behind that is kept.
  public mutating func add(_ other: ChannelCounts) {
    let horizon = [self, other].compactMap { $0.hasMore ? $0.entries.last?.channel : nil }.min()
    var sum: [Entry] = []
    sum.reserveCapacity(max(entries.count, other.entries.count))
    var (mine, theirs) = (entries[...], other.entries[...])
    while let next = Self.takeFirst(&mine, &theirs) {
      if let horizon, horizon < next.channel { break }
      sum.append(next)
    }
    entries = sum
    hasMore = horizon != nil
  }

  /// The first of two sorted lists, or the sum where it stands in both.
  private static func takeFirst(_ a: inout ArraySlice<Entry>, _ b: inout ArraySlice<Entry>) -> Entry? {
    guard let first = a.first else { return b.popFirst() }
    guard let second = b.first else { return a.popFirst() }
    if first.channel < second.channel { return a.popFirst() }
    if second.channel < first.channel { return b.popFirst() }
    (a, b) = (a.dropFirst(), b.dropFirst())
    let (clients, overflow) = first.clients.addingReportingOverflow(second.clients)
    return Entry(first.channel, clients: overflow ? .max : clients)
  }

  /// Keeps the first that fit into an answer, and one at least.
  public mutating func cut(to limit: ChannelLimit) {
    var bytes = 0
    let fitting = entries.prefix(Int(max(1, limit.channels))).prefix { entry in
      bytes += entry.cost
      return bytes <= Int(limit.bytes)
    }
    let kept = max(fitting.count, min(1, entries.count))
    guard kept < entries.count else { return }
    entries.removeLast(entries.count - kept)
    hasMore = true
  }

  /// The same without the channels that somebody may not hear of.
  public func filtered(_ isAllowed: (ChannelName) -> Bool) -> ChannelCounts {
    var rest = self
    rest.entries.removeAll { !isAllowed($0.channel) }
    return rest
  }

  /// What the counts take in memory, roughly and in bytes.
  public var cost: Int { entries.reduce(64) { $0 + $1.cost } }
}

extension ChannelCounts.Entry {
  fileprivate var cost: Int { 48 + channel.string.utf8.count }
}

/// How many channels an answer may name.
public struct ChannelLimit: Sendable, Equatable {
  /// At least one is named, where there is one.
  public var channels: UInt32
  /// Bytes in memory that the counts may take (``ChannelCounts/cost``).
  public var bytes: UInt32

  public init(channels: UInt32, bytes: UInt32) {
    self.channels = channels
    self.bytes = bytes
  }
}
