// How orders about connections stand in the body of a link message.

private enum OrderKind: UInt8 {
  case disconnect = 1
  case unsubscribe, revoke, subscribe, refresh
  case forget = 80
  case readmit = 81
}

private enum TokensKind: UInt8 {
  case id = 1
  case user
}

private enum ExpiryKind: UInt8 {
  case now = 1
  case at, never
}

extension LinkOrder {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(id)
    switch order {
    case .disconnect(let target, let code):
      sink.write(byte: OrderKind.disconnect.rawValue)
      sink.write(target)
      sink.write(code)
    case .unsubscribe(let target, let channel, let code):
      sink.write(byte: OrderKind.unsubscribe.rawValue)
      sink.write(target)
      sink.write(channel)
      sink.write(code)
    case .revoke(let revocations, let replacesAll, let isComplete):
      sink.write(byte: OrderKind.revoke.rawValue)
      sink.write(revocations)
      sink.write(flag: replacesAll)
      sink.write(flag: isComplete)
    case .subscribe(let target, let subscription):
      sink.write(byte: OrderKind.subscribe.rawValue)
      sink.write(target)
      sink.write(subscription)
    case .refresh(let target, let expiry):
      sink.write(byte: OrderKind.refresh.rawValue)
      sink.write(target)
      sink.write(expiry)
    case .forget(let users):
      sink.write(byte: OrderKind.forget.rawValue)
      sink.write(UInt64(users.count))
      for user in users { sink.write(user) }
    case .readmit(let revocations):
      sink.write(byte: OrderKind.readmit.rawValue)
      sink.write(revocations)
    }
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    let id = try reader.readNumber()
    guard let kind = OrderKind(rawValue: try reader.readByte()) else { throw MalformedMessage() }
    let order: SessionOrder
    switch kind {
    case .disconnect: order = .disconnect(try reader.readTarget(), try reader.readDisconnectCode())
    case .unsubscribe:
      order = .unsubscribe(try reader.readTarget(), try reader.readChannel(), try reader.readUnsubscribeCode())
    case .revoke:
      let revocations = try reader.readRevocations()
      order = .revoke(revocations, replacesAll: try reader.readFlag(), isComplete: try reader.readFlag())
    case .subscribe: order = .subscribe(try reader.readTarget(), try reader.readOrderedSubscription())
    case .refresh: order = .refresh(try reader.readTarget(), try reader.readExpiry())
    case .forget:
      var users: [String] = []
      for _ in 0..<(try reader.readCount()) { users.append(try reader.readString()) }
      order = .forget(users)
    case .readmit: order = .readmit(try reader.readRevocations())
    }
    try reader.requireEnd()
    self.init(id: id, order: order)
  }
}

extension LinkObeyed {
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(id)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self.init(id: try reader.readNumber())
    try reader.requireEnd()
  }
}

extension Revocation {
  /// A revocation as the log keeps it.
  public var bytes: [UInt8] {
    var sink: [UInt8] = []
    sink.write(self)
    return sink
  }

  public init(bytes: [UInt8]) throws(MalformedMessage) {
    var reader = ByteReader(bytes)
    self = try reader.readRevocation()
    try reader.requireEnd()
  }
}

extension ByteSink {
  mutating func write(optionalText text: String?) {
    write(flag: text != nil)
    if let text { write(text) }
  }

  mutating func write(_ target: SessionTarget) {
    write(optionalText: target.user)
    write(optionalText: target.client)
    write(optionalText: target.session)
    write(UInt64(target.whitelist.count))
    for client in target.whitelist { write(client) }
  }

  mutating func write(_ code: DisconnectCode) {
    write(UInt64(code.code))
    write(code.reason)
  }

  mutating func write(_ code: UnsubscribeCode) {
    write(UInt64(code.code))
    write(code.reason)
  }

  mutating func write(_ subscription: OrderedSubscription) {
    write(subscription.channel)
    write(optional: subscription.info)
    write(optional: subscription.data)
    write(optional: subscription.since)
  }

  mutating func write(_ expiry: ConnectionExpiry) {
    switch expiry {
    case .now: write(byte: ExpiryKind.now.rawValue)
    case .at(let time):
      write(byte: ExpiryKind.at.rawValue)
      write(UInt64(bitPattern: time))
    case .never: write(byte: ExpiryKind.never.rawValue)
    }
  }

  mutating func write(_ revocations: [Revocation]) {
    write(UInt64(revocations.count))
    for revocation in revocations { write(revocation) }
  }

  mutating func write(_ revocation: Revocation) {
    switch revocation.tokens {
    case .id(let id):
      write(byte: TokensKind.id.rawValue)
      write(id)
    case .user(let user, let time, let channel):
      write(byte: TokensKind.user.rawValue)
      write(user)
      write(UInt64(bitPattern: time))
      write(optionalText: channel)
    }
    write(UInt64(bitPattern: revocation.expiresAt))
  }
}

extension ByteReader {
  mutating func readTarget() throws(MalformedMessage) -> SessionTarget {
    var target = SessionTarget(
      user: try readOptionalString(), client: try readOptionalString(), session: try readOptionalString())
    for _ in 0..<(try readCount()) { target.whitelist.append(try readString()) }
    return target
  }

  mutating func readDisconnectCode() throws(MalformedMessage) -> DisconnectCode {
    guard let code = UInt16(exactly: try readNumber()) else { throw MalformedMessage() }
    return DisconnectCode(code: code, reason: try readString())
  }

  mutating func readUnsubscribeCode() throws(MalformedMessage) -> UnsubscribeCode {
    guard let code = UInt32(exactly: try readNumber()) else { throw MalformedMessage() }
    return UnsubscribeCode(code: code, reason: try readString())
  }

  mutating func readOrderedSubscription() throws(MalformedMessage) -> OrderedSubscription {
    OrderedSubscription(
      channel: try readChannel(), info: try readOptionalBytes(), data: try readOptionalBytes(),
      since: try readOptionalPosition())
  }

  mutating func readExpiry() throws(MalformedMessage) -> ConnectionExpiry {
    guard let kind = ExpiryKind(rawValue: try readByte()) else { throw MalformedMessage() }
    switch kind {
    case .now: return .now
    case .at: return .at(Int64(bitPattern: try readNumber()))
    case .never: return .never
    }
  }

  mutating func readRevocations() throws(MalformedMessage) -> [Revocation] {
    var revocations: [Revocation] = []
    for _ in 0..<(try readCount()) { revocations.append(try readRevocation()) }
    return revocations
  }

  mutating func readRevocation() throws(MalformedMessage) -> Revocation {
    guard let kind = TokensKind(rawValue: try readByte()) else { throw MalformedMessage() }
    let tokens: Revocation.Tokens
    switch kind {
    case .id: tokens = .id(try readString())
    case .user:
      tokens = .user(
        try readString(), issuedBefore: Int64(bitPattern: try readNumber()), channel: try readOptionalString())
    }
    return Revocation(tokens, expiresAt: Int64(bitPattern: try readNumber()))
  }
}
