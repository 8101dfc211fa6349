import Gateway
import Wire

/// A subscriber as an SDK is one: remembers its position, recovers, and would notice a gap.
final class SimulatedClient {
  enum State: Equatable {
    case connecting
    case idle
    /// Asked; the position it asked from.
    case subscribing(id: UInt32, since: StreamPosition?)
    case live
  }

  struct Publishing {
    var payload: [UInt8]
    var key: String?
  }

  let name: String
  let channel: ChannelName
  let format: WireFormat
  let loop: Int
  var gateway: Int
  /// Changes with every connection: answers to an older one are not its own.
  private(set) var connection: UInt64 = 0
  /// Its end at the gateway.
  var session: Session?
  /// What the session is still to be fed.
  var inputs: [SessionInput] = []
  /// The hub writes its channel's publications to it.
  var isAttached = false
  var state = State.connecting
  private(set) var lastCommand: UInt32 = 0
  /// Where it stands; nil until the first answer.
  var position: StreamPosition?
  /// Subscribes that were tried with a small answer: asked again whole where it does not do.
  var tries: [UInt64: BrokerRequest.SubscribeRequest] = [:]
  /// Publications under way, by tag.
  var publishing: [UInt64: Publishing] = [:]
  /// What it publishes just now.
  var publishes: Publishing?
  /// Publishes that the session has not answered, by command.
  var unanswered: Set<UInt32> = []

  init(name: String, channel: ChannelName, format: WireFormat, loop: Int, gateway: Int) {
    self.name = name
    self.channel = channel
    self.format = format
    self.loop = loop
    self.gateway = gateway
  }

  /// A new connection, at a gateway that knows nothing of the last one. Position and memory stay.
  func begin(_ connection: UInt64, rules: SessionRules) {
    self.connection = connection
    state = .connecting
    isAttached = false
    publishing = [:]
    tries = [:]
    unanswered = []
    session = Session(
      rules: rules, identity: SessionIdentity(client: info.client, session: "s\(connection)"), format: format,
      firstPingDelayMilliseconds: 0)
  }

  func nextCommand() -> UInt32 {
    lastCommand += 1
    return lastCommand
  }

  var info: ClientInfo { ClientInfo(user: name, client: "\(name)-\(connection)") }

  /// - Returns: a sentence where the broker or the gateway broke a promise.
  func subscribed(_ answer: ClientReply.SubscribeResult, since: StreamPosition?) -> String? {
    state = .live
    let top = StreamPosition(epoch: answer.epoch, offset: answer.offset)
    defer { position = top }
    guard answer.recovered else {
      return answer.publications.isEmpty ? nil : "\(name): publications in a recovery that is not whole"
    }
    guard let since else { return "\(name): recovered without asking" }
    guard since.epoch == top.epoch else { return "\(name): recovered over a change of epoch" }
    var expected = since.offset
    for publication in answer.publications {
      expected += 1
      if publication.offset != expected { return "\(name): recovery has \(publication.offset) instead of \(expected)" }
    }
    return expected == top.offset
      ? nil : "\(name): a recovery called whole ends at \(expected), the top is \(top.offset)"
  }

  func received(_ publication: Publication) -> String? {
    guard state == .live, let current = position else { return nil }
    position?.offset = publication.offset
    return publication.offset == current.offset + 1
      ? nil : "\(name): live publication \(publication.offset) after \(current.offset)"
  }
}
