/// What a request on the port for backends and operators is answered with.
public struct AdminAnswer: Sendable, Equatable {
  /// The status of HTTP.
  public var status: Int
  public var contentType: String
  public var body: [UInt8]

  public static let json = "application/json"
  static let text = "text/plain; charset=utf-8"

  /// - Parameter status: 200 where nothing went wrong.
  public init(status: Int = 200, _ contentType: String, _ body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A sentence for a person.
  static func sentence(_ status: Int, _ text: String) -> AdminAnswer {
    AdminAnswer(status: status, Self.text, Array((text + "\n").utf8))
  }
}
