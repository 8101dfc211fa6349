// How requests stand in the body of a link message.

private enum RequestKind: UInt8 {
  case publish = 1
  case subscribe, unsubscribe, history, historyRemove, presence, presenceStats, channels, edit, readMap, receipt
  case unread, call, disconnect, endSubscriptions, revoke, beginSubscriptions, refresh, channelCounts, info
  case inspect = 70
  case top = 71
  case once = 72
  case report = 40
  case webhooks = 41
  case user = 80
  case push = 81
  case why = 60
}

extension LinkRequest: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  /// The bytes of a request that was not sent before.
  public static func bytes(id: UInt64, oldestPending: UInt64, isResync: Bool, _ request: BrokerRequest) -> [UInt8] {
    LinkRequest(id: id, oldestPending: oldestPending, isResync: isResync, request: request).encoded
  }

  func write(to sink: inout some ByteSink) {
    sink.write(id)
    sink.write(oldestPending)
    sink.write(flag: isRetry)
    sink.write(flag: isResync)
    sink.write(flag: isService)
    write(request, to: &sink)
  }

  private func write(_ request: BrokerRequest, to sink: inout some ByteSink) {
    switch request {
    case .publish(let publish):
      sink.write(byte: RequestKind.publish.rawValue)
      sink.write(publish.channel)
      sink.write(publish.data)
      sink.write(optional: publish.info)
      sink.write(publish.tags)
      sink.write(flag: publish.idempotencyKey != nil)
      if let key = publish.idempotencyKey { sink.write(key) }
      sink.write(flag: publish.write != nil)
      if let write = publish.write { sink.write(write) }
    case .subscribe(let subscribe):
      sink.write(byte: RequestKind.subscribe.rawValue)
      sink.write(subscribe.channel)
      sink.write(optional: subscribe.since)
      sink.write(UInt64(subscribe.recoveryLimit))
      sink.write(optional: subscribe.member)
      sink.write(flag: subscribe.isPresent)
      sink.write(flag: subscribe.map != nil)
      if let map = subscribe.map { sink.write(map) }
      sink.write(subscribe.answer)
    case .unsubscribe(let unsubscribe):
      sink.write(byte: RequestKind.unsubscribe.rawValue)
      sink.write(unsubscribe.channel)
      sink.write(optional: unsubscribe.member)
      sink.write(flag: unsubscribe.keepsInterest)
    case .history(let history):
      sink.write(byte: RequestKind.history.rawValue)
      sink.write(history.channel)
      sink.write(UInt64(history.limit))
      sink.write(optional: history.since)
      sink.write(flag: history.reverse)
      sink.write(optionalText: history.viewer)
      sink.write(history.answer)
    case .historyRemove(let channel):
      sink.write(byte: RequestKind.historyRemove.rawValue)
      sink.write(channel)
    case .presence(let channel, let viewer, let answer):
      sink.write(byte: RequestKind.presence.rawValue)
      sink.write(channel)
      sink.write(optionalText: viewer)
      sink.write(answer)
    case .presenceStats(let channel, let viewer):
      sink.write(byte: RequestKind.presenceStats.rawValue)
      sink.write(channel)
      sink.write(optionalText: viewer)
    case .channels(let prefix):
      sink.write(byte: RequestKind.channels.rawValue)
      sink.write(prefix)
    case .push(let push):
      sink.write(byte: RequestKind.push.rawValue)
      sink.write(byte: push.method.rawValue)
      sink.write(push.arguments)
    case .edit, .readMap, .receipt, .unread, .call, .channelCounts, .info, .inspect, .top, .once, .report, .webhooks,
      .user, .why:
      writeRare(request, to: &sink)
    case .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke: writeOrder(request, to: &sink)
    }
  }

  private func writeRare(_ request: BrokerRequest, to sink: inout some ByteSink) {
    switch request {
    case .edit(let edit):
      sink.write(byte: RequestKind.edit.rawValue)
      sink.write(edit.channel)
      sink.write(edit.offset)
      sink.write(optional: edit.data)
      sink.write(optional: edit.editor)
      sink.write(optionalText: edit.idempotencyKey)
    case .readMap(let read):
      sink.write(byte: RequestKind.readMap.rawValue)
      sink.write(read.channel)
      sink.write(optionalText: read.key)
      sink.write(read.read)
      sink.write(optionalText: read.viewer)
      sink.write(read.answer)
    case .receipt(let receipt):
      sink.write(byte: RequestKind.receipt.rawValue)
      sink.write(receipt.channel)
      sink.write(receipt.delivered)
      sink.write(receipt.read)
      sink.write(receipt.reader)
    case .unread(let user, let channels):
      sink.write(byte: RequestKind.unread.rawValue)
      sink.write(user)
      sink.write(UInt64(channels.count))
      for channel in channels { sink.write(channel) }
    case .call(let call):
      sink.write(byte: RequestKind.call.rawValue)
      call.write(to: &sink)
    case .channelCounts(let pattern):
      sink.write(byte: RequestKind.channelCounts.rawValue)
      sink.write(pattern)
    case .info: sink.write(byte: RequestKind.info.rawValue)
    case .inspect(let inspect):
      sink.write(byte: RequestKind.inspect.rawValue)
      sink.write(inspect)
    case .top(let visible):
      sink.write(byte: RequestKind.top.rawValue)
      sink.write(visible: visible)
    case .once(let key, let request):
      sink.write(byte: RequestKind.once.rawValue)
      sink.write(key.owner)
      sink.write(key.key)
      write(request, to: &sink)
    case .report(let event):
      sink.write(byte: RequestKind.report.rawValue)
      sink.write(event)
    case .webhooks(let webhooks):
      sink.write(byte: RequestKind.webhooks.rawValue)
      sink.write(webhooks)
    case .user(let user):
      sink.write(byte: RequestKind.user.rawValue)
      user.write(to: &sink)
    case .why(let why):
      sink.write(byte: RequestKind.why.rawValue)
      sink.write(why)
    case .publish, .subscribe, .unsubscribe, .history, .historyRemove, .presence, .presenceStats, .channels,
      .push, .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke:
      preconditionFailure("the common requests are written above, and orders below")
    }
  }

  private func writeOrder(_ request: BrokerRequest, to sink: inout some ByteSink) {
    switch request {
    case .disconnect(let target, let code):
      sink.write(byte: RequestKind.disconnect.rawValue)
      sink.write(target)
      sink.write(code)
    case .endSubscriptions(let target, let channel, let code):
      sink.write(byte: RequestKind.endSubscriptions.rawValue)
      sink.write(target)
      sink.write(channel)
      sink.write(code)
    case .beginSubscriptions(let target, let subscription):
      sink.write(byte: RequestKind.beginSubscriptions.rawValue)
      sink.write(target)
      sink.write(subscription)
    case .refresh(let target, let expiry):
      sink.write(byte: RequestKind.refresh.rawValue)
      sink.write(target)
      sink.write(expiry)
    case .revoke(let revoke):
      sink.write(byte: RequestKind.revoke.rawValue)
      switch revoke.tokens {
      case .id(let id):
        sink.write(flag: true)
        sink.write(id)
      case .user(let user, let time, let channel):
        sink.write(flag: false)
        sink.write(user)
        sink.write(optionalTime: time)
        sink.write(optionalText: channel)
      }
      sink.write(optionalTime: revoke.expiresAt)
    default: preconditionFailure("other requests are written above")
    }
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    let oldestPending = try reader.readNumber()
    let isRetry = try reader.readFlag()
    let isResync = try reader.readFlag()
    let isService = try reader.readFlag()
    let request = try Self.readRequest(from: &reader)
    try reader.requireEnd()
    self.init(
      id: id, oldestPending: oldestPending, isRetry: isRetry, isResync: isResync, isService: isService,
      request: request)
  }

  /// - Parameter isInner: the request is one that is done once: another such in it would say nothing, and many of them in
  ///   each other would take all of the stack.
  private static func readRequest(
    from reader: inout ByteReader, isInner: Bool = false
  ) throws(MalformedMessage) -> BrokerRequest {
    guard let kind = RequestKind(rawValue: try reader.readByte()), kind != .once || !isInner else {
      throw MalformedMessage()
    }
    switch kind {
    case .publish:
      return .publish(
        .init(
          channel: try reader.readChannel(), data: try reader.readBytes(), info: try reader.readOptionalInfo(),
          tags: try reader.readTags(), idempotencyKey: try reader.readOptionalString(),
          write: try reader.readFlag() ? try reader.readMapWrite() : nil))
    case .subscribe:
      return .subscribe(
        .init(
          channel: try reader.readChannel(), since: try reader.readOptionalPosition(),
          recoveryLimit: try reader.readLimit(), member: try reader.readOptionalInfo(),
          isPresent: try reader.readFlag(),
          map: try reader.readFlag() ? try reader.readMapRead() : nil, answer: try reader.readAnswerLimit()))
    case .unsubscribe:
      return .unsubscribe(
        .init(
          channel: try reader.readChannel(), member: try reader.readOptionalInfo(),
          keepsInterest: try reader.readFlag()))
    case .history:
      return .history(
        .init(
          channel: try reader.readChannel(), limit: try reader.readLimit(), since: try reader.readOptionalPosition(),
          reverse: try reader.readFlag(), viewer: try reader.readOptionalString(),
          answer: try reader.readAnswerLimit()))
    case .historyRemove: return .historyRemove(try reader.readChannel())
    case .presence:
      return .presence(
        try reader.readChannel(), viewer: try reader.readOptionalString(), answer: try reader.readAnswerLimit())
    case .presenceStats: return .presenceStats(try reader.readChannel(), viewer: try reader.readOptionalString())
    case .channels: return .channels(prefix: try reader.readString())
    case .push:
      guard let method = PushRequest.Method(rawValue: try reader.readByte()) else { throw MalformedMessage() }
      return .push(.init(arguments: try reader.readBytes(), method: method))
    case .edit, .readMap, .receipt, .unread, .call, .channelCounts, .info, .inspect, .top, .once, .report, .webhooks,
      .user, .why:
      return try readRare(kind, from: &reader)
    case .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke:
      return try readOrder(kind, from: &reader)
    }
  }

  private static func readRare(
    _ kind: RequestKind, from reader: inout ByteReader
  ) throws(MalformedMessage) -> BrokerRequest {
    switch kind {
    case .edit:
      return .edit(
        .init(
          channel: try reader.readChannel(), offset: try reader.readNumber(), data: try reader.readOptionalBytes(),
          editor: try reader.readOptionalInfo(), idempotencyKey: try reader.readOptionalString()))
    case .readMap:
      return .readMap(
        .init(
          channel: try reader.readChannel(), key: try reader.readOptionalString(), read: try reader.readMapRead(),
          viewer: try reader.readOptionalString(), answer: try reader.readAnswerLimit()))
    case .receipt:
      return .receipt(
        .init(
          channel: try reader.readChannel(), delivered: try reader.readNumber(), read: try reader.readNumber(),
          reader: try reader.readInfo()))
    case .unread:
      let user = try reader.readString()
      var channels: [ChannelName] = []
      for _ in 0..<(try reader.readCount()) { channels.append(try reader.readChannel()) }
      return .unread(user: user, channels)
    case .call: return .call(try BrokerRequest.CallRequest(from: &reader))
    case .channelCounts: return .channelCounts(try reader.readPattern())
    case .info: return .info
    case .inspect: return .inspect(try reader.readInspectRequest())
    case .top: return .top(visible: try reader.readVisible())
    case .once:
      let key = OnceKey(owner: try reader.readString(), key: try reader.readString())
      return .once(key, try readRequest(from: &reader, isInner: true))
    case .report: return .report(try reader.readClientEvent())
    case .webhooks: return .webhooks(try reader.readWebhookRequest())
    case .user: return .user(try UserRequest(from: &reader))
    case .why: return .why(try reader.readWhyRequest())
    case .publish, .subscribe, .unsubscribe, .history, .historyRemove, .presence, .presenceStats, .channels,
      .push, .disconnect, .beginSubscriptions, .endSubscriptions, .refresh, .revoke:
      preconditionFailure("the common requests are read above, and orders below")
    }
  }

  private static func readOrder(
    _ kind: RequestKind, from reader: inout ByteReader
  ) throws(MalformedMessage) -> BrokerRequest {
    switch kind {
    case .disconnect: return .disconnect(try reader.readTarget(), try reader.readDisconnectCode())
    case .endSubscriptions:
      return .endSubscriptions(
        try reader.readTarget(), try reader.readChannel(), try reader.readUnsubscribeCode())
    case .beginSubscriptions:
      return .beginSubscriptions(try reader.readTarget(), try reader.readOrderedSubscription())
    case .refresh: return .refresh(try reader.readTarget(), try reader.readExpiry())
    default:
      let tokens: BrokerRequest.RevokeRequest.Tokens =
        try reader.readFlag()
        ? .id(try reader.readString())
        : .user(
          try reader.readString(), issuedBefore: try reader.readOptionalTime(),
          channel: try reader.readOptionalString())
      return .revoke(.init(tokens, expiresAt: try reader.readOptionalTime()))
    }
  }
}

