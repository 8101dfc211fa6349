import Wire

/// The methods about one user's data, by the names that services give them.
enum UserMethod: String {
  case data = "user_data"
  case export = "user_export"
  case delete = "user_delete"
  case status = "user_delete_status"
  case cliquePair = "clique_pair"
  case stateThread = "state_thread"

  static func read(_ method: String, _ fields: JSONArguments) throws(ClientError) -> UserRequest {
    guard let method = UserMethod(rawValue: method) else { throw .methodNotFound }
    let user = try user(fields, "user", of: method)
    switch method {
    case .data: return .data(user: user)
    case .export: return .export(user: user, cursor: try fields.string("cursor") ?? "")
    case .status: return .deletionStatus(user: user)
    case .cliquePair: return .pair(app: "clique", user: user, other: try self.user(fields, "other", of: method))
    case .stateThread: return .pair(app: "state", user: user, other: try self.user(fields, "other", of: method))
    case .delete:
      var deletion = UserRequest.Deletion(user: user)
      let names = try fields.strings("channels") ?? []
      guard names.count <= UserRequest.mostChannels else {
        throw .badRequest.saying("one deletion names at most \(UserRequest.mostChannels) channels")
      }
      for name in names { deletion.channels.append(try channel(name)) }
      deletion.isBanned = try fields.flag("ban") ?? false
      deletion.bannedUntil = try fields.number("expire_at")
      if deletion.bannedUntil != nil, !deletion.isBanned {
        throw .badRequest.saying("expire_at is the end of a ban; say \"ban\": true, or leave it out")
      }
      return .delete(deletion)
    }
  }

  private static func user(
    _ fields: JSONArguments, _ name: String, of method: UserMethod
  ) throws(ClientError) -> String {
    guard let user = try fields.string(name), !user.isEmpty, user.utf8.count <= UserRequest.longestUser else {
      throw .badRequest.saying("\(method.rawValue) needs \(name): a user id of 1 to \(UserRequest.longestUser) bytes")
    }
    return user
  }

  private static func channel(_ text: String) throws(ClientError) -> ChannelName {
    let name: ChannelName
    do { name = try ChannelName(text) } catch { throw .badRequest.saying("\(error)") }
    if AppChannels.contains(name.string) {
      throw .badRequest.saying("\(name) belongs to an app, which deletes what is the user's by itself; leave it out")
    }
    return name
  }
}
