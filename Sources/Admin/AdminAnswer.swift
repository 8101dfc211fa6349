import HTTPTypes
import Wire

/// What a request on the port for backends and operators is answered with.
public struct AdminAnswer: Sendable, Equatable {
  /// The status of HTTP.
  public var status: Int
  public var contentType: String
  public var body: [UInt8]
  /// More of the head.
  var fields = HTTPFields()

  public static let json = "application/json"
  static let text = "text/plain; charset=utf-8"

  /// - Parameter status: 200 where nothing went wrong.
  public init(status: Int = 200, _ contentType: String, _ body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A sentence for a person, as a page reads it.
  static func message(_ status: Int, _ text: String) -> AdminAnswer {
    AdminAnswer(status: status, Self.json, Array("{\"message\":\(JSONText.quoted(text))}".utf8))
  }

  /// A sentence for a person.
  static func sentence(_ status: Int, _ text: String) -> AdminAnswer {
    AdminAnswer(status: status, Self.text, Array((text + "\n").utf8))
  }
}

/// What the port sends: an answer that is whole, or the head of one whose body goes on.
enum AdminReply: Sendable {
  case answer(AdminAnswer)
  /// The body ends with the stream. Letting go of it ends what makes it.
  case stream(AdminAnswer, AsyncStream<[UInt8]>)
}