extension ByteSink {
  fileprivate mutating func write(_ write: MapWrite) {
    self.write(write.key)
    self.write(flag: write.removed)
    self.write(flag: write.score != nil)
    if let score = write.score { self.write(UInt64(bitPattern: score)) }
  }

  fileprivate mutating func write(_ read: MapRead) {
    write(byte: read.phase.rawValue)
    write(read.cursor)
    write(UInt64(read.limit))
    write(flag: read.isReversed)
  }

  mutating func write(optionalTime time: Int64?) {
    write(flag: time != nil)
    if let time { write(UInt64(bitPattern: time)) }
  }

  fileprivate mutating func write(_ limit: AnswerLimit) {
    write(UInt64(limit.bytes))
    write(flag: limit.isTry)
  }
}

extension ByteReader {
  fileprivate mutating func readMapWrite() throws(MalformedMessage) -> MapWrite {
    MapWrite(
      key: try readString(), removed: try readFlag(),
      score: try readFlag() ? Int64(bitPattern: try readNumber()) : nil)
  }

  fileprivate mutating func readMapRead() throws(MalformedMessage) -> MapRead {
    MapRead(
      phase: try readPhase(), cursor: try readString(), limit: try readLimit(), isReversed: try readFlag())
  }

  mutating func readOptionalTime() throws(MalformedMessage) -> Int64? {
    try readFlag() ? Int64(bitPattern: try readNumber()) : nil
  }

  fileprivate mutating func readAnswerLimit() throws(MalformedMessage) -> AnswerLimit {
    AnswerLimit(bytes: try readLimit(), isTry: try readFlag())
  }

  mutating func readPhase() throws(MalformedMessage) -> MapRead.Phase {
    guard let phase = MapRead.Phase(rawValue: try readByte()) else { throw MalformedMessage() }
    return phase
  }
}
