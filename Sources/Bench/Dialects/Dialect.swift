/// How one kind of server is spoken to: what a subscriber and a publisher say, and what comes back.
///
/// One value serves all connections of a worker and is stateless; what a connection needs to remember stands in its
/// ``DialectState``. The event loop is generic over the dialect, so that reading a delivery is inlined into the loop that
/// reads the socket.
protocol Dialect: Sendable {
  init(target: Target, scenario: Scenario) throws(BenchError)

  /// Whether the server answers each publication, see ``receive(_:_:_:into:)``.
  var answersPublications: Bool { get }

  /// What stands between the socket and the dialect's bytes, for a role.
  func framing(_ role: Role) -> Framing

  /// Where the path of the upgrade depends on the client (its channel): that path, instead of the framing's.
  func path(_ state: DialectState) -> String?

  /// What the connection says first, once it is open (and upgraded).
  func open(_ state: inout DialectState, into out: inout Outgoing)

  /// Reads what came: for ``Framing/webSocket(path:subprotocol:binary:)`` the payload of one whole message or, where
  /// the server's protocol is a byte stream over WebSocket, that of one frame; for ``Framing/raw`` what the socket gave,
  /// with what was left over before it.
  ///
  /// Calls ``Sink/deliver(_:)`` for each publication, ``Sink/confirm()`` for each confirmed subscription (of a publisher:
  /// once when it may publish), ``Sink/acknowledge(refused:)`` for each answer to a publish.
  ///
  /// - Returns: how many bytes are done with. The rest is handed in again with more behind it.
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int

  /// Appends one publication. `channel` is the full name; `content` as ``Marker`` describes it (without quotation
  /// marks: a dialect that needs JSON puts them around `content.dropLast(2)`).
  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing)
}

extension Dialect {
  var answersPublications: Bool { false }

  func path(_ state: DialectState) -> String? { nil }
}

enum Role: Sendable { case subscriber, publisher }

enum Framing: Sendable {
  /// - Parameter binary: opcode of what we send.
  case webSocket(path: String, subprotocol: String?, binary: Bool)
  case raw
}

/// What a dialect remembers of one connection.
struct DialectState: Sendable {
  var role: Role
  /// The client's number, from 0 on over all workers: for its user name, or its MQTT client id.
  var client: Int
  /// Channels to subscribe to.
  var channels: [String]
  /// Position in each channel, where the server has positions: epoch and offset. For resume runs.
  var epochs: [String] = []
  var offsets: [UInt64] = []
  /// Whether the client returns after a drop and asks for what it missed.
  var recovers = false
  /// Set in ``Dialect/open(_:into:)`` where the server confirms nothing: the connection counts as ready from then on.
  var isConfirmed = false
  /// The dialect's own: phase, next command id, bytes of a content still to come.
  var phase = 0
  var nextID: UInt32 = 1
  var remaining = 0
  /// Whether the server wants its pings answered.
  var answersPings = false
  /// Why the server refused a publication last.
  var refusal = ""
  /// Where the content stood in the last publication's message.
  var contentPlace = 0
}

/// Bytes to send. Each ``endMessage()`` closes a WebSocket message; on a raw connection it does nothing.
struct Outgoing {
  var bytes: [UInt8] = []
  private(set) var ends: [Int] = []
  mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
  mutating func append(_ raw: UnsafeRawBufferPointer) { unsafe bytes.append(contentsOf: raw) }
  mutating func endMessage() { ends.append(bytes.count) }
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }
  var isEmpty: Bool { bytes.isEmpty }
}

/// Why the bench cannot go on, as a sentence that says what to do.
public struct BenchError: Error, CustomStringConvertible, Sendable {
  public let description: String
  public init(_ description: String) { self.description = description }
}
