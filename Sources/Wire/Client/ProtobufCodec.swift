import ClientProtobuf
import Foundation
public import SwiftProtobuf

/// Messages one after another, each with its length before it as a varint: how Protobuf stands in a WebSocket frame.
public enum ProtobufFraming {
  /// The messages in `bytes`. Nothing is reserved from a length that a peer declares.
  public static func split(_ bytes: [UInt8]) throws(MalformedInput) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    var index = 0
    while let range = try next(in: bytes, at: &index) { messages.append(Array(bytes[range])) }
    return messages
  }

  /// Where the next message stands; nil at the end.
  private static func next(in bytes: [UInt8], at index: inout Int) throws(MalformedInput) -> Range<Int>? {
    try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(MalformedInput) in
      try unsafe next(in: UnsafeRawBufferPointer(bytes), at: &index)
    }
  }

  static func next(in bytes: UnsafeRawBufferPointer, at index: inout Int) throws(MalformedInput) -> Range<Int>? {
    if index >= bytes.count { return nil }
    // Five bytes hold any length up to Protobuf's own limit of 2 GiB.
    let length = Varint.read(bits: 35) {
      guard index < bytes.count else { return nil }
      defer { index += 1 }
      return unsafe bytes[index]
    }
    guard let length else { throw MalformedInput("a message without a whole length before it") }
    guard length <= UInt64(bytes.count - index) else {
      throw MalformedInput("a message is shorter than the length before it")
    }
    let start = index
    index += Int(length)
    return start..<index
  }

  /// Appends one message with its length.
  public static func append(_ message: some SwiftProtobuf.Message, to bytes: inout [UInt8]) {
    // Only messages with required fields or beyond 2 GiB cannot be serialised, and there are none of these.
    guard let data: [UInt8] = try? message.serializedBytes() else { return }
    bytes.put(varint: UInt64(data.count))
    bytes.append(contentsOf: data)
  }
}

/// Reads the Protobuf commands of one WebSocket message.
enum ProtobufCommandDecoder {
  static func decode(_ bytes: UnsafeRawBufferPointer, into commands: inout [ClientCommand]) throws(MalformedInput) {
    if unsafe bytes.isEmpty {
      throw MalformedInput("an empty message; a command is a Protobuf message with its length before")
    }
    var options = BinaryDecodingOptions()
    options.discardUnknownFields = true
    let before = commands.count
    var index = 0
    while let range = try unsafe ProtobufFraming.next(in: bytes, at: &index) {
      try ClientCodec.checkRoom(after: commands.count - before)
      if let publish = unsafe ProtobufPublish.read(bytes, range) {
        commands.append(publish)
        continue
      }
      guard let command = try? ProtoCommand(serializedBytes: unsafe Array(bytes[range]), options: options) else {
        throw MalformedInput("a message is not a command in Protobuf")
      }
      commands.append(try neutral(command))
    }
  }

  private static func neutral(_ command: ProtoCommand) throws(MalformedInput) -> ClientCommand {
    var bodies: [ClientCommand.Body] = []
    if command.hasConnect { bodies.append(.connect(connect(command.connect))) }
    if command.hasSubscribe { bodies.append(.subscribe(subscribe(command.subscribe))) }
    if command.hasUnsubscribe { bodies.append(.unsubscribe(channel: command.unsubscribe.channel)) }
    if command.hasPublish { bodies.append(.publish(publish(command.publish))) }
    if command.hasPresence { bodies.append(.presence(channel: command.presence.channel)) }
    if command.hasPresenceStats { bodies.append(.presenceStats(channel: command.presenceStats.channel)) }
    if command.hasHistory { bodies.append(.history(history(command.history))) }
    if command.hasPing { bodies.append(.ping) }
    if command.hasSend { bodies.append(.send(data: Array(command.send.data))) }
    if command.hasRpc { bodies.append(.rpc(method: command.rpc.method, data: Array(command.rpc.data))) }
    if command.hasRefresh { bodies.append(.refresh(token: command.refresh.token)) }
    if command.hasSubRefresh {
      bodies.append(subRefresh(command.subRefresh))
    }
    if bodies.count > 1 {
      throw MalformedInput("more than one request in a command; send one command for each")
    }
    // As in JSON: nothing but an id is a request that this server does not know.
    return ClientCommand(id: command.id, body: bodies.first ?? (command.id == 0 ? .pong : .unknown))
  }

