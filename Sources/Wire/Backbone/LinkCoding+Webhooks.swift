// How events of clients, and questions about webhooks, stand in the body of a link message.

extension ByteSink {
  mutating func write(_ event: ClientEvent) {
    write(byte: event.kind.rawValue)
    write(event.user)
    write(event.client)
    write(flag: event.channel != nil)
    if let channel = event.channel { write(channel) }
    write(UInt64(event.code))
    write(event.reason)
  }

  mutating func write(_ request: WebhookRequest) {
    switch request {
    case .list: write(byte: 1)
    case .givenUp(let name, let since, let limit):
      write(byte: 2)
      write(name)
      write(since)
      write(UInt64(limit))
    case .resend(let name, let limit):
      write(byte: 3)
      write(name)
      write(UInt64(limit))
    }
  }
}

extension ByteReader {
  mutating func readClientEvent() throws(MalformedMessage) -> ClientEvent {
    guard let kind = ClientEvent.Kind(rawValue: try readByte()) else { throw MalformedMessage() }
    var event = ClientEvent(kind, user: try readString(), client: try readString())
    if try readFlag() { event.channel = try readChannel() }
    guard let code = UInt16(exactly: try readNumber()) else { throw MalformedMessage() }
    event.code = code
    event.reason = try readString()
    return event
  }

  mutating func readWebhookRequest() throws(MalformedMessage) -> WebhookRequest {
    switch try readByte() {
    case 1: return .list
    case 2: return .givenUp(try readString(), since: try readNumber(), limit: try readLimit())
    case 3: return .resend(try readString(), limit: try readLimit())
    default: throw MalformedMessage()
    }
  }
}
