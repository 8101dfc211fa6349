import Gateway
import Wire

/// One device of a person that behaves like an app with an SDK: follows channels, remembers positions, repeats
/// commands.
final class Phone {
  let user: String
  let name: String
  let loop: Int
  let format: WireFormat
  var gateway: Int
  /// Changes with every connection, so that answers to an older one are ignored.
  var connection: UInt64
  var following: [ChannelName: Following] = [:]
  /// Everything that the phone was sent on its channels, in order, as text.
  var heard: [String] = []
  /// Commands under way, by tag.
  var calls: [UInt64: Command] = [:]
  /// Commands of which the phone does not know whether they were done.
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

  /// Replaces the phone's connection by a new one. What it has seen stays.
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
  /// The command where a gateway gives it itself; nil: a client sends it.
  var gateways: AppCommand?
  /// What the command does with a picture of Clique; nil: it is about none.
  var picture: PictureStep?
  /// The text of the message or the secret that is sent.
  var text = ""
  /// The command has a key of its own, so that it is done once if it is repeated.
  var mayBeAskedAgain = false
  /// When the command was first sent, in milliseconds since 1970.
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
  /// The filter that the server has given for the channel; nil: everything passes.
  var audience: TagFilter?
  var wasFiltered = false
  /// The publications of a stream that the phone has seen, in order.
  var seen: [Publication] = []
  /// The entries of a map as the phone sees them.
  var entries: [String: [UInt8]] = [:]
  /// Where the next page of a map begins; nil: all pages are read, and changes come next.
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

  /// The next subscribe request for the channel.
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
