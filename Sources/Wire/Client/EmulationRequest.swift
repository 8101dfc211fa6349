/// Commands of a client whose way in is a request of its own: it hears the server by server-sent events or HTTP
/// streaming, which go one way.
public struct EmulationRequest: Sendable, Equatable {
  /// The session whose commands these are, as its connect result named it.
  public var session: String
  /// The gateway that has the session, as the same result named it.
  public var node: String
  /// What would have been one message of a WebSocket: commands in the session's format.
  public var commands: [UInt8]

  public init(session: String, node: String, commands: [UInt8]) {
    self.session = session
    self.node = node
    self.commands = commands
  }

  /// The longest `session` and `node` that are read on; both are far shorter here.
  private static let maximumNameBytes = 128

  /// Reads the body of a request.
  ///
  /// - Parameter format: JSON is `{"session":…,"node":…,"data":"…"}` with the commands as a string; Protobuf is a message
  ///   with session = 1, node = 2 and data = 3.
  /// - Throws: what is wrong with it, for the answer 400.
  public init(_ body: [UInt8], format: WireFormat) throws(MalformedInput) {
    switch format {
    case .json: try self.init(json: body)
    case .protobuf: try self.init(protobuf: body)
    }
    guard session.utf8.count <= Self.maximumNameBytes, node.utf8.count <= Self.maximumNameBytes else {
      throw MalformedInput("\"session\" and \"node\" must be those of the connect result")
    }
  }

  private init(json body: [UInt8]) throws(MalformedInput) {
    guard let fields = try JSONValue(parsing: body).object(limit: 16) else {
      throw MalformedInput("the body must be an object with \"session\", \"node\" and \"data\"")
    }
    guard let session = fields["session"]?.string else {
      throw MalformedInput("\"session\" must be the string that the connect result has")
    }
    guard let data = fields["data"]?.string else {
      throw MalformedInput("\"data\" must be a string that holds the commands")
    }
    var node = ""
    if let value = fields["node"] {
      guard let text = value.string else {
        throw MalformedInput("\"node\" must be the string that the connect result has")
      }
      node = text
    }
    self.init(session: session, node: node, commands: Array(data.utf8))
  }

  private init(protobuf body: [UInt8]) throws(MalformedInput) {
    self.init(session: "", node: "", commands: [])
    var index = 0
    while index < body.count {
      guard let tag = Self.number(in: body, at: &index) else { throw Self.notProtobuf }
      guard tag & 7 == 2 else {
        try Self.skip(wireType: tag & 7, in: body, at: &index)
        continue
      }
      guard let length = Self.number(in: body, at: &index), length <= UInt64(body.count - index) else {
        throw Self.notProtobuf
      }
      let field = body[index..<index + Int(length)]
      index += Int(length)
      switch tag >> 3 {
      case 1: session = try Self.text(field)
      case 2: node = try Self.text(field)
      case 3: commands = Array(field)
      default: break
      }
    }
  }

  private static let notProtobuf = MalformedInput("the body is not an EmulationRequest in Protobuf")

  private static func number(in body: [UInt8], at index: inout Int) -> UInt64? {
    Varint.read {
      guard index < body.count else { return nil }
      defer { index += 1 }
      return body[index]
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) throws(MalformedInput) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw notProtobuf }
    return text
  }

  /// Passes over a field that is no string of bytes: none of ours.
  private static func skip(wireType: UInt64, in body: [UInt8], at index: inout Int) throws(MalformedInput) {
    switch wireType {
    case 0: if number(in: body, at: &index) == nil { throw notProtobuf }
    case 1 where body.count - index >= 8: index += 8
    case 5 where body.count - index >= 4: index += 4
    default: throw notProtobuf
    }
  }
}
