public import Wire

/// Two people exchange pictures that neither sees before both have sent (docs/STATE.md).
public struct StateApp: App {
  public let rules: StateRules
  let vault: any KeyVault
  /// Nil: all of State is in one partition.
  let places: AppPlaces?

  public init(rules: StateRules, vault: any KeyVault, places: AppPlaces? = nil) {
    self.rules = rules
    self.vault = vault
    self.places = places
  }

  public var name: String { "state" }

  public var namespaces: [String: ChannelOptions] { Self.namespaces(isShared: places != nil) }

  public static var namespaces: [String: ChannelOptions] { namespaces(isShared: false) }

  /// - Parameter isShared: State is shared among partitions.
  public static func namespaces(isShared: Bool = false) -> [String: ChannelOptions] {
    // The list keeps no changes: an entry has the key of what is written in a reveal, wrapped, and is to be erased with
    // it. So whoever missed a change reads the list as a whole: with unsubscribe 2500 or error 112 nothing is lost.
    var threads = ChannelOptions()
    threads.kind = .map
    threads.mapMode = .persistent
    threads.mapOrder = .descending
    threads.mapMaximumEntries = 10_000
    threads.durability = .durable
    threads.app = "state"
    threads.sharing = isShared ? .user : .home
    var events = ChannelOptions()
    events.durability = .durable
    events.historySize = 100
    events.historyTTLMilliseconds = 24 * 3_600_000
    events.forceRecovery = true
    events.forcePositioning = true
    events.allowHistoryForSubscriber = true
    events.app = "state"
    events.sharing = isShared ? .user : .home
    return [StateChannels.threadsNamespace: threads, StateChannels.eventsNamespace: events]
  }

  public func call(_ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard case .state(let command) = call.command, command.isGateways == (call.source == .gateway) else {
      throw .methodNotFound
    }
    // A gateway names the user of a token, which has not been checked to be a user id of this app.
    if command.isGateways { try UserIdentifier.check(call.user, most: StateCommand.maximumUserBytes) }
    try checkPlace(of: call, command)
    return switch command {
    case .begin(let user): try begin(with: user, call, view)
    case .send(let send): try self.send(send, call, view)
    case .seen(let user): try see(user, call, view)
    case .delivered(let user): try delivered(user, call, view)
    case .settings(let limit): try settings(limit, call, view)
    case .block(let user): try block(user, call, view)
    case .unblock(let user): try unblock(user, call, view)
    case .react(let reaction): try react(reaction, call, view)
    case .cancel(let cancel): try self.cancel(cancel, call, view)
    case .discard(let ids): try discard(ids, call, view)
    case .discardUpload(let id): try discard([id], call, view)
    case .addPicture(let picture): try addPicture(picture, call, view)
    case .uploadKey(let id, let upload): try uploadKey(id, upload, call, view)
    case .pictureKey(let id): try pictureKey(id, call, view)
    case .gonePictures(let ids): try gonePictures(ids, view)
    case .lend(let lending): try lend(lending, call, view)
    case .giveBack(let lending): try giveBack(lending, call, view)
    }
  }

  public func due(_ key: String, _ view: any AppView) throws(ClientError) -> AppDecision {
    if key.utf8.starts(with: StateKeys.picture.utf8) { return try pictureDue(key, view) }
    if key.utf8.starts(with: StateKeys.person.utf8) { return try personDue(key, view) }
    if key.utf8.starts(with: StateKeys.view.utf8) { return try viewDue(key, view) }
    guard let thread = try view.record(StateThread.self, key) else { return AppDecision() }
    // A thread that is due only has to let time pass.
    return AppDecision(try change(from: thread, to: advanced(thread, view.now), looksAtBoth: true, view))
  }

  public func admit(
    _ user: String, to channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppAdmission {
    guard let owner = StateChannels.owner(of: channel) else { throw .unknownChannel }
    guard !user.isEmpty, owner.user.hasSameBytes(as: user) else {
      throw .permissionDenied.saying("this channel belongs to another user")
    }
    return AppAdmission()
  }

  public func entry(
    _ key: String, of channel: ChannelName, _ view: any AppView
  ) throws(ClientError) -> AppEntry? {
    guard let owner = StateChannels.owner(of: channel), owner.namespace == StateChannels.threadsNamespace else {
      return nil
    }
    let people = try StatePair(String(owner.user), key)
    if elsewhere(of: people) != nil { return try viewed(by: String(owner.user), with: key, view) }
    guard let me = people.side(of: String(owner.user)), let thread = try view.record(StateThread.self, people.key)
    else { return nil }
    return try entry(of: advanced(thread, view.now), for: me)
  }

  public func shown(_ kept: [UInt8], of channel: ChannelName) -> [UInt8] {
    guard let entry = listEntry(kept, of: channel), let shown = try? AppJSON.encode(opened(entry)) else {
      return kept
    }
    return shown
  }

  public func withheld(_ shown: [UInt8], of channel: ChannelName, at latest: Int64) -> [UInt8] {
    guard var entry = listEntry(shown, of: channel), entry.until ?? .max <= latest else { return shown }
    entry.removeTexts()
    return (try? AppJSON.encode(entry)) ?? shown
  }

  /// The list entry, if it is revealed; nil for all others, which are nearly all, and for other channels.
  private func listEntry(_ data: [UInt8], of channel: ChannelName) -> StateListEntry? {
    guard StateChannels.owner(of: channel)?.namespace == StateChannels.threadsNamespace,
      let entry = try? AppJSON.decode(StateListEntry.self, data), entry.phase == .revealed
    else { return nil }
    return entry
  }

  func advanced(_ thread: StateThread, _ now: Int64) -> StateThread {
    var thread = thread
    thread.advance(to: now, rules)
    return thread
  }
}
