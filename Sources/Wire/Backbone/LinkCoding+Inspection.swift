// How inspections stand in the body of a link message.

private enum InspectionKind: UInt8 {
  case channel = 1
  case user, client, access
}

extension ByteSink {
  mutating func write(_ request: InspectRequest) {
    switch request.subject {
    case .channel(let channel):
      write(byte: InspectionKind.channel.rawValue)
      write(channel)
    case .user(let user):
      write(byte: InspectionKind.user.rawValue)
      write(user)
    case .client(let client):
      write(byte: InspectionKind.client.rawValue)
      write(client)
    case .access(let user, let action, let channel):
      write(byte: InspectionKind.access.rawValue)
      write(user)
      write(action.rawValue)
      write(channel)
    }
    write(visible: request.visible)
  }

  mutating func write(visible patterns: [NamePattern]?) {
    write(flag: patterns != nil)
    guard let patterns else { return }
    write(UInt64(patterns.count))
    for pattern in patterns { write(pattern.description) }
  }

  mutating func write(_ top: TopFindings) {
    write(UInt64(top.channels.count))
    for channel in top.channels {
      write(channel.channel)
      write(channel.subscribers)
      write(channel.bytesPerSecond)
      write(flag: channel.offset != nil)
      if let offset = channel.offset { write(offset) }
    }
    write(top.slowest)
    write(top.busiest)
  }

  private mutating func write(_ clients: [TopFindings.Client]) {
    write(UInt64(clients.count))
    for client in clients {
      write(client.client)
      write(client.user)
      write(client.address)
      write(client.waitingBytes)
      write(client.subscriptions)
    }
  }
}

extension ByteReader {
  mutating func readInspectRequest() throws(MalformedMessage) -> InspectRequest {
    guard let kind = InspectionKind(rawValue: try readByte()) else { throw MalformedMessage() }
    let subject: Inspection
    switch kind {
    case .channel: subject = .channel(try readChannel())
    case .user: subject = .user(try readString())
    case .client: subject = .client(try readString())
    case .access:
      let user = try readString()
      guard let action = ChannelAction(rawValue: try readString()) else { throw MalformedMessage() }
      subject = .access(user: user, action, try readChannel())
    }
    return InspectRequest(subject, visible: try readVisible())
  }

  mutating func readVisible() throws(MalformedMessage) -> [NamePattern]? {
    guard try readFlag() else { return nil }
    var patterns: [NamePattern] = []
    for _ in 0..<(try readCount()) { patterns.append(NamePattern(try readString())) }
    return patterns
  }

  /// What a gateway found, as JSON. It goes into an answer as it is, so it is looked at first.
  mutating func readInspected() throws(MalformedMessage) -> [UInt8] {
    let bytes = try readBytes()
    guard bytes.count <= InspectRequest.answerBytes, bytes.first == UInt8(ascii: "{"), JSONSyntax.isValid(bytes) else {
      throw MalformedMessage()
    }
    return bytes
  }

  mutating func readTopFindings() throws(MalformedMessage) -> TopFindings {
    var channels: [TopFindings.Channel] = []
    for _ in 0..<(try readTopCount()) {
      channels.append(
        .init(
          try readChannel(), subscribers: try readNumber(), bytesPerSecond: try readNumber(),
          offset: try readFlag() ? try readNumber() : nil))
    }
    return TopFindings(channels: channels, slowest: try readTopClients(), busiest: try readTopClients())
  }

  private mutating func readTopClients() throws(MalformedMessage) -> [TopFindings.Client] {
    var clients: [TopFindings.Client] = []
    for _ in 0..<(try readTopCount()) {
      clients.append(
        .init(
          client: try readString(), user: try readString(), address: try readString(), waitingBytes: try readNumber(),
          subscriptions: try readNumber()))
    }
    return clients
  }

  private mutating func readTopCount() throws(MalformedMessage) -> Int {
    let count = try readCount()
    guard count <= TopFindings.most else { throw MalformedMessage() }
    return count
  }
}
