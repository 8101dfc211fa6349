import Wire

/// Calls by which people look at what is kept of them, export it and have it deleted. Whether they may is the broker's to
/// say; here it is only made sure that nobody asks for another.
enum AccountCall: String {
  case data = "fanfare.account.data"
  case export = "fanfare.account.export"
  case delete = "fanfare.account.delete"
}

extension Session {
  mutating func ask(_ call: AccountCall, _ id: UInt32, _ data: [UInt8]) {
    do throws(ClientError) {
      let request = try request(call, JSONArguments(data))
      let tag = ask(.user(request), then: .call(id: id, call == .delete ? .farewell : .result))
      // The answer may be long, as that of a read.
      if call == .export { reads.insert(tag) }
    } catch {
      fail(id, error)
    }
  }

  private func request(_ call: AccountCall, _ fields: JSONArguments) throws(ClientError) -> UserRequest {
    guard !user.isEmpty else {
      throw .permissionDenied.saying("nobody is signed in on this connection; connect with a token of the person")
    }
    switch call {
    case .data: return .data(user: user)
    case .export:
      let cursor = try fields.string("cursor") ?? ""
      guard cursor.utf8.count <= Self.longestAccountCursor else {
        throw .badRequest.saying("this is no cursor of an export; send the one of the answer before, or none")
      }
      return .export(user: user, cursor: cursor)
    case .delete:
      // So that no call deletes somebody by mistake.
      guard let named = try fields.string("user"), named.hasSameBytes(as: user) else {
        throw .badRequest.saying("this deletes everything that is kept of you; name yourself as `user` to say so")
      }
      return .delete(.init(user: user))
    }
  }

  /// In bytes: a cursor is a number.
  private static var longestAccountCursor: Int { 20 }
}
