internal import ClientProtobuf
internal import Foundation
internal import Wire

/// Writes commands as Protobuf, each with its length before it.
enum CommandEncoder {
  static func encode(_ command: ClientCommand) -> [UInt8] {
    var bytes: [UInt8] = []
    ProtobufFraming.append(message(command), to: &bytes)
    return bytes
  }

  static func message(_ command: ClientCommand) -> ProtoCommand {
    var message = ProtoCommand()
    message.id = command.id
    switch command.body {
    case .pong, .unknown: break
    case .connect(let connect): message.connect = self.connect(connect)
    case .subscribe(let subscribe): message.subscribe = self.subscribe(subscribe)
    case .unsubscribe(let channel): message.unsubscribe.channel = channel
    case .publish(let publish):
      message.publish.channel = publish.channel
      message.publish.data = Data(publish.data)
      if let key = publish.idempotencyKey { message.publish.idempotencyKey = key }
      if let map = publish.map { write(map, to: &message.publish) }
    case .presence(let channel): message.presence.channel = channel
    case .presenceStats(let channel): message.presenceStats.channel = channel
    case .history(let history): message.history = self.history(history)
    case .ping: message.ping = .init()
    case .send(let data): message.send.data = Data(data)
    case .rpc(let method, let data):
      message.rpc.method = method
      message.rpc.data = Data(data)
    case .refresh(let token): message.refresh.token = token
    case .subRefresh(let channel, let token):
      message.subRefresh.channel = channel
      message.subRefresh.token = token
    case .track(let track): message.subRefresh = self.track(track)
    case .untrack(let channel, let keys):
      message.subRefresh.channel = channel
      message.subRefresh.type = ClientCommand.Track.untrackType
      message.subRefresh.untrack = keys
    }
    return message
  }

  private static func track(_ track: ClientCommand.Track) -> ProtoSubRefreshRequest {
    var message = ProtoSubRefreshRequest()
    message.channel = track.channel
    message.type = ClientCommand.Track.trackType
    message.track = track.batches.map { batch in
      var message = ProtoTrackBatch()
      message.signature = batch.signature
      message.items = batch.items.map { item in
        var message = ProtoKeyedItem()
        message.key = item.key
        message.version = item.version
        return message
      }
      return message
    }
    message.untrack = track.untracked
    return message
  }

  private static func connect(_ connect: ClientCommand.Connect) -> ProtoConnectRequest {
    var message = ProtoConnectRequest()
    message.token = connect.token
    message.data = Data(connect.data)
    message.subs = connect.subs.mapValues(subscribe)
    message.name = connect.name
    message.version = connect.version
    message.reconnects = connect.reconnects
    return message
  }

  private static func subscribe(_ subscribe: ClientCommand.Subscribe) -> ProtoSubscribeRequest {
    var message = ProtoSubscribeRequest()
    message.channel = subscribe.channel
    message.token = subscribe.token
    message.recover = subscribe.recover
    message.epoch = subscribe.epoch
    message.offset = subscribe.offset
    message.data = Data(subscribe.data)
    message.positioned = subscribe.positioned
    message.recoverable = subscribe.recoverable
    message.joinLeave = subscribe.joinLeave
    message.flag = subscribe.flag
    if let filter = subscribe.filter { message.tf = node(filter) }
    message.type = subscribe.type
    message.phase = subscribe.phase
    message.cursor = subscribe.cursor
    message.limit = subscribe.limit
    message.asc = subscribe.asc
    return message
  }

  private static func write(_ map: MapWrite, to message: inout ProtoPublishRequest) {
    message.type = 1
    message.key = map.key
    message.removed = map.removed
    message.score = map.score ?? 0
  }

  private static func node(_ filter: TagFilter) -> ProtoFilterNode {
    var node = ProtoFilterNode()
    func compare(_ key: String, _ comparison: String, _ value: String = "") {
      (node.key, node.cmp, node.val) = (key, comparison, value)
    }
    switch filter {
    case .all(let filters): (node.op, node.nodes) = ("and", filters.map(Self.node))
    case .any(let filters): (node.op, node.nodes) = ("or", filters.map(Self.node))
    case .not(let filter): (node.op, node.nodes) = ("not", [Self.node(filter)])
    case .equal(let key, let value): compare(key, "eq", value)
    case .oneOf(let key, let values):
      compare(key, "in")
      node.vals = values
    case .exists(let key): compare(key, "ex")
    case .hasPrefix(let key, let value): compare(key, "sw", value)
    case .hasSuffix(let key, let value): compare(key, "ew", value)
    case .contains(let key, let value): compare(key, "ct", value)
    case .number(let key, let comparison, let value): compare(key, comparison.rawValue, value)
    }
    return node
  }

  private static func history(_ history: ClientCommand.History) -> ProtoHistoryRequest {
    var message = ProtoHistoryRequest()
    message.channel = history.channel
    message.limit = history.limit
    if let since = history.since {
      message.since.epoch = since.epoch
      message.since.offset = since.offset
    }
    message.reverse = history.reverse
    return message
  }
}
