extension Clique {
  /// Groups. All but ``links(_:)`` are kept while there is no connection.
  public struct Group: Sendable {
    let clique: Clique

    /// Founds a group of people who each have an open conversation with oneself.
    ///
    /// - Parameter key: for seven days it founds one group.
    /// - Returns: the group's id, which is that of its conversation.
    public func create(
      members: [String], name: String? = nil, key: String = RealtimeClient.newKey()
    ) async throws(RealtimeError) -> String {
      let data = Arguments(members: members, name: name, key: key)
      let delivery = Delivery.kept(Lane.messages, .whileKnown(.seconds(7 * 24 * 3600)), key: key)
      return try await clique.call("group.create", data, as: InConversation.self, delivery).conversation
    }

    /// Leaves a group.
    public func leave(_ group: String) async throws(RealtimeError) { try await tell("leave", Arguments(group)) }

    /// Adds people who have an open conversation with oneself.
    public func add(_ members: [String], to group: String) async throws(RealtimeError) {
      try await tell("add", Arguments(group, members: members))
    }

    /// Removes a member.
    public func remove(_ person: String, from group: String) async throws(RealtimeError) {
      try await tell("remove", Arguments(group, person: person))
    }

    /// Names a group; "" for none.
    public func rename(_ group: String, to name: String) async throws(RealtimeError) {
      try await tell("rename", Arguments(group, name: name))
    }

    /// Makes a member an administrator.
    public func appoint(_ person: String, in group: String) async throws(RealtimeError) {
      try await tell("appoint", Arguments(group, person: person))
    }

    /// Makes an administrator a member like all others.
    public func dismiss(_ person: String, in group: String) async throws(RealtimeError) {
      try await tell("dismiss", Arguments(group, person: person))
    }

    /// Makes a link by which people join.
    ///
    /// - Parameters:
    ///   - lifetime: milliseconds, from a second to 30 days; nil: a week.
    ///   - uses: how many it lets in; nil: as many as the group takes.
    public func link(
      into group: String, lifetime: Int64? = nil, uses: Int? = nil
    ) async throws(RealtimeError) -> GroupLink {
      var data = Arguments(group)
      (data.lifetime, data.uses) = (lifetime, uses)
      return try await clique.call("group.link", data, as: GroupLink.self, .kept(Lane.messages, .never))
    }

    /// The links that hold.
    public func links(_ group: String) async throws(RealtimeError) -> [KnownLink] {
      try await clique.call("group.links", Arguments(group), as: Links.self).links
    }

    /// Ends a link; without `id` all of them.
    public func revoke(_ id: String? = nil, of group: String) async throws(RealtimeError) {
      var data = Arguments(group)
      data.id = id
      try await tell("revoke", data)
    }

    /// Joins by a link.
    ///
    /// - Returns: the group's id.
    public func join(_ link: String) async throws(RealtimeError) -> String {
      let delivery = Delivery.kept(Lane.messages, .never)
      return try await clique.call("group.join", ["link": link], as: InConversation.self, delivery).conversation
    }

    private func tell(_ method: String, _ data: Arguments) async throws(RealtimeError) {
      try await clique.tell("group.\(method)", data, .kept(Lane.messages, .never))
    }

    private struct Links: Decodable, Sendable { var links: [KnownLink] }

    private struct Arguments: Encodable, Sendable {
      var conversation: String?
      var members: [String]?
      var person: String?
      var name: String?
      var key: String?
      var lifetime: Int64?
      var uses: Int?
      var id: String?

      init(
        _ conversation: String? = nil, members: [String]? = nil, person: String? = nil, name: String? = nil,
        key: String? = nil
      ) {
        self.conversation = conversation
        self.members = members
        self.person = person
        self.name = name
        self.key = key
      }
    }
  }
}
