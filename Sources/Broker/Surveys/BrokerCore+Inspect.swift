import Log
import Wire

/// Inspections: what the broker knows of a channel, a user or a client, beside what the gateways know.
///
/// All of it is read before the gateways are asked, so that an inspection that has to wait for a store is run again
/// like any other input.
extension BrokerCore {
  func inspect(_ request: InspectRequest, for requester: Requester, in turn: inout Turn) throws(ClientError) {
    var writer = JSONWriter()
    writer.open()
    switch request.subject {
    case .channel(let channel): try write(channel, &writer, in: &turn)
    case .user(let user): try write(user: user, &writer, in: &turn)
    case .client(let client): write(client: client, visible: request, &writer)
    case .access(let user, let action, let channel): try write(user, action, channel, &writer, in: &turn)
    }
    writer.close()
    try begin(.inspect(request), for: requester, own: writer.bytes, in: &turn)
  }

  /// The answer: what the broker knows, and what each gateway found.
  static func inspected(_ own: [UInt8], _ found: [UInt64: [UInt8]], unanswered: UInt32) -> [UInt8] {
    var writer = JSONWriter(capacity: found.values.reduce(own.count + 256) { $0 + $1.count + 64 })
    writer.object { writer in
      writer.write("broker", raw: own)
      writer.list("gateways") { writer in
        for (gateway, bytes) in found.sorted(by: { $0.key < $1.key }) {
          writer.object { writer in
            writer.write("uid", LinkIdentity.text(of: gateway))
            writer.write("found", raw: bytes)
          }
        }
      }
      if unanswered > 0 { writer.write("unanswered", unanswered) }
    }
    return writer.bytes
  }

  // MARK: A channel

  /// Most bytes of a history that are read to count it; of a longer one the count is right and the bytes are a part.
  private static let countedHistoryBytes = 1 << 20

  private func write(_ name: ChannelName, _ writer: inout JSONWriter, in turn: inout Turn) throws(ClientError) {
    let options = try options(of: name)
    let (state, top) = try existing(name, options, in: &turn)
    let history = try state.map { (state) throws(ClientError) in try countedHistory(of: state, in: &turn) } ?? nil
    writer.write("channel", name.string)
    writer.write("kind", options.kind.rawValue)
    writer.write("durability", options.durability.rawValue)
    writer.write("lane", options.lane.name)
    if let app = options.app { writer.write("app", app.description) }
    writer.write("exists", state != nil)
    writer.write("epoch", top.epoch)
    writer.write("offset", top.offset)
    writer.object("history") { writer in
      writer.write("size_limit", options.historySize)
      writer.write("ttl_ms", options.historyTTLMilliseconds)
      writer.write("publications", history?.publications ?? 0)
      writer.write("bytes", history?.bytes ?? 0)
      if history?.isPart == true { writer.write("bytes_are_part", true) }
    }
    if options.hasUserQuota {
      writer.object("user_quota") { writer in
        writer.write("bytes", options.userQuotaBytes)
        writer.write("entries", options.userQuotaEntries)
      }
    }
    if let state { write(state, at: turn.time, &writer) }
  }

  private func write(_ state: BrokerChannel, at time: BrokerTime, _ writer: inout JSONWriter) {
    writer.write("gateways", state.interest.count)
    writer.object("presence") { writer in
      writer.write("clients", state.members.count)
      writer.write("users", state.members.userCount)
    }
    writer.write("idempotency_keys", state.idempotency.count)
    writer.object("under_way") { writer in
      writer.write("publications", state.sequencer.underWay)
      writer.write("edits", state.editsUnderWay.count)
      if stores.isReading(state.name) { writer.write("reads_the_store", true) }
      if state.sequencer.isDraining { writer.write("draining", true) }
    }
    if let map = state.map {
      writer.object("map") { writer in
        writer.write("mode", state.options.mapMode.rawValue)
        writer.write("entries", map.count)
        writer.write("bytes", map.bytes)
        writer.write("max_entries", state.options.mapMaximumEntries)
      }
    }
    if let since = state.idleSince { writer.write("idle_ms", max(0, time.monotonic - since)) }
  }

