/// How channels are shared among the partitions of a log.
///
/// A partition is what one broker has at a time: a log of its own, with a lease of its own (decision 0069). A channel is
/// in the partition that its name says, by 256 slots, so that every gateway, broker and backend finds it without asking
/// anybody. Some are all in one partition, which is called home: channels of apps, whose records are decided over
/// together; those of namespaces with a quota for each user, which is counted over channels; and those whose
/// publications notify people, since their devices are known there. A channel that follows another, as receipts do, is
/// where that one is.
///
/// Home is also where everything is decided that belongs to no channel: apps' commands, unless the app is shared, orders
/// about connections, revocations, notifications.
public struct Partitioning: Sendable, Equatable {
  public static let slots = 256
  /// Most partitions that there may be.
  public static let most = 64
  public static let home = 0

  public let count: Int
  private let namespaces: NamespaceTable
  private let conversation: (@Sendable (String, String) -> String)?
  /// Whether State is shared among partitions (docs/decisions/0073-state-in-all-partitions.md).
  public let sharesState: Bool
  /// Whether Clique is shared among partitions (docs/decisions/0074-clique-in-all-partitions.md).
  public let sharesClique: Bool

  /// - Parameters:
  ///   - count: 1 to ``most``; 1: everything is in one.
  ///   - namespaces: the same on gateways and brokers.
  ///   - conversation: the id of two people's conversation of Clique, whichever of them is named first. Needed where
  ///     Clique is shared (``sharesClique``) and requests are placed that name a person.
  public init(
    count: Int, namespaces: NamespaceTable, conversation: (@Sendable (String, String) -> String)? = nil
  ) {
    precondition((1...Self.most).contains(count), "a log has 1 to \(Self.most) partitions")
    self.count = count
    self.namespaces = namespaces
    self.conversation = conversation
    sharesState = count > 1 && namespaces.namespaces["state.threads"]?.isShared == true
    sharesClique = count > 1 && namespaces.namespaces["clique.chat"]?.isShared == true
  }

  /// How ids of conversations are worked out is the same everywhere, and not compared.
  public static func == (a: Partitioning, b: Partitioning) -> Bool {
    a.count == b.count && a.namespaces == b.namespaces
  }

  /// Everything in one partition.
  public static let whole = Partitioning(count: 1, namespaces: NamespaceTable())

  /// The partition that has a channel, from 0.
  public func partition(of channel: ChannelName) -> Int {
    if count == 1 { return Self.home }
    let options = namespaces.options(for: channel)
    if options?.followsChannel == true, let subject = try? ChannelName(channel.rest) {
      return partition(ofSubject: subject)
    }
    return partition(of: channel, options)
  }

  /// What is followed follows nothing itself, so that a name of many colons is not gone through again and again.
  private func partition(ofSubject subject: ChannelName) -> Int {
    let options = namespaces.options(for: subject)
    return partition(of: subject, options?.followsChannel == true ? nil : options)
  }

  private func partition(of channel: ChannelName, _ options: ChannelOptions?) -> Int {
    if let options, Self.isPinned(options) { return Self.home }
    switch options?.sharing {
    case .user: return place(ofUser: channel.rest)
    case .conversation: return place(ofConversation: channel.rest)
    case .home, nil: break
    }
    if options == nil, Self.isInternal(channel) { return Self.home }
    return Self.slot(of: channel.string) * count / Self.slots
  }

  /// Whether channels of such a namespace are all at home.
  public static func isPinned(_ options: ChannelOptions) -> Bool {
    options.app != nil && !options.isShared || options.hasUserQuota || options.push
  }

  /// The partition in which there is all of a shared app that is one person's: lists, events, pictures that were not sent.
  public func place(ofUser user: String) -> Int { Self.slot(of: user) * count / Self.slots }

  /// The partition in which there is all of a shared app that two people decide about, whoever of them asks.
  public func place(ofPair a: String, _ b: String) -> Int {
    let isOrdered = a.utf8.lexicographicallyPrecedes(b.utf8)
    let (low, high) = isOrdered ? (a, b) : (b, a)
    return Self.slot(of: "\(low.utf8.count):\(low):\(high)") * count / Self.slots
  }

  /// The partition in which a conversation of Clique is decided about. Groups are at home.
  ///
  /// - Parameter id: of a conversation, whatever its form: clients name channels as they like.
  public func place(ofConversation id: String) -> Int {
    CliqueCommand.isGroup(id) ? Self.home : Self.slot(of: id) * count / Self.slots
  }

  /// The id of two people's conversation of Clique.
  func conversation(of a: String, and b: String) -> String {
    guard let conversation else {
      preconditionFailure("where Clique is shared among partitions, its conversations' ids can be worked out")
    }
    return conversation(a, b)
  }

  /// Whether it is a channel of the server's own: records of apps, revocations and their like. Nobody asks for one by its
  /// name, and what there is of each partition is its broker's.
  private static func isInternal(_ channel: ChannelName) -> Bool {
    channel.string.hasPrefix("fanfare.") || AppChannels.contains(channel.string)
  }

  /// The namespaces whose channels are all at home; the empty name: channels without a namespace.
  public var pinnedNamespaces: Set<String> { names { Self.isPinned($0) && !$0.followsChannel } }

  /// The namespaces whose channels are where the channels are that they follow.
  public var followingNamespaces: Set<String> { names { $0.followsChannel } }

  /// The namespaces of apps whose channels are in several partitions.
  public var sharedNamespaces: Set<String> { names(\.isShared) }

  private func names(_ isMeant: (ChannelOptions) -> Bool) -> Set<String> {
    Set(namespaces.namespaces.filter { isMeant($0.value) }.keys)
      .union(isMeant(namespaces.withoutNamespace) ? [""] : [])
  }

  /// The slot of a name, from 0 to 255. It must never change, since logs hold channels by what it gave.
  public static func slot(of name: String) -> Int { bucket(of: name) * slots / buckets }

  /// Finer than slots: an epoch's generation is counted by it.
  public static let buckets = 4096

  /// FNV-1a of the name's bytes, folded. It must never change either.
  public static func bucket(of name: String) -> Int {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name.utf8 {
      hash ^= UInt64(byte)
      hash &*= 0x0000_0100_0000_01b3
    }
    return Int((hash ^ hash >> 32) % UInt64(buckets))
  }
}
