import Wire

/// Links by which people join a group.
///
/// A link is made by an administrator, holds until its end, for so many people as it says, and only while its maker is an
/// administrator. Whoever has it may come, blocks or not: a block lies between the two in the group, as it does where
/// both were there before, so that a link that does not hold never tells anybody of one.
extension Clique {
  func makeLink(
    _ command: CliqueCommand.NewGroupLink, in group: inout Group, _ id: String, _ call: AppCall, _ draft: CliqueDraft
  ) throws(ClientError) -> AppDecision {
    let link = CliqueCommand.GroupLink(conversation: id, secret: command.secret)
    if let index = group.link(with: link), let known = group.links?[index] {
      // The same command, which a gateway repeats: it has drawn the secret once.
      return AppDecision(reply: Self.made(known, link))
    }
    let links = group.links ?? []
    if links.count >= Group.maximumLinks {
      throw ClientError.limitExceeded.counted(as: .cliqueGroupLinks).saying(
        "\(Group.maximumLinks) links of the group hold; revoke one with clique.group.revoke, or wait for its end")
    }
    let made = Group.Link(
      digest: Group.Link.digest(of: link), by: call.user, ends: draft.now + command.lifetime, uses: command.uses)
    group.links = links + [made]
    draft.write(Key.group(id), group)
    return draft.decision(reply: Self.made(made, link))
  }

  func joinGroup(
    _ link: CliqueCommand.GroupLink, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let id = link.conversation
    guard let stored = try view.record(Group.self, Key.group(id)) else { throw CliqueCommand.GroupLink.ended }
    var group = stored.settled(at: view.now)
    guard let index = group.link(with: link) else { throw CliqueCommand.GroupLink.ended }
    let step = group.place(of: call.user).after(.join)
    let draft = CliqueDraft(view)
    switch step.outcome {
    case .refused: throw CliqueCommand.GroupLink.ended
    case .unchanged: return AppDecision(reply: Self.conversation(id))
    case .came, .changed:
      if step.outcome == .changed { try checkRoom(in: group) }
      try draft.update(call.user) { person throws(ClientError) in try countJoining(&person, view.now) }
      try come(call.user, step.place, into: &group, id, draft)
    }
    // One who was absent is a member in the others' eyes: they see nobody join, and the link loses no use.
    if step.outcome == .changed {
      if let uses = group.links?[index].uses {
        if uses > 1 { group.links?[index].uses = uses - 1 } else { group.links?.remove(at: index) }
      }
      try tell("joined", call.user, by: call.user, call.caller, in: group, id, draft)
    }
    try commit(stored, group.settled(at: view.now), id: id, draft)
    return draft.decision(reply: Self.conversation(id))
  }

  private func countJoining(_ person: inout Person, _ now: Int64) throws(ClientError) {
    if person.groups.count >= rules.maximumGroups {
      throw ClientError.limitExceeded.counted(as: .cliqueGroups).saying(
        "you are in \(rules.maximumGroups) groups, as many as one can; leave one first")
    }
    // Each joining is told to all members, so one who joins and leaves must not go on for ever.
    guard let mark = CliqueRate(perDay: rules.groupsPerDay).next(after: person.foundingMark, now: now) else {
      throw ClientError.limitExceeded.counted(as: .cliqueGroupsPerDay).saying(
        "you have founded or joined \(rules.groupsPerDay) groups a day or nearly so many at once; go on later")
    }
    person.foundingMark = mark
  }

  private static func made(_ made: Group.Link, _ link: CliqueCommand.GroupLink) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("link", link.text)
      writer.write("id", made.id)
      writer.write("ends", made.ends)
    }
    return writer.bytes
  }

  /// The links, without their secrets, which nobody knows any more but those who have them.
  static func list(_ links: [Group.Link]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("links") { writer in
        for link in links {
          writer.object { writer in
            writer.write("id", link.id)
            writer.write("by", link.by)
            writer.write("ends", link.ends)
            if let uses = link.uses { writer.write("uses", uses) }
          }
        }
      }
    }
    return writer.bytes
  }
}
