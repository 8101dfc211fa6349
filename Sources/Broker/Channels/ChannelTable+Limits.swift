import Log
import Wire

/// Limits that only the broker can check, because it alone sees all gateways: how much is published on one channel, how
/// many channels one user makes, and what the process holds in memory.
///
/// The limits are for clients. Services are trusted with what they publish, and the broker's own publications (ends of
/// entries, lists of apps) make room again. The limit of the process's memory holds for services, too.
extension ChannelTable {
  /// Memory that grows with what people do, roughly: publications and maps in memory, channels, idempotency keys.
  var memoryUse: Int {
    let kept = (accounts?.memoryBytes ?? 0) + mapBytes
    return kept + count * Self.channelBytes + keyShares.total * Self.keyBytes
  }

  /// Bytes of memory, roughly, for a channel's state with its places in tables.
  static let channelBytes = 1024
  /// Bytes of memory, roughly, for an idempotency key with its record, its place in the queue of ends, and in the
  /// store.
  static let keyBytes = 512

  /// Who makes a channel, and why.
  enum Maker {
    /// A client's publication, or a service's where there is no user.
    case publisher(ClientInfo?)
    /// A subscription; nil where the gateway names nobody.
    case subscriber(ClientInfo?)

    var info: ClientInfo? {
      switch self {
      case .publisher(let info), .subscriber(let info): info
      }
    }
  }

  /// The one rule of memory, for whoever makes a channel or adds to one: first the limit of the process, then the share
  /// of the channel's owner.
  ///
  /// - Parameters:
  ///   - owner: the channel's owner, where that is the requester; nil: only the limit of the process counts.
  ///   - info: the requester.
  /// - Throws: where the process or the owner keeps as much as is allowed.
  private func checkMemory(of owner: ChannelOwner?, _ info: ClientInfo?) throws(ClientError) {
    if memoryUse >= configuration.memoryBytes { throw tally.refused(Self.memoryIsFull, .memoryFull, info) }
    if let owner { try checkShare(of: owner, info) }
  }

  private func checkShare(of owner: ChannelOwner, _ info: ClientInfo?) throws(ClientError) {
    if owner.bytes >= configuration.userMemoryBytes { throw tally.refused(Self.shareIsUsed, .userMemory, info) }
  }

  /// Whether the broker's memory grows with what is published on a channel. Only such channels count for their owners.
  private static func isKeptInMemory(_ options: ChannelOptions) -> Bool {
    options.durability == .memory && (options.keepsHistory || options.kind == .map)
  }

  /// Called before a store is asked for a channel that is not in use. Channels of apps are not checked: the apps have
  /// limits of their own.
  ///
  /// - Throws: where there is no memory for one more channel.
  func checkMemory(for maker: Maker, _ options: ChannelOptions) throws(ClientError) {
    if options.app == nil { try checkMemory(of: nil, maker.info) }
  }

  /// Called before a channel is opened that was not in use. Channels that exist in the store already cost nothing.
  ///
  /// - Throws: where the maker opens new channels too fast or has too many.
  func checkMaking(
    _ opened: OpenedChannel, _ options: ChannelOptions, by maker: Maker, at time: BrokerTime
  ) throws(ClientError) {
    guard options.app == nil, !opened.exists, let user = Self.payer(maker.info) else { return }
    guard makers.take(for: IdentifierKey(user), at: time.monotonic) else {
      throw tally.refused(
        .tooManyRequests.saying("you open new channels faster than is allowed; open fewer, or more slowly"),
        .userChannelRate, maker.info)
    }
    guard case .publisher = maker, Self.isKeptInMemory(options), let owner = accounts?.owner(user) else { return }
    if owner.channels >= configuration.userChannels {
      throw tally.refused(
        .limitExceeded.saying(
          "you keep as many channels as are allowed; use those that you have, or wait until some end"),
        .userChannels, maker.info)
    }
    try checkShare(of: owner, maker.info)
  }

