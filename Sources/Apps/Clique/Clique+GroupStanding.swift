public import Wire

extension Clique {
  /// The groups that a user is in, or one group, without its name and a word of what was written: for whoever is asked who
  /// is in it and who does not hear whom.
  public func groups(_ query: UserRequest.Groups, _ view: any AppView) throws(ClientError) -> [UInt8] {
    let ids: [String]
    switch query {
    case .of(let user):
      try UserIdentifier.check(user, most: CliqueCommand.maximumUserBytes)
      ids = try view.record(Person.self, Key.person(user))?.groups ?? []
    case .one(let id): ids = [id]
    }
    var groups: [(id: String, group: Group)] = []
    for id in ids {
      if let group = try view.record(Group.self, Key.group(id)) { groups.append((id, group.settled(at: view.now))) }
    }
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("groups") { writer in
        for (id, group) in groups { writer.object { Self.write(group, id: id, to: &$0) } }
      }
    }
    return writer.bytes
  }

  private static func write(_ group: Group, id: String, to writer: inout JSONWriter) {
    writer.write("conversation", id)
    // Whose data was deleted has no name any more.
    if !group.founder.isEmpty { writer.write("founder", group.founder) }
    writer.write("created", group.createdAt)
    writer.list("members") { writer in
      for member in group.members where !member.absent { writer.write(element: member.user) }
    }
    writer.list("absent") { writer in
      for member in group.members where member.absent { writer.write(element: member.user) }
    }
    writer.list("admins") { writer in
      for member in group.members where member.isAdministrator { writer.write(element: member.user) }
    }
    // How many links let somebody in. Whoever helps needs neither their names nor who made them.
    writer.write("links", group.links?.count ?? 0)
    writer.list("blocks") { writer in
      for block in group.blocks {
        writer.object { writer in
          writer.write("by", block.by)
          writer.write("of", block.of)
        }
      }
    }
  }
}
