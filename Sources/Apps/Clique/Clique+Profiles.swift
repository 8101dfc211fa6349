import Wire

/// People say who they are, and see of others what ``ProfileSight`` allows.
extension Clique {
  func setProfile(
    _ change: CliqueCommand.ProfileChange, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let draft = CliqueDraft(view)
    var profile = try draft.profile(of: call.user)
    let old = profile.content
    try apply(change, to: &profile.content)
    if profile.content == old { return AppDecision(reply: answer(profile)) }
    try draft.update(call.user) { person throws(ClientError) in
      guard let mark = CliqueRate(perDay: rules.profileChangesPerDay).next(after: person.profileMark, now: view.now)
      else {
        throw ClientError.limitExceeded.counted(as: .cliqueProfileChangesPerDay).saying(
          "you have changed your profile \(rules.profileChangesPerDay) times a day or nearly so many at once; go on later"
        )
      }
      person.profileMark = mark
    }
    profile.changed = view.now
    if profile.content.picture != old.picture {
      if let new = profile.content.picture { try adopt(new, of: call.user, draft) }
      if let former = old.picture { try release(former, of: profile, draft) }
    }
    draft.write(profile)
    try thaw(behind: call.user, draft)
    draft.refresh(try Channels.profile(call.user), key: Self.profileKey, .atomically)
    draft.touch(Subject.profile(of: call.user))
    return draft.decision(reply: answer(try draft.profile(of: call.user)))
  }

  private func apply(
    _ change: CliqueCommand.ProfileChange, to content: inout ProfileContent
  ) throws(ClientError) {
    if let name = change.name {
      try check(name, "name", most: Self.profileNameCharacters)
      content.name = name
    }
    for field in change.fields {
      guard rules.profileFields.containsBytes(of: field.name) else {
        let names = rules.profileFields.joined(separator: ", ")
        throw ClientError.badRequest.saying(
          names.isEmpty
            ? "profiles have no `fields` on this server" : "`fields` has those that the server names: \(names)")
      }
      try check(field.value, field.name, most: Self.profileFieldCharacters)
      content.fields[field.name] = field.value.isEmpty ? nil : field.value
    }
    switch change.picture {
    case nil: break
    case .removed: content.picture = nil
    case .set(let id, let small): content.picture = ProfilePicture(id: id, small: small)
    }
  }

  private func check(_ text: String, _ name: String, most: Int) throws(ClientError) {
    let count = text.unicodeScalars.count
    if count > most {
      throw ClientError.limitExceeded.counted(as: .cliqueProfileText).saying(
        "`\(name)` has \(count) characters; at most \(most) are allowed")
    }
  }

