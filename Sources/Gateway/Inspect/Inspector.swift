import Wire

/// Puts together what a gateway answers to an inspection, and says why somebody may do something or not.
///
/// The decision is ``ChannelAccess``'s, as for a session: there is no second opinion here, only its words.
struct Inspector: Sendable {
  let rules: SessionRules
  /// Where a setting was given, by its key (`channel.namespaces.chat.allow_publish_for_client`): a file and line, or
  /// `default`.
  var settingOrigin: @Sendable (_ key: String) -> String = { _ in "" }

  /// The gateway's answer: an object, no longer than ``InspectRequest/answerBytes``.
  func findings(_ found: LoopInspection, of request: InspectRequest, _ known: GatewayCounts) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("name", known.name)
      switch request.subject {
      case .channel: (found.channel ?? ChannelReport()).write(to: &writer)
      case .user, .client: write(found, &writer)
      case .access(let user, let action, let channel): explain(user, action, channel, found.verdicts, &writer)
      }
    }
    return writer.bytes
  }

  private func write(_ found: LoopInspection, _ writer: inout JSONWriter) {
    var leftOut = found.leftOut
    writer.list("clients") { writer in
      // Event loops tell of them in any order.
      for client in found.clients.sorted(by: { ($0.since, $0.client) < ($1.since, $1.client) }) {
        var one = JSONWriter()
        one.object { client.write(to: &$0) }
        // A kilobyte is left for what stands around the list.
        if writer.bytes.count + one.bytes.count + 1024 > InspectRequest.answerBytes {
          leftOut += 1
        } else {
          writer.object { client.write(to: &$0) }
        }
      }
    }
    if leftOut > 0 { writer.write("left_out", leftOut) }
  }

  // MARK: Why

  private func explain(
    _ user: String, _ action: ChannelAction, _ name: ChannelName, _ tallies: [AccessTally], _ writer: inout JSONWriter
  ) {
    if user.isEmpty && !rules.configuration.allowAnonymous {
      writer.write("cannot_connect", "nobody connects without a token: client.allow_anonymous_connect_without_token")
    }
    let channel: ChannelName
    let options: ChannelOptions
    switch rules.parse(name.string) {
    case .success(let (parsed, found)): (channel, options) = (parsed, found)
    case .failure(let error):
      writer.write("allowed", false)
      return write(error, &writer)
    }
    func access(isSubscribed: Bool) -> ChannelAccess {
      rules.access(to: channel, options, user: user) { isSubscribed && $0 == channel }
    }
    let bare = access(isSubscribed: false).verdict(on: action)
    if let unavailable = rules.unavailable(action, options) {
      writer.write("allowed", false)
      return write(unavailable, &writer)
    }
    write(bare, of: channel, &writer)
    guard options.app == nil else { return }
    let subscribed = access(isSubscribed: true).verdict(on: action)
    if action != .subscribe, subscribed != bare {
      writer.object("once_subscribed") { write(subscribed, of: channel, &$0) }
    }
    if let token = token(action, user, channel, bare, subscribed) { writer.write("token", token) }
    write(tallies, of: channel, &writer)
  }

  private func write(_ tallies: [AccessTally], of channel: ChannelName, _ writer: inout JSONWriter) {
    writer.list("connections") { writer in
      for tally in tallies {
        writer.object { writer in
          writer.write("count", tally.connections)
          writer.write("subscribed", tally.isSubscribed)
          write(tally.verdict, of: channel, &writer)
        }
      }
    }
  }

  private func write(_ verdict: AccessVerdict, of channel: ChannelName, _ writer: inout JSONWriter) {
    writer.write("allowed", verdict.isAllowed)
    if !verdict.isAllowed { writer.write("code", ClientError.permissionDenied.code) }
    writer.write("reason", verdict.reason.sentence(isAllowed: verdict.isAllowed))
    guard let option = verdict.reason.option else { return }
    let section = channel.namespace.map { "namespaces.\($0)" } ?? "without_namespace"
    let key = "channel.\(section).\(option)"
    writer.write("setting", key)
    let origin = settingOrigin(key)
    if !origin.isEmpty { writer.write("set_at", origin) }
  }

  private func write(_ error: ClientError, _ writer: inout JSONWriter) {
    writer.write("code", error.code)
    writer.write("reason", error.message)
  }

  /// What a token would have to grant where the namespace alone does not allow it; nil: no token helps, or none is
  /// needed.
  private func token(
    _ action: ChannelAction, _ user: String, _ channel: ChannelName, _ bare: AccessVerdict, _ subscribed: AccessVerdict
  ) -> String? {
    if bare.isAllowed { return nil }
    let grant =
      "a subscription token with sub \(excerpt(of: user)) and channel \(excerpt(of: channel.string)), or a connection "
      + "token that names the channel in its subs or channels"
    if action == .subscribe { return "opens it: \(grant)" }
    return subscribed.isAllowed ? "opens it to a subscriber: \(grant)" : nil
  }
}

extension SessionRules {
  /// Why nobody can do something on a channel, whoever they are; nil: it depends on who they are.
  func unavailable(_ action: ChannelAction, _ options: ChannelOptions) -> ClientError? {
    switch action {
    case .history where !options.keepsHistory:
      .notAvailable.saying("history is off for this channel's namespace")
    case .presence where !options.presence:
      .notAvailable.saying("presence is off for this channel's namespace")
    case .subscribe, .publish, .history, .presence: nil
    }
  }
}