  private static func connect(_ request: ProtoConnectRequest) -> ClientCommand.Connect {
    var connect = ClientCommand.Connect()
    connect.token = request.token
    connect.data = Array(request.data)
    connect.subs = request.subs.mapValues(subscribe)
    connect.name = request.name
    connect.version = request.version
    connect.reconnects = request.reconnects
    return connect
  }

  private static func subscribe(_ request: ProtoSubscribeRequest) -> ClientCommand.Subscribe {
    var subscribe = ClientCommand.Subscribe()
    subscribe.channel = request.channel
    subscribe.token = request.token
    subscribe.recover = request.recover
    subscribe.epoch = request.epoch
    subscribe.offset = request.offset
    subscribe.data = Array(request.data)
    subscribe.positioned = request.positioned
    subscribe.recoverable = request.recoverable
    subscribe.joinLeave = request.joinLeave
    subscribe.flag = request.flag
    if request.hasTf { subscribe.setFilter(Result { () throws(ClientError) in try filter(request.tf, depth: 1) }) }
    subscribe.type = request.type
    subscribe.phase = request.phase
    subscribe.cursor = request.cursor
    subscribe.limit = request.limit
    subscribe.asc = request.asc
    subscribe.setDelta(request.delta)
    return subscribe
  }

  private static func filter(_ message: ProtoFilterNode, depth: Int) throws(ClientError) -> FilterNode {
    if depth > TagFilter.maximumDepth {
      throw TagFilter.refusal("is nested deeper than \(TagFilter.maximumDepth) levels; flatten it")
    }
    var nodes: [FilterNode] = []
    for child in message.nodes { nodes.append(try filter(child, depth: depth + 1)) }
    return FilterNode(
      op: message.op, key: message.key, cmp: message.cmp, val: message.val, vals: message.vals, nodes: nodes)
  }

  private static func publish(_ request: ProtoPublishRequest) -> ClientCommand.Publish {
    var publish = ClientCommand.Publish()
    publish.channel = request.channel
    publish.data = Array(request.data)
    if !request.idempotencyKey.isEmpty { publish.idempotencyKey = request.idempotencyKey }
    publish.setMap(type: request.type, key: request.key, removed: request.removed, score: request.score)
    return publish
  }

  private static func subRefresh(_ request: ProtoSubRefreshRequest) -> ClientCommand.Body {
    let batches = request.track.map { message in
      var batch = ClientCommand.TrackBatch()
      batch.signature = message.signature
      batch.items = message.items.map { .init(key: $0.key, version: $0.version) }
      return batch
    }
    return .ofSubRefresh(
      type: request.type, channel: request.channel, token: request.token, track: batches, untrack: request.untrack)
  }

  private static func history(_ request: ProtoHistoryRequest) -> ClientCommand.History {
    var history = ClientCommand.History()
    history.channel = request.channel
    history.limit = request.limit
    if request.hasSince { history.since = StreamPosition(epoch: request.since.epoch, offset: request.since.offset) }
    history.reverse = request.reverse
    return history
  }
}

/// Writes replies as the Protobuf of the client protocol.
enum ProtobufReplyEncoder {
  static func encode(_ reply: ClientReply, into bytes: inout [UInt8]) {
    ProtobufFraming.append(message(reply), to: &bytes)
  }

  private static func message(_ reply: ClientReply) -> ProtoReply {
    var message = ProtoReply()
    switch reply {
    case .serverPing: break
    case .push(let push): message.push = self.push(push)
    case .connect(let id, let result):
      message.id = id
      message.connect = connect(result)
    case .subscribe(let id, let result):
      message.id = id
      message.subscribe = subscribe(result)
    case .unsubscribe(let id):
      message.id = id
      message.unsubscribe = .init()
    case .publish(let id):
      message.id = id
      message.publish = .init()
    case .ping(let id):
      message.id = id
      message.ping = .init()
    case .presence(let id, let members, let isPartial):
      message.id = id
      message.presence.presence = Dictionary(
        members.map { ($0.client, info($0)) }, uniquingKeysWith: { _, last in last })
      message.presence.partial = isPartial
    case .presenceStats(let id, let clients, let users):
      message.id = id
      message.presenceStats.numClients = clients
      message.presenceStats.numUsers = users
    case .history(let id, let result):
      message.id = id
      message.history.publications = result.publications.map(publication)
      message.history.epoch = result.epoch
      message.history.offset = result.offset
    case .rpc(let id, let data):
      message.id = id
      message.rpc.data = Data(data)
    case .refresh(let id, let result):
      message.id = id
      message.refresh.client = result.client
      message.refresh.version = result.version
      message.refresh.expires = result.expires
      message.refresh.ttl = result.ttl
    case .subRefresh(let id, let expires, let ttl, let items):
      message.id = id
      message.subRefresh.expires = expires
      message.subRefresh.ttl = ttl
      message.subRefresh.items = items.map(publication)
    case .error(let id, let error):
      message.id = id
      message.error.code = error.code
      message.error.message = error.message
      message.error.temporary = error.temporary
    }
    return message
  }

