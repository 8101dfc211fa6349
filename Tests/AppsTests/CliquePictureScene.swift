import Testing
import Wire

@testable import Apps

extension CliqueScene {
  static let picture = "picture-0123456789abcd"
  static let key = [UInt8](repeating: 7, count: 32)

  /// An id of a picture.
  static func picture(_ number: Int) -> String { "picture-0123456789-\(1000 + number)" }

  /// What a gateway says, or asks, in somebody's name.
  @discardableResult
  func gateway(_ user: String, _ command: PictureCommand) throws -> String {
    let decision = try app.call(
      AppCall(
        .clique(.picture(command)), caller: ClientInfo(user: user, client: ""), source: .gateway, key: .text("g")),
      self)
    try apply(decision.effects)
    guard case .reply(let bytes) = decision.answer else { throw ClientError.internalError }
    try #require(JSONSyntax.isValid(bytes))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The code with which a gateway is refused; 0: it is not.
  func refusal(_ user: String, _ command: PictureCommand) throws -> UInt32 {
    do { try gateway(user, command) } catch let error as ClientError { return error.code }
    return 0
  }

  func upload(_ user: String, _ id: String = picture, bytes: Int64 = 1000, side: Int = 640) throws {
    try gateway(
      user,
      .add(.init(id: id, type: "image/jpeg", bytes: bytes, width: side, height: side, key: Self.key, upload: [1])))
  }

  /// Sends a picture that was uploaded; the text of the message is empty.
  @discardableResult
  func send(_ user: String, _ id: String, picture: String = picture, _ more: String = "") throws -> String {
    try said(
      user, "send", #"{"conversation":"\#(id)","picture":{"id":"\#(picture)","hash":"LEHV6n"}\#(more)}"#)
  }

  /// Who of these may fetch a picture now.
  func viewers(_ users: [String], _ id: String = picture) throws -> [String] {
    try users.filter { try refusal($0, .key(id: id)) == 0 }
  }

  func stored(_ id: String = picture) throws -> Clique.Picture? {
    try record(Clique.Picture.self, Clique.Key.picture(id))
  }

  func pictures(of user: String) throws -> Clique.Pictures? {
    try record(Clique.Pictures.self, Clique.Key.pictures(of: user))
  }
}
