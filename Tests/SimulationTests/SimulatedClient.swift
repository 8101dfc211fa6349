import Wire

/// A subscriber that behaves like an SDK: remembers its positions, recovers, and would notice a gap.
final class SimulatedClient {
  enum State: Equatable {
    case down
    /// Waits for the answer to the connect command with this id.
    case connecting(id: UInt32)
    case up
  }

  let name: String
  let format: WireFormat
  let loop: Int
  /// Bytes that the client's kernel takes before the gateway has to wait.
  let kernelBytes: Int
  var gateway: Int
  var feeds: [Feed]
  private(set) var socket: SimulatedSocket?
  /// The connection's client id, by which others see the client.
  var client = ""
  var state = State.down
  private var lastCommand: UInt32 = 0
  /// Bytes that were read and are no whole frame yet.
  private var buffer: [UInt8] = []
  /// Ids of publish commands that are not answered.
  var unanswered: Set<UInt32> = []

  init(name: String, feeds: [Feed], format: WireFormat, loop: Int, gateway: Int, kernelBytes: Int) {
    self.name = name
    self.feeds = feeds
    self.format = format
    self.loop = loop
    self.gateway = gateway
    self.kernelBytes = kernelBytes
  }

  /// The feeds to which the server subscribes the client.
  var granted: [Feed] { feeds.filter(\.isGranted) }

  func feed(_ channel: String) -> Feed? { feeds.first { $0.channel.string == channel } }

  // MARK: The connection

  /// Opens a new connection, at a gateway that knows nothing of the last one. The feeds keep their positions.
  func connect(through socket: SimulatedSocket) {
    self.socket = socket
    var connect = ClientCommand.Connect()
    connect.token = ([name] + granted.map(\.channel.string)).joined(separator: " ")
    for feed in granted {
      connect.subs[feed.channel.string] = feed.ask
      feed.state = .asked(id: 0, since: feed.position)
    }
    state = .connecting(id: lastCommand + 1)
    command(.connect(connect))
  }

  /// Forgets the connection, whoever ended it.
  func disconnect() {
    socket?.cut()
    socket = nil
    state = .down
    buffer = []
    unanswered = []
    for feed in feeds { feed.state = .idle }
  }

  @discardableResult
  func command(_ body: ClientCommand.Body, users: [String]? = nil) -> UInt32 {
    var id: UInt32 = 0
    if body != .pong {
      lastCommand += 1
      id = lastCommand
    }
    socket?.write(SimulatedWire.encode(ClientCommand(id: id, body: body), format: format, users: users))
    return id
  }

  func subscribe(_ feed: Feed) {
    feed.state = .asked(id: lastCommand + 1, since: feed.position)
    command(.subscribe(feed.ask), users: feed.users)
  }

  func unsubscribe(_ feed: Feed) {
    feed.state = .leaving(id: lastCommand + 1)
    command(.unsubscribe(channel: feed.channel.string))
  }

  /// Reads so many bytes at most.
  ///
  /// - Returns: nil where there was nothing to read.
  func read(_ most: Int) -> [SimulatedWire.Message]? {
    guard let bytes = socket?.read(most), !bytes.isEmpty else { return nil }
    buffer += bytes
    return SimulatedWire.takeFrames(from: &buffer, format: format)
  }
}

/// A channel that a client follows.
final class Feed {
  enum State: Equatable {
    case idle
    /// Waits for the answer to the command with this id, 0 for the connect, which asked from this position.
    case asked(id: UInt32, since: StreamPosition?)
    case live
    /// Waits for the answer to the unsubscribe. Publications that still come do not count.
    case leaving(id: UInt32)
  }

  let channel: ChannelName
  /// The server subscribes the client to the channel, and the client cannot unsubscribe.
  let isGranted: Bool
  /// The users whose publications the client wants; nil: everybody's.
  let users: [String]?
  var state = State.idle
  /// The position up to which the client has everything; nil until the first answer.
  var position: StreamPosition?
  /// In a lane where publications may be left out: the number of the newest delivery that the client got (``Oracle``).
  var turn: Int?

  init(_ channel: ChannelName, isGranted: Bool = false, users: [String]? = nil) {
    self.channel = channel
    self.isGranted = isGranted
    self.users = users
  }

  /// Whether the channel's lane may leave publications out.
  var isConflated: Bool { channel.namespace == "t" }

  func wants(_ publisher: String) -> Bool { users?.contains(publisher) ?? true }

  var ask: ClientCommand.Subscribe {
    var subscribe = ClientCommand.Subscribe()
    subscribe.channel = channel.string
    subscribe.joinLeave = channel.namespace == "m"
    if let position {
      subscribe.recover = true
      subscribe.epoch = position.epoch
      subscribe.offset = position.offset
    }
    return subscribe
  }
}
