// How answers stand in the body of a link message.

private enum ResponseKind: UInt8 {
  case published = 1
  case subscribed, done, history, presence, presenceStats, channels, failed, mapPage, unread, result, tooLarge
  case channelCounts, info
}

extension LinkReply: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  func write(to sink: inout some ByteSink) {
    sink.write(id)
    write(response, to: &sink)
  }

  /// Offsets begin at 1, so that 0 says that nothing is known of them.
  private func write(_ gap: RecoveryGap, to sink: inout some ByteSink) {
    sink.write(gap.missing?.lowerBound ?? 0)
    sink.write(gap.missing?.upperBound ?? 0)
    sink.write(gap.reason.rawValue)
  }

  private func write(_ response: BrokerResponse, to sink: inout some ByteSink) {
    switch response {
    case .published(let position):
      sink.write(byte: ResponseKind.published.rawValue)
      sink.write(position)
    case .subscribed(let subscribed):
      sink.write(byte: ResponseKind.subscribed.rawValue)
      sink.write(subscribed.position)
      sink.write(flag: subscribed.recovered)
      sink.write(subscribed.publications)
      sink.write(subscribed.entries)
      sink.write(flag: subscribed.audience != nil)
      subscribed.audience?.write(to: &sink)
      sink.write(flag: subscribed.gap != nil)
      if let gap = subscribed.gap { write(gap, to: &sink) }
    case .done:
      sink.write(byte: ResponseKind.done.rawValue)
    case .history(let page):
      sink.write(byte: ResponseKind.history.rawValue)
      sink.write(page.position)
      sink.write(page.publications)
    case .presence(let members, let isPartial):
      sink.write(byte: ResponseKind.presence.rawValue)
      sink.write(flag: isPartial)
      sink.write(UInt64(members.count))
      for member in members { sink.write(member) }
    case .presenceStats(let clients, let users):
      sink.write(byte: ResponseKind.presenceStats.rawValue)
      sink.write(UInt64(clients))
      sink.write(UInt64(users))
    case .channels(let channels):
      sink.write(byte: ResponseKind.channels.rawValue)
      sink.write(UInt64(channels.count))
      for channel in channels { sink.write(channel) }
    case .channelCounts(let counts, let unanswered): write(counts, unanswered, to: &sink)
    case .info(let info):
      sink.write(byte: ResponseKind.info.rawValue)
      sink.write(info)
    case .mapPage(let page):
      sink.write(byte: ResponseKind.mapPage.rawValue)
      sink.write(byte: page.phase.rawValue)
      sink.write(page.position)
      sink.write(page.entries)
      sink.write(page.changes)
      sink.write(page.cursor)
    case .unread(let counts):
      sink.write(byte: ResponseKind.unread.rawValue)
      sink.write(UInt64(counts.count))
      for count in counts { sink.write(count) }
    case .result(let data):
      sink.write(byte: ResponseKind.result.rawValue)
      sink.write(data)
    case .tooLarge:
      sink.write(byte: ResponseKind.tooLarge.rawValue)
    case .failed(let error):
      sink.write(byte: ResponseKind.failed.rawValue)
      sink.write(UInt64(error.code))
      sink.write(error.message)
      sink.write(flag: error.temporary)
    }
  }

  private func write(_ counts: ChannelCounts, _ unanswered: UInt32, to sink: inout some ByteSink) {
    sink.write(byte: ResponseKind.channelCounts.rawValue)
    sink.write(counts)
    sink.write(UInt64(unanswered))
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    let response = try Self.readResponse(from: &reader)
    try reader.requireEnd()
    self.init(id: id, response: response)
  }

  private static func readGap(from reader: inout ByteReader) throws(MalformedMessage) -> RecoveryGap {
    let (from, to) = (try reader.readNumber(), try reader.readNumber())
    guard from <= to else { throw MalformedMessage() }
    return RecoveryGap(from == 0 ? nil : from...to, .init(rawValue: try reader.readString()))
  }

  private static func readResponse(from reader: inout ByteReader) throws(MalformedMessage) -> BrokerResponse {
    guard let kind = ResponseKind(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    switch kind {
    case .published: return .published(try reader.readPosition())
    case .subscribed:
      return .subscribed(
        .init(
          position: try reader.readPosition(), recovered: try reader.readFlag(),
          publications: try reader.readPublications(), entries: try reader.readPublications(),
          audience: try reader.readFlag() ? try reader.readFilter() : nil,
          gap: try reader.readFlag() ? try readGap(from: &reader) : nil))
    case .done: return .done
    case .history:
      return .history(.init(position: try reader.readPosition(), publications: try reader.readPublications()))
    case .presence:
      let isPartial = try reader.readFlag()
      var members: [ClientInfo] = []
      for _ in 0..<(try reader.readCount()) { members.append(try reader.readInfo()) }
      return .presence(members, isPartial: isPartial)
    case .presenceStats: return .presenceStats(clients: try reader.readLimit(), users: try reader.readLimit())
    case .channels:
      var channels: [ChannelName] = []
      for _ in 0..<(try reader.readCount()) { channels.append(try reader.readChannel()) }
      return .channels(channels)
    case .channelCounts:
      return .channelCounts(try reader.readChannelCounts(), unanswered: try reader.readLimit())
    case .info: return .info(try reader.readServerInfo())
    case .mapPage:
      return .mapPage(
        .init(
          phase: try reader.readPhase(), position: try reader.readPosition(), entries: try reader.readPublications(),
          changes: try reader.readPublications(), cursor: try reader.readString()))
    case .unread:
      var counts: [UInt64] = []
      for _ in 0..<(try reader.readCount()) { counts.append(try reader.readNumber()) }
      return .unread(counts)
    case .result: return .result(try reader.readBytes())
    case .tooLarge: return .tooLarge
    case .failed:
      return .failed(
        ClientError(
          code: try reader.readLimit(), message: try reader.readString(), temporary: try reader.readFlag()))
    }
  }
}
