import Wire

@testable import Gateway

/// What one connection was really sent, read from the bytes that went to its socket.
struct WhyTruth {
  /// A subscription as the client was told of it.
  struct Subscription {
    var position: StreamPosition
    var wasRecovering: Bool
    var recovered: Bool
    /// Publications that were given to the connection, by their data.
    var issued: Set<[UInt8]> = []
    /// Those of them that the kernel took whole.
    var written: Set<[UInt8]> = []
    /// Offsets of the issued ones, where they have any.
    var offsets: Set<UInt64> = []
    var isOver = false
  }

  let socket: WhyLedger.Socket
  /// The id that the gateway gave the connection; empty: it was never told.
  private(set) var id = ""
  private(set) var subscriptions: [String: [Subscription]] = [:]
  /// Channels of which the server said that publications were lost.
  private(set) var lost: Set<String> = []
  /// Channels that the client left by itself.
  private(set) var left: Set<String> = []
  private(set) var closed: UInt16?
  /// Codes of the errors that commands were answered with.
  private(set) var errors: Set<UInt32> = []

  init(_ socket: WhyLedger.Socket) {
    self.socket = socket
    let bytes = socket.socket.stream
    var place = 0
    while place + 2 <= bytes.count {
      let length = bytes[place...].withUnsafeBytes { ServerFrame.length(of: $0) }
      guard place + length <= bytes.count else { break }
      var frame = Array(bytes[place..<place + length])
      place += length
      let isWritten = place <= socket.socket.writtenBytes
      for message in SimulatedWire.takeFrames(from: &frame, format: socket.socket.format) {
        switch message {
        case .replies(let replies): for reply in replies { take(reply, isWritten: isWritten) }
        case .close(let code): closed = code
        case .malformed: break
        }
      }
    }
  }

  private mutating func take(_ reply: ClientReply, isWritten: Bool) {
    switch reply {
    case .connect(_, let result):
      id = result.client
      for (channel, sub) in result.subs { begin(channel, sub, isWritten) }
    // A client asks for one channel by itself; to the others it is subscribed when it connects.
    case .subscribe(_, let result): begin(socket.own, result, isWritten)
    case .unsubscribe:
      left.insert(socket.own)
      end(socket.own)
    case .error(_, let error): errors.insert(error.code)
    case .push(.unsubscribe(let channel, _)):
      lost.insert(channel)
      end(channel)
    case .push(.publication(let channel, let publication, _)):
      guard let last = subscriptions[channel]?.indices.last else { return }
      add(publication, to: channel, last, isWritten)
    default: break
    }
  }

  private mutating func begin(_ channel: String, _ result: ClientReply.SubscribeResult, _ isWritten: Bool) {
    let position = StreamPosition(epoch: result.epoch, offset: result.offset)
    subscriptions[channel, default: []].append(
      Subscription(position: position, wasRecovering: result.wasRecovering, recovered: result.recovered))
    let last = (subscriptions[channel]?.count ?? 1) - 1
    for publication in result.publications { add(publication, to: channel, last, isWritten) }
  }

  private mutating func add(_ publication: Publication, to channel: String, _ last: Int, _ isWritten: Bool) {
    subscriptions[channel]?[last].issued.insert(publication.data)
    if isWritten { subscriptions[channel]?[last].written.insert(publication.data) }
    if publication.offset > 0 { subscriptions[channel]?[last].offsets.insert(publication.offset) }
  }

  private mutating func end(_ channel: String) {
    guard let last = subscriptions[channel]?.indices.last else { return }
    subscriptions[channel]?[last].isOver = true
  }

  func wasWritten(_ data: [UInt8], on channel: String) -> Bool {
    subscriptions[channel]?.contains { $0.written.contains(data) } == true
  }

  func wasIssued(_ data: [UInt8], on channel: String) -> Bool {
    subscriptions[channel]?.contains { $0.issued.contains(data) } == true
  }
}