  /// Makes the user who publishes on a channel that did not exist its owner, if it is kept in memory.
  func noteMade(_ state: BrokerChannel, by maker: Maker) {
    guard case .publisher(let info) = maker, let user = Self.payer(info), Self.isKeptInMemory(state.options),
      state.sequencer.top.offset == 0
    else { return }
    accounts?.own(state.name, by: user)
    state.owner = accounts?.owner(of: state.name)
  }

  /// - Throws: where the channel, its owner or the process takes no more for now.
  func checkPublishing(
    _ request: BrokerRequest.PublishRequest, on state: BrokerChannel, for requester: Requester, at time: BrokerTime
  ) throws(ClientError) {
    if requester == .broker { return }
    if let info = request.info, !configuration.channelRate.isUnlimited,
      !state.rate.take(of: configuration.channelRate, at: time.monotonic)
    {
      throw tally.refused(
        .tooManyRequests.saying("this channel gets more publications than is allowed; publish more slowly"),
        .channelRate, info)
    }
    // A publication that frees memory, or takes none, is never refused for it.
    guard Self.isKeptInMemory(state.options), request.write?.removed != true else { return }
    // Only the channel's owner is refused for the owner's share: others may go on publishing there.
    let pays = state.owner.flatMap { owner in
      Self.payer(request.info).map { owner.user.hasSameBytes(as: $0) } == true ? owner : nil
    }
    try checkMemory(of: pays, request.info)
  }

  /// - Throws: where the presence of the channel has as many members as are allowed.
  func checkMember(_ member: ClientInfo, of state: BrokerChannel) throws(ClientError) {
    guard state.members.count >= configuration.maximumMembers, state.members[member.client] == nil else { return }
    throw tally.refused(
      .limitExceeded.saying("the channel has as many members as are allowed; try again when some have left"),
      .channelMembers, member)
  }

  /// The user for whom something is counted. People without a user id are counted by their connection, so that they do
  /// not all use up one share.
  private static func payer(_ info: ClientInfo?) -> String? {
    guard let info else { return nil }
    return info.user.isEmpty ? " " + info.client : info.user
  }

  /// - Throws: where the channel, the publisher or the broker holds as many keys as are allowed.
  func checkKeys(_ owner: String?, in state: BrokerChannel) throws(ClientError) {
    let limits = configuration.idempotencyKeys
    let isFull =
      state.idempotency.count >= limits.ofChannel || keyShares.total >= limits.inAll
      || keyShares.count(of: owner) >= limits.ofUser
    guard isFull else { return }
    tally.counters.keysRefused += 1
    tally.note(.idempotencyKeys, from: owner ?? "a service")
    throw .tooManyRequests.saying(
      "too many idempotency keys are held for the time that they are remembered; publish more slowly, or without a key")
  }

  /// Error 100: the client can do nothing about it but wait.
  private static let memoryIsFull = ClientError.internalError.saying(
    "the server keeps as much in memory as it may; try again later")
  private static let shareIsUsed = ClientError.tooManyRequests.saying(
    "your channels keep as much as is allowed; publish again when some of it has ended")
}

extension RefusalCause {
  static let memoryFull = RefusalCause(
    "broker_memory", "publications and new channels were refused: memory is used up to broker.memory_bytes")
  static let channelRate = RefusalCause(
    "channel_publications", "publications were refused: a channel got more than broker.channel.publications_per_second")
  static let channelMembers = RefusalCause(
    "channel_members", "subscriptions were refused: a channel has as many members as broker.channel.max_members")
  static let userChannelRate = RefusalCause(
    "user_channel_rate", "new channels were refused: a user opened more than broker.user.channels_per_second")
  static let userChannels = RefusalCause(
    "user_channels", "new channels were refused: a user keeps as many as broker.user.max_channels")
  static let userMemory = RefusalCause(
    "user_memory", "publications were refused: a user's channels take as much memory as broker.user.memory_bytes")
  static let mapEntries = RefusalCause(
    "map_entries", "new keys were refused: a map holds as many as its namespace's map_max_entries")
  static let searches = RefusalCause(
    "searches",
    "searches were refused: a user has as many waiting as broker.user.max_searches, or too many wait in all")
  static let idempotencyKeys = RefusalCause(
    "idempotency_keys", "publications with a key were refused: as many keys are held as are allowed")
}
