// How the bodies of link messages are written and read: one pair of functions for each type, the writer first.

extension ByteSink {
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
    write(flag: publication.change != nil)
    if let change = publication.change { write(change) }
  }

  private mutating func write(_ change: KeyChange) {
    write(change.key)
    write(flag: change.removed)
    write(UInt64(bitPattern: change.score))
    write(UInt64(bitPattern: change.expires))
  }

  mutating func write(_ publications: [Publication]) {
    write(UInt64(publications.count))
    for publication in publications { write(publication) }
  }
}

extension ByteReader {
  mutating func readChannel() throws(MalformedMessage) -> ChannelName {
    // The gateway checked the configured limit; only a name that would break the services' tap or the log is refused
    // here.
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
      info: try readOptionalInfo(), tags: try readTags(), change: try readFlag() ? try readChange() : nil)
  }

  private mutating func readChange() throws(MalformedMessage) -> KeyChange {
    KeyChange(
      key: try readString(), removed: try readFlag(), score: Int64(bitPattern: try readNumber()),
      expires: Int64(bitPattern: try readNumber()))
  }

  mutating func readPublications() throws(MalformedMessage) -> [Publication] {
    let count = try readCount()
    var publications: [Publication] = []
    // A count is no more than a promise, and an element takes more memory than a byte of the message that promises it.
    publications.reserveCapacity(min(count, 1024))
    for _ in 0..<count { publications.append(try readPublication()) }
    return publications
  }

  mutating func readLimit() throws(MalformedMessage) -> UInt32 { UInt32(clamping: try readNumber()) }
}

extension LinkPublication: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  func write(to sink: inout some ByteSink) {
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
    var sink: [UInt8] = []
    sink.write(channel)
    sink.write(member)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(channel: try reader.readChannel(), member: try reader.readInfo())
    try reader.requireEnd()
  }
}

extension LinkAudience {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(channel)
    sink.write(user)
    sink.write(byte: admission.rawValue)
    sink.write(flag: audience != nil)
    audience?.write(to: &sink)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let (channel, user) = (try reader.readChannel(), try reader.readString())
    guard let admission = Admission(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    self.init(
      channel: channel, user: user, admission,
      audience: try reader.readFlag() ? try reader.readFilter() : nil)
    try reader.requireEnd()
  }
}
