import Wire

extension Explanation {
  /// The answer of the method `why`.
  public var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("verdict", verdict.rawValue)
      writer.write("sentence", sentence)
      writer.write("user", user)
      writer.write("channel", facts.channel.string)
      writer.write("offset", facts.position.offset)
      writer.write("epoch", facts.position.epoch)
      if let time = facts.publication?.time { writer.write("published", Self.time(time)) }
      if let seal = facts.seal { writer.write("sealed", seal.rawValue) }
      writer.list("subscriptions") { writer in
        for device in devices { writer.object { write(device, &$0) } }
      }
      if let notifications { writer.write("notifications", raw: notifications) }
      if !notes.isEmpty {
        writer.list("notes") { writer in for sentence in noteSentences { writer.write(element: sentence) } }
      }
    }
    return writer.bytes
  }

  private func write(_ device: Device, _ writer: inout JSONWriter) {
    let interval = device.interval
    writer.write("client", interval.client)
    writer.write("finding", device.finding.word)
    writer.write("sentence", device.sentence(facts))
    writer.write("began", Self.time(interval.start.at))
    if interval.end?.cause != .refused { writer.write("from", interval.start.position.offset) }
    if let since = interval.start.since { writer.write("asked_since", since.offset) }
    if let filter = interval.start.filter { writer.write("filter", filter.text()) }
    if let audience = interval.start.audience, !device.isVeiled { writer.write("audience", audience.text()) }
    if let written = interval.sure { writer.write("written", written) }
    if let end = interval.end {
      writer.write("ended", Self.time(end.at))
      if device.isVeiled, end.cause.isVeiled {
        writer.write("cause", "ended")
        return
      }
      writer.write("cause", "\(end.cause)")
      if end.code != 0 { writer.write("code", end.code) }
    }
  }
}

extension CoverageFinding {
  /// The finding for programs.
  var word: String {
    switch self {
    case .delivered: "delivered"
    case .recovered: "recovered"
    case .claimed: "claimed"
    case .perhaps(let doubt): "perhaps_\(doubt.rawValue)"
    case .underWay: "under_way"
    case .unwritten: "not_read"
    case .filtered(let filter): "filtered_\(filter.rawValue)"
    case .gap: "gap"
    case .before: "before"
    case .after: "after"
    case .unsent: "not_signed_in"
    case .refused: "refused"
    }
  }
}
