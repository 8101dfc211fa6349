// How intervals of subscriptions stand in link messages, and in the rows of their file.

extension CoverageStart: ByteEncodable {
  public var bytes: [UInt8] { encoded }

  func write(to sink: inout some ByteSink) {
    sink.write(position)
    sink.write(optional: since)
    sink.write(flag: recovered)
    sink.write(optional: filter)
    sink.write(optional: audience)
    sink.write(flag: isConflated)
    sink.write(UInt64(bitPattern: at))
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self = try reader.readCoverageStart()
    try reader.requireEnd()
  }
}

extension ByteSink {
  fileprivate mutating func write(optional filter: TagFilter?) {
    write(flag: filter != nil)
    filter?.write(to: &self)
  }

  mutating func write(_ query: CoverageQuery) {
    write(query.user)
    write(query.channel)
    write(query.position)
  }

  mutating func write(_ findings: CoverageFindings) {
    write(flag: findings.isKept)
    write(UInt64(bitPattern: findings.keptSince))
    write(findings.lostRecords)
    write(UInt64(findings.intervals.count))
    for interval in findings.intervals { write(interval) }
  }

  private mutating func write(_ interval: CoverageInterval) {
    write(interval.client)
    interval.start.write(to: &self)
    write(flag: interval.reach != nil)
    if let reach = interval.reach {
      write(reach.covered)
      write(reach.written)
      write(reach.unsure)
      write(flag: reach.isUnsent)
    }
    write(flag: interval.end != nil)
    if let end = interval.end {
      write(byte: end.cause.rawValue)
      write(UInt64(end.code))
      write(UInt64(bitPattern: end.at))
    }
  }
}

extension ByteReader {
  fileprivate mutating func readOptionalFilter() throws(MalformedMessage) -> TagFilter? {
    try readFlag() ? try readFilter() : nil
  }

  mutating func readCoverageStart() throws(MalformedMessage) -> CoverageStart {
    CoverageStart(
      position: try readPosition(), since: try readOptionalPosition(), recovered: try readFlag(),
      filter: try readOptionalFilter(), audience: try readOptionalFilter(), isConflated: try readFlag(),
      at: Int64(bitPattern: try readNumber()))
  }

  mutating func readCoverageQuery() throws(MalformedMessage) -> CoverageQuery {
    CoverageQuery(user: try readString(), channel: try readChannel(), position: try readPosition())
  }

  mutating func readCoverageFindings() throws(MalformedMessage) -> CoverageFindings {
    var findings = CoverageFindings(
      isKept: try readFlag(), keptSince: Int64(bitPattern: try readNumber()), lostRecords: try readNumber())
    let count = try readCount()
    guard count <= CoverageFindings.limit else { throw MalformedMessage() }
    for _ in 0..<count { findings.intervals.append(try readInterval()) }
    return findings
  }

  private mutating func readInterval() throws(MalformedMessage) -> CoverageInterval {
    var interval = CoverageInterval(client: try readString(), start: try readCoverageStart())
    if try readFlag() {
      interval.reach = CoverageReach(
        covered: try readNumber(), written: try readNumber(), unsure: try readNumber(), isUnsent: try readFlag())
    }
    if try readFlag() {
      guard let cause = CoverageEnd.Cause(rawValue: try readByte()) else { throw MalformedMessage() }
      interval.end = CoverageEnd(cause, code: try readLimit(), at: Int64(bitPattern: try readNumber()))
    }
    return interval
  }
}

extension CoverageFindings {
  /// What the findings take in memory, roughly and in bytes.
  var cost: Int {
    intervals.reduce(64) { sum, interval in
      sum + 256 + interval.client.utf8.count + 64 * (interval.start.filter?.conditionCount ?? 0)
        + 64 * (interval.start.audience?.conditionCount ?? 0)
    }
  }
}