  private func answer(_ profile: Profile) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("user", profile.user)
      profile.content.write(rules.profileFields, &writer)
      if profile.changed > 0 { writer.write("changed", profile.changed) }
    }
    return writer.bytes
  }

  // MARK: Pictures

  /// Takes a picture that its owner has uploaded into the owner's profile.
  func adopt(_ picture: ProfilePicture, of user: String, _ draft: CliqueDraft) throws(ClientError) {
    try useForProfile(picture.id, small: picture.small.isEmpty ? nil : picture.small, by: user, draft)
  }

  /// Lets go of what no version of a profile shows any more: of two pictures, one may still be shown with another.
  func release(_ picture: ProfilePicture, of profile: Profile, _ draft: CliqueDraft) throws(ClientError) {
    let shown = profile.shownPictures
    try releaseFromProfile(picture.ids.filter { !shown.containsBytes(of: $0) }, draft)
  }

  // MARK: What is seen

  /// What a reader sees of somebody's profile; nil: nothing, or there is nothing to see.
  func profile(
    of user: String, seenBy reader: String, _ view: any AppView
  ) throws(ClientError) -> SeenProfile? {
    if user.isEmpty || reader.isEmpty { return nil }
    let live = try view.record(Profile.self, Key.profile(of: user))?.content ?? ProfileContent()
    if user.hasSameBytes(as: reader) { return live.isEmpty ? nil : SeenProfile(content: live) }
    let blank = Pair(user, reader)
    let stored = try view.record(Pair.self, Key.pair(blank.id))?.advanced(to: view.now)
    // A block holds where one of the two was forgotten and came back; nothing else does.
    let pair = stored?.restored(as: blank) ?? blank
    guard let side = pair.side(of: reader) else { return nil }
    var sight = pair.state.sight(of: side)
    if let stored, stored.a.isEmpty || stored.b.isEmpty, sight != .blocked { sight = .nothing }
    let version = pair.version(of: side.other, live: live)
    let named = sight == .asking ? pair[mark: side].named : nil
    if version.isEmpty && named == nil { return nil }
    // Groups and crossings are looked at only where they decide.
    let isDecided = sight != .nothing && sight != .asking
    let sharesGroup = isDecided ? false : try share(user, with: reader, view)
    let crossing = isDecided || sharesGroup ? nil : try crossing(reader, user, view)
    let seen: SeenProfile
    switch ProfileSight.of(isSelf: false, sight, sharesGroup: sharesGroup, hasCrossed: crossing != nil) {
    case .nothing: return nil
    case .name: seen = SeenProfile(content: ProfileContent(name: named ?? ""))
    case .all: seen = SeenProfile(content: version)
    // The name that the asker knows stays when the crossing passes, so nothing ends by itself.
    case .whileCrossed where named != nil: seen = SeenProfile(content: version)
    case .whileCrossed: seen = SeenProfile(content: version, expires: crossing?.passes(view.now) ?? .max)
    }
    return seen.content.isEmpty ? nil : seen
  }

  /// Whether a user is shown as a member of a group that the reader is in.
  private func share(_ user: String, with reader: String, _ view: any AppView) throws(ClientError) -> Bool {
    for id in try view.record(Person.self, Key.person(reader))?.groups ?? [] {
      guard let group = try view.record(Group.self, Key.group(id)), group.index(of: reader) != nil else { continue }
      if group.members.contains(where: { $0.user.hasSameBytes(as: user) }) { return true }
    }
    return false
  }

  /// The profiles of those of the people whom the caller may see. Nobody learns why somebody is not among them.
  func profiles(_ people: [String], _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    var found: [(String, ProfileContent)] = []
    for user in people {
      let seen = try view.unlessMissing { () throws(ClientError) in try profile(of: user, seenBy: call.user, view) }
      if let seen { found.append((user, seen.content)) }
    }
    return AppDecision(reply: list(found))
  }

  func list(_ people: [(user: String, content: ProfileContent)]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("people") { writer in
        for (user, content) in people { writer.object { self.write(content, of: user, &$0) } }
      }
    }
    return writer.bytes
  }

  func write(_ content: ProfileContent, of user: String, _ writer: inout JSONWriter) {
    writer.write("user", user)
    content.write(rules.profileFields, &writer)
  }

  // MARK: One's own

  /// The only key of the channel.
  static let profileKey = "profile"

  /// The owner's own profile, as all devices of the owner have it.
  func profileEntry(_ user: String, _ key: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard key == Self.profileKey, let profile = try view.record(Profile.self, Key.profile(of: user)),
      !profile.content.isEmpty
    else { return nil }
    return AppEntry(data: answer(profile), score: profile.changed)
  }
}

extension CliqueDraft {
  func profile(of user: String) throws(ClientError) -> Clique.Profile {
    try read(Clique.Profile.self, Clique.Key.profile(of: user)) ?? Clique.Profile(user: user)
  }

  /// Writes a profile, or erases it where nothing is left of it.
  func write(_ profile: Clique.Profile) {
    let key = Clique.Key.profile(of: profile.user)
    if profile.isBlank { erase(key) } else { write(key, profile) }
  }
}
