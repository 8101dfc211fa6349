import Auth
import Wire

/// The one call of an app that may come with a token: a backend has signed in which place the caller is.
///
/// The token is checked here, as all others are, and the place that it names goes to the app beside the call; the app
/// compares it with the place that is entered, and refuses a call without one where the rules want one.
enum PlaceCall {
  static let method = "clique.enter"
  /// Bytes that a place token may have; a longer one is refused unread.
  static let longestToken = 4096

  static func isOne(_ method: String) -> Bool { method.utf8.elementsEqual(Self.method.utf8) }
}

extension Session {
  /// Without a token the call goes its way. While one is checked, the calls of the app that the client sends behind it
  /// wait: a `clique.leave` must not come before the `clique.enter` that it follows.
  mutating func enterPlace(_ id: UInt32, _ data: [UInt8]) {
    do throws(ClientError) {
      guard let token = try JSONArguments(data).string("token") else {
        return callApp(id, PlaceCall.method, data)
      }
      guard token.utf8.count <= PlaceCall.longestToken else {
        throw .badRequest.saying("`token` has more than \(PlaceCall.longestToken) bytes; that is no place token")
      }
      let tag = remember(.placeToken(id: id, data))
      isCheckingPlace = true
      out.append(.checkPlaceToken(tag: tag, token))
    } catch {
      fail(id, error)
    }
  }

  mutating func placeTokenChecked(_ tag: UInt64, _ result: Result<PlaceClaims, TokenError>) {
    guard case .placeToken(let id, let data) = pending.removeValue(forKey: tag) else { return }
    isCheckingPlace = false
    switch result {
    case .failure(.expired): fail(id, .placeTokenExpired)
    case .failure(.invalid):
      fail(id, .permissionDenied.saying("the place token is not valid; ask your backend for another one"))
    case .failure(.unavailable): fail(id, .internalError)
    case .success(let claims):
      guard claims.user.hasSameBytes(as: user) else {
        return fail(id, .permissionDenied.saying("the place token is for another user; ask for one of your own"))
      }
      guard claims.expiresAt > time.wall else { return fail(id, .placeTokenExpired) }
      callApp(id, PlaceCall.method, data, attestedPlace: claims.place)
    }
  }
}

extension ClientCommand {
  /// Whether it is for the app of places.
  var isForClique: Bool {
    if case .rpc(let method, _) = body { method.utf8.starts(with: "clique.".utf8) } else { false }
  }
}

extension ClientError {
  fileprivate static let placeTokenExpired = ClientError.tokenExpired.saying(
    "the place token has expired; ask your backend for a new one, and enter again")
}
