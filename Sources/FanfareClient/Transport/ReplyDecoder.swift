internal import ClientProtobuf
internal import Foundation
internal import SwiftProtobuf
internal import Wire

/// Reads the Protobuf replies of one WebSocket message.
enum ReplyDecoder {
  struct Malformed: Error, Equatable, CustomStringConvertible {
    var description: String
  }

  /// Replies that this client does not know are left out; they are not a mistake of the server's.
  static func decode(_ bytes: [UInt8]) throws(Malformed) -> [ClientReply] {
    let messages: [[UInt8]]
    do { messages = try ProtobufFraming.split(bytes) } catch {
      throw Malformed(description: "a length before a message does not fit the message")
    }
    var replies: [ClientReply] = []
    replies.reserveCapacity(messages.count)
    for bytes in messages {
      if bytes.isEmpty {
        replies.append(.serverPing)
      } else if let message = try? ProtoReply(serializedBytes: bytes) {
        if let reply = reply(message) { replies.append(reply) }
      } else {
        throw Malformed(description: "a message is not a reply in Protobuf")
      }
    }
    return replies
  }

  private static func reply(_ message: ProtoReply) -> ClientReply? {
    let id = message.id
    if message.hasPush { return push(message.push).map(ClientReply.push) }
    if message.hasError {
      let error = message.error
      return .error(id: id, ClientError(code: error.code, message: error.message, temporary: error.temporary))
    }
    if message.hasConnect { return .connect(id: id, connect(message.connect)) }
    if message.hasSubscribe { return .subscribe(id: id, subscribe(message.subscribe)) }
    if message.hasUnsubscribe { return .unsubscribe(id: id) }
    if message.hasPublish { return .publish(id: id) }
    if message.hasPresence {
      return .presence(id: id, message.presence.presence.values.map(info), isPartial: message.presence.partial)
    }
    if message.hasPresenceStats {
      return .presenceStats(id: id, clients: message.presenceStats.numClients, users: message.presenceStats.numUsers)
    }
    if message.hasHistory { return .history(id: id, history(message.history)) }
    if message.hasPing { return .ping(id: id) }
    if message.hasRpc { return .rpc(id: id, data: Array(message.rpc.data)) }
    if message.hasRefresh { return .refresh(id: id, refresh(message.refresh)) }
    if message.hasSubRefresh {
      return .subRefresh(id: id, expires: message.subRefresh.expires, ttl: message.subRefresh.ttl)
    }
    return nil
  }

  private static func push(_ message: ProtoPush) -> ClientPush? {
    let channel = message.channel
    if message.hasPub { return .publication(channel: channel, publication(message.pub)) }
    if message.hasJoin { return .join(channel: channel, info(message.join.info)) }
    if message.hasLeave { return .leave(channel: channel, info(message.leave.info)) }
    if message.hasUnsubscribe {
      let code = UnsubscribeCode(code: message.unsubscribe.code, reason: message.unsubscribe.reason)
      return .unsubscribe(channel: channel, code)
    }
    if message.hasMessage { return .message(data: Array(message.message.data)) }
    if message.hasSubscribe {
      let subscribe = message.subscribe
      return .subscribe(
        channel: channel, recoverable: subscribe.recoverable, positioned: subscribe.positioned,
        StreamPosition(epoch: subscribe.epoch, offset: subscribe.offset), data: Array(subscribe.data))
    }
    if message.hasDisconnect {
      let code = UInt16(clamping: message.disconnect.code)
      return .disconnect(DisconnectCode(code: code, reason: message.disconnect.reason))
    }
    if message.hasRefresh { return .refresh(expires: message.refresh.expires, ttl: message.refresh.ttl) }
    if message.hasReconnect { return .reconnect(afterMilliseconds: message.reconnect.after) }
    return nil
  }

  private static func connect(_ message: ProtoConnectResult) -> ClientReply.ConnectResult {
    var result = ClientReply.ConnectResult()
    result.client = message.client
    result.version = message.version
    result.expires = message.expires
    result.ttl = message.ttl
    result.data = Array(message.data)
    result.subs = message.subs.mapValues(subscribe)
    result.ping = message.ping
    result.pong = message.pong
    result.session = message.session
    result.node = message.node
    return result
  }

  private static func subscribe(_ message: ProtoSubscribeResult) -> ClientReply.SubscribeResult {
    var result = ClientReply.SubscribeResult()
    result.expires = message.expires
    result.ttl = message.ttl
    result.recoverable = message.recoverable
    result.positioned = message.positioned
    result.epoch = message.epoch
    result.offset = message.offset
    result.publications = message.publications.map(publication)
    result.recovered = message.recovered
    result.wasRecovering = message.wasRecovering
    result.data = Array(message.data)
    result.type = message.type
    result.phase = message.phase
    result.cursor = message.cursor
    result.state = message.state.map(publication)
    if message.hasGap { result.gap = gap(message.gap) }
    return result
  }

  private static func gap(_ message: ProtoGap) -> RecoveryGap {
    let isRange = message.from > 0 && message.from <= message.to
    return RecoveryGap(isRange ? message.from...message.to : nil, .init(rawValue: message.reason))
  }

  private static func history(_ message: ProtoHistoryResult) -> ClientReply.HistoryResult {
    var result = ClientReply.HistoryResult()
    result.publications = message.publications.map(publication)
    result.epoch = message.epoch
    result.offset = message.offset
    return result
  }

  private static func refresh(_ message: ProtoRefreshResult) -> ClientReply.RefreshResult {
    var result = ClientReply.RefreshResult()
    result.client = message.client
    result.version = message.version
    result.expires = message.expires
    result.ttl = message.ttl
    return result
  }

  private static func publication(_ message: ProtoPublication) -> Publication {
    Publication(
      offset: message.offset, time: message.time, data: Array(message.data),
      info: message.hasInfo ? info(message.info) : nil, tags: message.tags,
      change: message.key.isEmpty
        ? nil : KeyChange(key: message.key, removed: message.removed, score: message.score))
  }

  private static func info(_ message: ProtoClientInfo) -> ClientInfo {
    ClientInfo(
      user: message.user, client: message.client,
      connectionInfo: message.connInfo.isEmpty ? nil : Array(message.connInfo),
      channelInfo: message.chanInfo.isEmpty ? nil : Array(message.chanInfo))
  }
}