  private static func connect(_ result: ClientReply.ConnectResult) -> ProtoConnectResult {
    var message = ProtoConnectResult()
    message.client = result.client
    message.version = result.version
    message.expires = result.expires
    message.ttl = result.ttl
    message.data = Data(result.data)
    message.subs = result.subs.mapValues(subscribe)
    message.ping = result.ping
    message.pong = result.pong
    message.session = result.session
    message.node = result.node
    return message
  }

  private static func subscribe(_ result: ClientReply.SubscribeResult) -> ProtoSubscribeResult {
    var message = ProtoSubscribeResult()
    message.expires = result.expires
    message.ttl = result.ttl
    message.recoverable = result.recoverable
    message.positioned = result.positioned
    message.epoch = result.epoch
    message.offset = result.offset
    message.publications = result.publications.map(publication)
    message.recovered = result.recovered
    message.wasRecovering = result.wasRecovering
    message.delta = result.delta
    message.data = Data(result.data)
    message.type = result.type
    message.phase = result.phase
    message.cursor = result.cursor
    message.state = result.state.map(publication)
    if let gap = result.gap {
      message.gap.from = gap.missing?.lowerBound ?? 0
      message.gap.to = gap.missing?.upperBound ?? 0
      message.gap.reason = gap.reason.rawValue
    }
    message.publishDebounce = result.publishDebounce
    return message
  }

  private static func publication(_ publication: Publication) -> ProtoPublication {
    var message = ProtoPublication()
    message.data = Data(publication.data)
    if let info = publication.info { message.info = self.info(info) }
    message.offset = publication.offset
    message.tags = publication.visibleTags
    message.time = publication.time
    if let change = publication.change {
      message.key = change.key
      message.removed = change.removed
      message.score = change.score
      message.version = change.version ?? 0
    }
    return message
  }

  private static func info(_ info: ClientInfo) -> ProtoClientInfo {
    var message = ProtoClientInfo()
    message.user = info.user
    message.client = info.client
    if let connection = info.connectionInfo { message.connInfo = Data(connection) }
    if let channel = info.channelInfo { message.chanInfo = Data(channel) }
    return message
  }

  private static func push(_ push: ClientPush) -> ProtoPush {
    var message = ProtoPush()
    switch push {
    case .publication(let channel, let publication, _):
      message.channel = channel
      message.pub = self.publication(publication)
    case .join(let channel, let info):
      message.channel = channel
      message.join.info = self.info(info)
    case .leave(let channel, let info):
      message.channel = channel
      message.leave.info = self.info(info)
    case .unsubscribe(let channel, let code):
      message.channel = channel
      message.unsubscribe.code = code.code
      message.unsubscribe.reason = code.reason
    case .message(let data): message.message.data = Data(data)
    case .subscribe(let channel, let recoverable, let positioned, let position, let data):
      message.channel = channel
      message.subscribe.recoverable = recoverable
      message.subscribe.positioned = positioned
      message.subscribe.epoch = position.epoch
      message.subscribe.offset = position.offset
      message.subscribe.data = Data(data)
    case .disconnect(let code):
      message.disconnect.code = UInt32(code.code)
      message.disconnect.reason = code.reason
      message.disconnect.reconnect = code.clientReconnects
    case .refresh(let expires, let ttl):
      message.refresh.expires = expires
      message.refresh.ttl = ttl
    case .reconnect(let after): message.reconnect.after = after
    }
    return message
  }
}
