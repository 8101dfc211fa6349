/// The form of a user id. Ids in apps' commands are checked for it before anything is looked up, because ids that
/// somebody makes up must be neither searched for nor remembered.
public enum UserIdentifier {
  /// - Parameter most: bytes of UTF-8, so that the names of the user's channels stay below their limit.
  /// - Throws: error 107 with a sentence.
  public static func check(_ user: String, most: Int) throws(ClientError) {
    let bytes = user.utf8
    if bytes.isEmpty { throw ClientError.badRequest.saying("the user id is empty; name a person") }
    if bytes.count > most {
      throw ClientError.badRequest.saying("a user id has at most \(most) bytes; this one has more")
    }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw ClientError.badRequest.saying("the user id holds a control character; name a person without one")
    }
  }
}
