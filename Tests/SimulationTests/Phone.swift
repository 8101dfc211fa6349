import Gateway
import Wire

/// One device of a person, as an app with an SDK is one: follows channels, remembers where it stands, asks again.
final class Phone {
  let user: String
  let name: String
  let loop: Int
  let format: WireFormat
  var gateway: Int
  /// Changes with every connection: answers to an older one are not its own.
  var connection: UInt64
  var following: [ChannelName: Following] = [:]
  /// Commands under way, by tag.
  var calls: [UInt64: Command] = [:]
  /// Of which it is not known whether they were done.
  var unclear: [Command] = []

  init(user: String, number: Int, loop: Int, format: WireFormat, gateway: Int, connection: UInt64) {
    self.user = user
    name = "\(user)\(number)"
    self.loop = loop
    self.format = format
    self.gateway = gateway
    self.connection = connection
  }

  var info: ClientInfo { ClientInfo(user: user, client: "\(name)-\(connection)") }

  /// The connection is gone; what was seen stays.
  func reconnected(to gateway: Int, _ connection: UInt64) {
    self.gateway = gateway
    self.connection = connection
    unclear += calls.sorted { $0.key < $1.key }.map(\.value).filter(\.mayBeAskedAgain)
    calls = [:]
    for following in following.values { following.state = .idle }
  }
}

/// A command for an app.
struct Command {
  var method: String
  var data: String
  /// What a gateway says itself; nil: a client's words.
  var gateways: StateCommand?
  /// The message or the secret that it is about.
  var text = ""
  /// With a key of its own, so that asking again does it once.
  var mayBeAskedAgain = false
  /// When it was asked first.
  var time: Int64 = 0
}

/// A channel that a phone follows, a stream or a map.
final class Following {
  enum State: Equatable {
    case idle
    case asked(tag: UInt64)
    case live
  }

  let channel: ChannelName
  let isMap: Bool
  var state = State.idle
  var position: StreamPosition?
  /// What the server lets through.
  var audience: TagFilter?
  var wasFiltered = false
  /// Of a stream: what was seen, in order.
  var seen: [Publication] = []
  /// Of a map.
  var entries: [String: [UInt8]] = [:]
  /// Where the next page of a map begins; nil: its changes are read.
  var cursor: String? = ""

  init(_ channel: ChannelName) {
    self.channel = channel
    isMap = channel.namespace != "clique.chat" && channel.namespace != "state.events"
  }

  func forget() {
    state = .idle
    position = nil
    audience = nil
    wasFiltered = false
    seen = []
    entries = [:]
    cursor = ""
  }

  /// What to ask next.
  var request: BrokerRequest.SubscribeRequest {
    var request = BrokerRequest.SubscribeRequest(channel: channel, since: position, recoveryLimit: 10_000)
    if !isMap {
      request.since = position ?? StreamPosition(epoch: "", offset: 0)
    } else if let cursor {
      request.map = MapRead(phase: .state, cursor: cursor, limit: 2)
    } else {
      request.map = MapRead(phase: .stream, limit: 2)
    }
    return request
  }

  func apply(_ publication: Publication) {
    guard let change = publication.change else { return }
    entries[change.key] = change.removed ? nil : publication.data
  }
}