  private func countedHistory(
    of state: BrokerChannel, in turn: inout Turn
  ) throws(ClientError) -> (publications: UInt64, bytes: Int, isPart: Bool)? {
    guard state.options.keepsHistory, state.sequencer.top.offset > 0 else { return nil }
    let top = state.sequencer.top.offset
    let range = LogRange(
      since: nil, through: top, limit: state.options.historySize, notBefore: oldest(in: state, at: turn.time),
      bytes: Self.countedHistoryBytes)
    let page = try read(range, of: state, in: &turn)
    guard let first = page.publications.first, let last = page.publications.last else { return (0, 0, false) }
    let bytes = page.publications.reduce(0) { $0 + $1.cost }
    return (max(page.through, last.offset) - first.offset + 1, bytes, last.offset < page.through)
  }

  // MARK: A user, a client

  /// Most namespaces with a quota that are looked into for one answer.
  private static let mostQuotas = 32

  private func write(user: String, _ writer: inout JSONWriter, in turn: inout Turn) throws(ClientError) {
    let quotas = try kept(by: user, in: &turn)
    writer.write("user", user)
    writer.write("idempotency_keys", channels.keyShares.count(of: user))
    write(revocationsOf: user, &writer)
    writer.list("quotas") { writer in
      for quota in quotas {
        writer.object { writer in
          writer.write("namespace", quota.namespace)
          writer.write("bytes", quota.kept.bytes)
          writer.write("entries", quota.kept.entries)
          writer.write("bytes_limit", quota.options.userQuotaBytes)
          writer.write("entries_limit", quota.options.userQuotaEntries)
        }
      }
    }
  }

  private func kept(
    by user: String, in turn: inout Turn
  ) throws(ClientError) -> [(namespace: String, kept: KeptAmount, options: ChannelOptions)] {
    var found: [(namespace: String, kept: KeptAmount, options: ChannelOptions)] = []
    for namespace in configuration.namespaces.namespacesWithQuota.sorted().prefix(Self.mostQuotas) {
      let table = configuration.namespaces
      guard let options = namespace.isEmpty ? table.withoutNamespace : table.namespaces[namespace], options.app == nil
      else { continue }
      let account = QuotaAccount(namespace: namespace, user: user)
      guard case .kept(let amount) = try stores.ask(.kept(account), of: stores.store(of: options), in: &turn) else {
        preconditionFailure("a store answers with an amount where it is asked for one")
      }
      found.append((namespace, amount, options))
    }
    return found
  }

  /// Most revocations that one answer lists.
  private static let mostRevocations = 100

  private func write(revocationsOf user: String, _ writer: inout JSONWriter) {
    if let suspension = revocations?.table.suspension(of: user) {
      writer.object("suspended") { Self.write(suspension, &$0) }
    }
    let (mine, byID) = revocations?.table.found(for: user) ?? ([], 0)
    writer.list("revocations") { writer in
      for revocation in mine.sorted(by: { $0.key < $1.key }).prefix(Self.mostRevocations) {
        guard case .user(_, let issuedBefore, let channel) = revocation.tokens else { continue }
        writer.object { writer in
          writer.write("issued_before", issuedBefore)
          if let channel { writer.write("channel", channel) }
          if revocation.expiresAt < .max { writer.write("expire_at", revocation.expiresAt) }
        }
      }
    }
    if mine.count > Self.mostRevocations { writer.write("more_revocations", mine.count - Self.mostRevocations) }
    // A revocation by id names no user: whoever asks sees only that there are some.
    writer.write("tokens_revoked_by_id", byID)
  }

  /// Most channels in use that are looked through for a client.
  private static let mostChannels = 10_000

