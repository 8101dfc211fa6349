public import Wire

/// What becomes of devices and notifications when a user's data is deleted (docs/PRIVACY.md).
extension Notifications {
  /// A user's devices and settings, without what reaches the devices: deleted with the user, and exported.
  public func channels(of user: String) -> [ChannelName] { [try? Self.channel(of: user)].compactMap(\.self) }

  public func forget(
    _ users: SoughtUsers, in key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    if let user = PushKeys.user(of: key, PushKeys.devices) { return try forgetDevices(users, user, key, view) }
    if let user = PushKeys.user(of: key, PushKeys.notices) { return try forgetNotices(users, user, key, view) }
    guard PushKeys.user(of: key, PushKeys.owner) != nil, let owner = try view.record(PushOwner.self, key),
      users.contains(owner.user)
    else { return nil }
    return AppDecision([.erase(key: key)])
  }

  private func forgetDevices(
    _ users: SoughtUsers, _ user: String, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard users.contains(user), let person = try view.record(PushPerson.self, key) else { return nil }
    // What reaches devices is secret, so that nothing of it is to be left in the file.
    return AppDecision([.erase(key: key)] + person.devices.map { .erase(key: PushKeys.owner + $0.id) } + [.scrub])
  }

  /// Other people's records may name a user by a channel or in what a backend wants to have shown.
  private func forgetNotices(
    _ users: SoughtUsers, _ user: String, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard var notices = try view.record(PushNotices.self, key) else { return nil }
    if users.contains(user) { return AppDecision([.erase(key: key)]) }
    let before = notices
    notices.subjects.removeAll { subject in
      Self.names(users, subject.name) || subject.content.map { Self.names(users, $0) } ?? false
    }
    notices.lines.removeAll { Self.names(users, $0.subject) }
    notices.acknowledged.removeAll { Self.names(users, $0.subject) }
    if let underWay = notices.underWay, Self.names(users, underWay.subject) { notices.underWay = nil }
    if notices == before { return nil }
    notices.settle(at: view.now, rules)
    return AppDecision([notices.isBlank ? .erase(key: key) : .write(key: key, notices)])
  }

  private static func names(_ users: SoughtUsers, _ content: PushNotices.Content) -> Bool {
    ([content.title, content.body] + content.data.values).contains { users.contains($0) }
  }

  /// Whether the name of a subject has a user among its parts: `inbox:#ann,bob`, `state.threads:ann`, `talk:ann/bob`.
  private static func names(_ users: SoughtUsers, _ subject: String) -> Bool {
    if let channel = try? ChannelName(subject), users.own(channel) { return true }
    let rest = subject.drop { $0 != ":" }.dropFirst()
    let parts = rest.split { $0 == "," || $0 == "#" || $0 == "/" || $0 == ":" }
    return users.contains(subject) || users.contains(rest) || parts.contains { users.contains($0) }
  }
}
