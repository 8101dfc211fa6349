public import Wire

/// The errors that only this app has.
public enum StateError {
  public static let sealed = ClientError(
    code: 430, message: "yours is sealed until they answer; wait for that, or until it expires")
  public static let unseen = ClientError(
    code: 431, message: "the last exchange has not been looked at by both; wait until it has, or until it ends")
  public static let blocking = ClientError(code: 432, message: "you block this person; unblock them first")
  public static let notBegun = ClientError(
    code: 433, message: "nothing is being recorded; call state.begin before state.send")
  public static let tooLate = ClientError(
    code: 434, message: "this came after the time to record; nothing was sent, begin again")
  public static let unknownPicture = StatePictureID.unknown
  public static let notRevealed = ClientError(
    code: 436, message: "there is no picture here that you can see; it may be sealed, or gone")
  public static let takenPicture = ClientError(
    code: 437, message: "this picture id is in use; upload under another one")

  public static let nothingRevealed = ClientError(
    code: 438, message: "nothing is revealed between you and this person; react while it is")

  static func refused(_ refusal: StateRefusal) -> ClientError {
    switch refusal {
    case .sealed: sealed
    case .unseen: unseen
    case .blocking: blocking
    case .notRevealed: nothingRevealed
    }
  }

  static func vault(_ error: KeyVaultError) -> ClientError {
    switch error {
    case .destroyed: notRevealed
    case .damaged, .unavailable: .internalError
    }
  }
}
