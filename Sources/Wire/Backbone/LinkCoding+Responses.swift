// How answers stand in the body of a link message.

private enum ResponseKind: UInt8 {
  case published = 1
  case subscribed, done, history, presence, presenceStats, channels, failed, mapPage, unread, result, tooLarge
}

extension LinkReply: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  func write(to sink: inout some ByteSink) {
    sink.write(id)
    write(response, to: &sink)
  }

  private func write(_ response: BrokerResponse, to writer: inout some ByteSink) {
    switch response {
    case .published(let position):
      writer.write(byte: ResponseKind.published.rawValue)
      writer.write(position)
    case .subscribed(let subscribed):
      writer.write(byte: ResponseKind.subscribed.rawValue)
      writer.write(subscribed.position)
      writer.write(flag: subscribed.recovered)
      writer.write(subscribed.publications)
      writer.write(subscribed.entries)
      writer.write(flag: subscribed.audience != nil)
      subscribed.audience?.write(to: &writer)
    case .done:
      writer.write(byte: ResponseKind.done.rawValue)
    case .history(let page):
      writer.write(byte: ResponseKind.history.rawValue)
      writer.write(page.position)
      writer.write(page.publications)
    case .presence(let members, let isPartial):
      writer.write(byte: ResponseKind.presence.rawValue)
      writer.write(flag: isPartial)
      writer.write(UInt64(members.count))
      for member in members { writer.write(member) }
    case .presenceStats(let clients, let users):
      writer.write(byte: ResponseKind.presenceStats.rawValue)
      writer.write(UInt64(clients))
      writer.write(UInt64(users))
    case .channels(let channels):
      writer.write(byte: ResponseKind.channels.rawValue)
      writer.write(UInt64(channels.count))
      for channel in channels { writer.write(channel) }
    case .mapPage(let page):
      writer.write(byte: ResponseKind.mapPage.rawValue)
      writer.write(byte: page.phase.rawValue)
      writer.write(page.position)
      writer.write(page.entries)
      writer.write(page.changes)
      writer.write(page.cursor)
    case .unread(let counts):
      writer.write(byte: ResponseKind.unread.rawValue)
      writer.write(UInt64(counts.count))
      for count in counts { writer.write(count) }
    case .result(let data):
      writer.write(byte: ResponseKind.result.rawValue)
      writer.write(data)
    case .tooLarge:
      writer.write(byte: ResponseKind.tooLarge.rawValue)
    case .failed(let error):
      writer.write(byte: ResponseKind.failed.rawValue)
      writer.write(UInt64(error.code))
      writer.write(error.message)
      writer.write(flag: error.temporary)
    }
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    let response = try Self.readResponse(from: &reader)
    try reader.requireEnd()
    self.init(id: id, response: response)
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
          audience: try reader.readFlag() ? try reader.readFilter() : nil))
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
