// How the bodies of link messages are written and read: one pair of functions for each type, the writer first.

extension BackboneSink {
  @inline(__always)
  mutating func write(_ channel: ChannelName) { write(channel.string) }

  @inline(__always)
  mutating func write(_ position: StreamPosition) {
    write(position.epoch)
    write(position.offset)
  }

  @inline(__always)
  mutating func write(_ info: ClientInfo) {
    write(info.user)
    write(info.client)
    write(optional: info.connectionInfo)
    write(optional: info.channelInfo)
  }

  @inline(__always)
  mutating func write(optional info: ClientInfo?) {
    write(flag: info != nil)
    if let info { write(info) }
  }

  @inline(__always)
  mutating func write(optional position: StreamPosition?) {
    write(flag: position != nil)
    if let position { write(position) }
  }

  @inline(__always)
  mutating func write(_ tags: [String: String]) {
    write(UInt64(tags.count))
    if !tags.isEmpty { writeSorted(tags) }
  }

  private mutating func writeSorted(_ tags: [String: String]) {
    for (key, value) in tags.sorted(by: { $0.key < $1.key }) {
      write(key)
      write(value)
    }
  }

  @inline(__always)
  mutating func write(_ publication: Publication) {
    write(publication.offset)
    write(UInt64(bitPattern: publication.time))
    write(publication.data)
    write(optional: publication.info)
    write(publication.tags)
  }

  mutating func write(_ publications: [Publication]) {
    write(UInt64(publications.count))
    for publication in publications { write(publication) }
  }
}

extension ByteReader {
  mutating func readChannel() throws(MalformedMessage) -> ChannelName {
    // The gateway checked the configured limit; here only what would break the tap or the log is refused.
    ChannelName(checked: try readName(limit: 65_536))
  }

  mutating func readPosition() throws(MalformedMessage) -> StreamPosition {
    StreamPosition(epoch: try readString(), offset: try readNumber())
  }

  mutating func readOptionalPosition() throws(MalformedMessage) -> StreamPosition? {
    try readFlag() ? try readPosition() : nil
  }

  mutating func readInfo() throws(MalformedMessage) -> ClientInfo {
    ClientInfo(
      user: try readString(), client: try readString(), connectionInfo: try readOptionalBytes(),
      channelInfo: try readOptionalBytes())
  }

  mutating func readOptionalInfo() throws(MalformedMessage) -> ClientInfo? {
    try readFlag() ? try readInfo() : nil
  }

  mutating func readTags() throws(MalformedMessage) -> [String: String] {
    let count = try readCount()
    var tags: [String: String] = [:]
    if count == 0 { return tags }
    for _ in 0..<count {
      let key = try readString()
      tags[key] = try readString()
    }
    return tags
  }

  mutating func readPublication() throws(MalformedMessage) -> Publication {
    Publication(
      offset: try readNumber(), time: Int64(bitPattern: try readNumber()), data: try readBytes(),
      info: try readOptionalInfo(), tags: try readTags())
  }

  mutating func readPublications() throws(MalformedMessage) -> [Publication] {
    let count = try readCount()
    var publications: [Publication] = []
    // A count is no more than a promise: elements are larger in memory than the byte that a promise takes.
    publications.reserveCapacity(min(count, 1024))
    for _ in 0..<count { publications.append(try readPublication()) }
    return publications
  }

  mutating func readLimit() throws(MalformedMessage) -> UInt32 { UInt32(clamping: try readNumber()) }
}

extension LinkPublication: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  func write(to sink: inout some BackboneSink) {
    sink.write(channel)
    sink.write(publication)
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(channel: try reader.readChannel(), publication: try reader.readPublication())
    try reader.requireEnd()
  }
}

extension LinkPresenceEvent {
  public var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.write(channel)
    writer.write(member)
    return writer.bytes
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(channel: try reader.readChannel(), member: try reader.readInfo())
    try reader.requireEnd()
  }
}

private enum RequestKind: UInt8 {
  case publish = 1
  case subscribe, unsubscribe, history, historyRemove, presence, presenceStats, channels
}

