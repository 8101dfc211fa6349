// How surveys, and what they find, stand in the body of a link message.

private enum SurveyKind: UInt8 {
  case counts = 1
  case channels
  case inspect = 70
  case top = 71
  case coverage = 60
}

extension LinkSurvey {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(id)
    switch survey {
    case .counts: sink.write(byte: SurveyKind.counts.rawValue)
    case .channels(let pattern, let limit):
      sink.write(byte: SurveyKind.channels.rawValue)
      sink.write(pattern)
      sink.write(UInt64(limit.channels))
      sink.write(UInt64(limit.bytes))
    case .inspect(let request):
      sink.write(byte: SurveyKind.inspect.rawValue)
      sink.write(request)
    case .top: sink.write(byte: SurveyKind.top.rawValue)
    case .coverage(let query):
      sink.write(byte: SurveyKind.coverage.rawValue)
      sink.write(query)
    }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    guard let kind = SurveyKind(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    let survey: Survey
    switch kind {
    case .counts: survey = .counts
    case .channels:
      survey = .channels(
        try reader.readPattern(), ChannelLimit(channels: try reader.readLimit(), bytes: try reader.readLimit()))
    case .inspect: survey = .inspect(try reader.readInspectRequest())
    case .top: survey = .top
    case .coverage: survey = .coverage(try reader.readCoverageQuery())
    }
    try reader.requireEnd()
    self.init(id: id, survey)
  }
}

extension LinkFindings {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(id)
    switch findings {
    case .counts(let counts):
      sink.write(byte: SurveyKind.counts.rawValue)
      sink.write(counts)
    case .channels(let counts):
      sink.write(byte: SurveyKind.channels.rawValue)
      sink.write(counts)
    case .inspected(let bytes):
      sink.write(byte: SurveyKind.inspect.rawValue)
      sink.write(bytes)
    case .top(let top):
      sink.write(byte: SurveyKind.top.rawValue)
      sink.write(top)
    case .coverage(let found):
      sink.write(byte: SurveyKind.coverage.rawValue)
      sink.write(found)
    }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    guard let kind = SurveyKind(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    let findings: Findings
    switch kind {
    case .counts: findings = .counts(try reader.readGatewayCounts())
    case .channels: findings = .channels(try reader.readChannelCounts())
    case .inspect: findings = .inspected(try reader.readInspected())
    case .top: findings = .top(try reader.readTopFindings())
    case .coverage: findings = .coverage(try reader.readCoverageFindings())
    }
    try reader.requireEnd()
    self.init(id: id, findings)
  }
}

extension ByteSink {
  mutating func write(_ pattern: ChannelPattern) {
    write(flag: pattern.isBeginning)
    write(pattern.text)
  }

  mutating func write(_ counts: ChannelCounts) {
    write(flag: counts.hasMore)
    write(UInt64(counts.entries.count))
    for entry in counts.entries {
      write(entry.channel)
      write(entry.clients)
    }
  }

  mutating func write(_ info: ServerInfo) {
    write(info.broker.version)
    write(info.broker.uptime)
    write(info.broker.channels)
    write(info.broker.publications)
    write(UInt64(info.gateways.count))
    for gateway in info.gateways {
      write(fixed: gateway.number)
      write(gateway.counts)
    }
    write(UInt64(info.unanswered))
  }

  fileprivate mutating func write(_ counts: GatewayCounts) {
    write(counts.name)
    write(counts.version)
    write(counts.uptime)
    write(counts.clients)
    write(counts.users)
    write(counts.subscriptions)
    write(counts.channels)
  }
}

extension ByteReader {
  mutating func readPattern() throws(MalformedMessage) -> ChannelPattern {
    let isBeginning = try readFlag()
    let text = try readString()
    guard let pattern = isBeginning ? ChannelPattern(beginning: text) : ChannelPattern(text) else {
      throw MalformedMessage()
    }
    return pattern
  }

  mutating func readChannelCounts() throws(MalformedMessage) -> ChannelCounts {
    let hasMore = try readFlag()
    let count = try readCount()
    var entries: [ChannelCounts.Entry] = []
    // A count is no more than a promise, and an element takes more memory than a byte of the message that promises it.
    entries.reserveCapacity(min(count, 1024))
    for _ in 0..<count { entries.append(.init(try readChannel(), clients: try readNumber())) }
    return try ChannelCounts(received: entries, hasMore: hasMore)
  }

  mutating func readServerInfo() throws(MalformedMessage) -> ServerInfo {
    let broker = ServerInfo.Broker(
      version: try readString(), uptime: try readNumber(), channels: try readNumber(),
      publications: try readNumber())
    var gateways: [ServerInfo.Gateway] = []
    for _ in 0..<(try readCount()) { gateways.append(.init(try readFixed(), try readGatewayCounts())) }
    return ServerInfo(broker: broker, gateways: gateways, unanswered: try readLimit())
  }

  fileprivate mutating func readGatewayCounts() throws(MalformedMessage) -> GatewayCounts {
    GatewayCounts(
      name: try readString(), version: try readString(), uptime: try readNumber(), clients: try readNumber(),
      users: try readNumber(), subscriptions: try readNumber(), channels: try readNumber())
  }
}