  private func write(client: String, visible request: InspectRequest, _ writer: inout JSONWriter) {
    writer.write("client", client)
    let isWhole = channels.count <= Self.mostChannels
    writer.list("present_on") { writer in
      guard isWhole else { return }
      for state in channels.sorted(where: { $0.members[client] != nil && request.mayName($0.name) }) {
        writer.write(element: state.name.string)
      }
    }
    if !isWhole { writer.write("present_on_is_unknown", true) }
  }

  // MARK: Why somebody may or may not

  /// What the broker has a say in: the app, revocations, and limits. The options of the namespace are the gateways'.
  private func write(
    _ user: String, _ action: ChannelAction, _ channel: ChannelName, _ writer: inout JSONWriter, in turn: inout Turn
  ) throws(ClientError) {
    let options = try options(of: channel)
    var refusal: ClientError?
    if options.app != nil, !user.isEmpty {
      if action == .publish, let app = options.app {
        refusal = Self.refusal(of: channel, app)
      } else {
        do throws(ClientError) { _ = try admit(user, to: channel, options, in: &turn) } catch {
          if !turn.missing.isEmpty { throw error }
          refusal = error
        }
      }
    }
    let quota = try quota(of: user, action, channel, options, in: &turn)
    writer.write("user", user)
    writer.write("action", action.rawValue)
    writer.write("channel", channel.string)
    if let app = options.app {
      writer.object("app") { writer in
        writer.write("name", app.description)
        writer.write("allowed", refusal == nil)
        if let refusal {
          writer.write("code", refusal.code)
          writer.write("reason", refusal.message)
        }
      }
    }
    if let quota {
      writer.object("quota") { writer in
        writer.write("bytes", quota.bytes)
        writer.write("entries", quota.entries)
        writer.write("bytes_limit", options.userQuotaBytes)
        writer.write("entries_limit", options.userQuotaEntries)
      }
    }
    writer.object("publish_limits") { writer in
      writer.write("channel_per_second", configuration.channelRate.perSecond)
      writer.write("payload_bytes", configuration.maximumPayloadBytes)
    }
    if !user.isEmpty { write(revocationsOf: user, &writer) }
  }

  private func quota(
    of user: String, _ action: ChannelAction, _ channel: ChannelName, _ options: ChannelOptions, in turn: inout Turn
  ) throws(ClientError) -> KeptAmount? {
    guard action == .publish, options.hasUserQuota, options.app == nil else { return nil }
    guard let account = QuotaScope(of: channel).account(of: ClientInfo(user: user, client: "")) else { return nil }
    guard case .kept(let amount) = try stores.ask(.kept(account), of: stores.store(of: options), in: &turn) else {
      preconditionFailure("a store answers with an amount where it is asked for one")
    }
    return amount
  }

  // MARK: Top

  /// What all gateways found together. The broker adds how far each channel has come, so that two answers make a rate
  /// of publications.
  func topJSON(_ top: TopFindings, visible: [NamePattern]?, unanswered: UInt32) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("channels") { writer in
        for found in top.channels where visible?.match(found.channel) ?? true {
          writer.object { writer in
            writer.write("channel", found.channel.string)
            writer.write("subscribers", found.subscribers)
            writer.write("bytes_per_second", found.bytesPerSecond)
            if let state = channels[found.channel] { writer.write("offset", state.sequencer.top.offset) }
          }
        }
      }
      writer.list("slowest") { Self.write(top.slowest, &$0) }
      writer.list("busiest") { Self.write(top.busiest, &$0) }
      if unanswered > 0 { writer.write("unanswered", unanswered) }
    }
    return writer.bytes
  }

  private static func write(_ clients: [TopFindings.Client], _ writer: inout JSONWriter) {
    for client in clients {
      writer.object { writer in
        writer.write("client", client.client)
        writer.write("user", client.user)
        writer.write("address", client.address)
        writer.write("waiting_bytes", client.waitingBytes)
        writer.write("subscriptions", client.subscriptions)
      }
    }
  }
}