extension LinkRequest: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  /// The bytes of a first try, written from a request that goes elsewhere then.
  public static func bytes(id: UInt64, oldestPending: UInt64, isResync: Bool, _ request: BrokerRequest) -> [UInt8] {
    LinkRequest(id: id, oldestPending: oldestPending, isResync: isResync, request: request).encoded
  }

  func write(to sink: inout some BackboneSink) {
    sink.write(id)
    sink.write(oldestPending)
    sink.write(flag: isRetry)
    sink.write(flag: isResync)
    write(request, to: &sink)
  }

  private func write(_ request: BrokerRequest, to writer: inout some BackboneSink) {
    switch request {
    case .publish(let publish):
      writer.write(byte: RequestKind.publish.rawValue)
      writer.write(publish.channel)
      writer.write(publish.data)
      writer.write(optional: publish.info)
      writer.write(publish.tags)
      writer.write(flag: publish.idempotencyKey != nil)
      if let key = publish.idempotencyKey { writer.write(key) }
    case .subscribe(let subscribe):
      writer.write(byte: RequestKind.subscribe.rawValue)
      writer.write(subscribe.channel)
      writer.write(optional: subscribe.since)
      writer.write(UInt64(subscribe.recoveryLimit))
      writer.write(optional: subscribe.member)
    case .unsubscribe(let unsubscribe):
      writer.write(byte: RequestKind.unsubscribe.rawValue)
      writer.write(unsubscribe.channel)
      writer.write(optional: unsubscribe.member)
      writer.write(flag: unsubscribe.keepsInterest)
    case .history(let history):
      writer.write(byte: RequestKind.history.rawValue)
      writer.write(history.channel)
      writer.write(UInt64(history.limit))
      writer.write(optional: history.since)
      writer.write(flag: history.reverse)
    case .historyRemove(let channel):
      writer.write(byte: RequestKind.historyRemove.rawValue)
      writer.write(channel)
    case .presence(let channel):
      writer.write(byte: RequestKind.presence.rawValue)
      writer.write(channel)
    case .presenceStats(let channel):
      writer.write(byte: RequestKind.presenceStats.rawValue)
      writer.write(channel)
    case .channels(let prefix):
      writer.write(byte: RequestKind.channels.rawValue)
      writer.write(prefix)
    }
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    let oldestPending = try reader.readNumber()
    let isRetry = try reader.readFlag()
    let isResync = try reader.readFlag()
    let request = try Self.readRequest(from: &reader)
    try reader.requireEnd()
    self.init(id: id, oldestPending: oldestPending, isRetry: isRetry, isResync: isResync, request: request)
  }

  private static func readRequest(from reader: inout ByteReader) throws(MalformedMessage) -> BrokerRequest {
    guard let kind = RequestKind(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    switch kind {
    case .publish:
      return .publish(
        .init(
          channel: try reader.readChannel(), data: try reader.readBytes(), info: try reader.readOptionalInfo(),
          tags: try reader.readTags(), idempotencyKey: try reader.readOptionalString()))
    case .subscribe:
      return .subscribe(
        .init(
          channel: try reader.readChannel(), since: try reader.readOptionalPosition(),
          recoveryLimit: try reader.readLimit(), member: try reader.readOptionalInfo()))
    case .unsubscribe:
      return .unsubscribe(
        .init(
          channel: try reader.readChannel(), member: try reader.readOptionalInfo(),
          keepsInterest: try reader.readFlag()))
    case .history:
      return .history(
        .init(
          channel: try reader.readChannel(), limit: try reader.readLimit(), since: try reader.readOptionalPosition(),
          reverse: try reader.readFlag()))
    case .historyRemove: return .historyRemove(try reader.readChannel())
    case .presence: return .presence(try reader.readChannel())
    case .presenceStats: return .presenceStats(try reader.readChannel())
    case .channels: return .channels(prefix: try reader.readString())
    }
  }
}

private enum ResponseKind: UInt8 {
  case published = 1
  case subscribed, done, history, presence, presenceStats, channels, failed
}

extension LinkReply: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  func write(to sink: inout some BackboneSink) {
    sink.write(id)
    write(response, to: &sink)
  }

  private func write(_ response: BrokerResponse, to writer: inout some BackboneSink) {
    switch response {
    case .published(let position):
      writer.write(byte: ResponseKind.published.rawValue)
      writer.write(position)
    case .subscribed(let subscribed):
      writer.write(byte: ResponseKind.subscribed.rawValue)
      writer.write(subscribed.position)
      writer.write(flag: subscribed.recovered)
      writer.write(subscribed.publications)
    case .done:
      writer.write(byte: ResponseKind.done.rawValue)
    case .history(let page):
      writer.write(byte: ResponseKind.history.rawValue)
      writer.write(page.position)
      writer.write(page.publications)
    case .presence(let members):
      writer.write(byte: ResponseKind.presence.rawValue)
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
          publications: try reader.readPublications()))
    case .done: return .done
    case .history:
      return .history(.init(position: try reader.readPosition(), publications: try reader.readPublications()))
    case .presence:
      var members: [ClientInfo] = []
      for _ in 0..<(try reader.readCount()) { members.append(try reader.readInfo()) }
      return .presence(members)
    case .presenceStats: return .presenceStats(clients: try reader.readLimit(), users: try reader.readLimit())
    case .channels:
      var channels: [ChannelName] = []
      for _ in 0..<(try reader.readCount()) { channels.append(try reader.readChannel()) }
      return .channels(channels)
    case .failed:
      return .failed(
        ClientError(
          code: try reader.readLimit(), message: try reader.readString(), temporary: try reader.readFlag()))
    }
  }
}
