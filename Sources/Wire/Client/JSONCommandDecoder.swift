/// Reads the JSON commands of one WebSocket message: the envelope in one pass, payloads as the bytes that came.
enum JSONCommandDecoder {
  /// Several commands stand one after another, with a newline or other white space between.
  static func decode(_ bytes: [UInt8]) throws(CommandError) -> [ClientCommand] {
    var scanner = JSONScanner(bytes)
    var commands: [ClientCommand] = []
    scanner.skipWhitespace()
    if scanner.isAtEnd { throw CommandError("an empty message; a command is a JSON object") }
    while !scanner.isAtEnd {
      commands.append(try command(&scanner))
      scanner.skipWhitespace()
    }
    return commands
  }

  private static func command(_ scanner: inout JSONScanner) throws(CommandError) -> ClientCommand {
    var id: UInt32 = 0
    var body: ClientCommand.Body?
    var isEmpty = true
    try object(&scanner, depth: 0) { (key, seen, scanner) throws(CommandError) in
      isEmpty = false
      if key == "id" {
        try seen.mark(0, key)
        id = UInt32(try unsigned(&scanner, "id", limit: UInt64(UInt32.max)))
        return true
      }
      guard let request = try request(key, &scanner) else { return false }
      if body != nil { throw CommandError("more than one request in a command; send one command for each") }
      body = request
      return true
    }
    if let body { return ClientCommand(id: id, body: body) }
    // A pong is an empty object; with an id it is a request that this server does not know.
    return ClientCommand(id: id, body: isEmpty || id == 0 ? .pong : .unknown)
  }

  /// The request under one of the known keys; nil for another key, or where null stands.
  private static func request(
    _ key: String, _ scanner: inout JSONScanner
  ) throws(CommandError) -> ClientCommand.Body? {
    switch key {
    case "connect": return try isNull(&scanner) ? nil : .connect(try connect(&scanner))
    case "subscribe": return try isNull(&scanner) ? nil : .subscribe(try subscribe(&scanner, depth: 1))
    case "publish": return try isNull(&scanner) ? nil : .publish(try publish(&scanner))
    case "history": return try isNull(&scanner) ? nil : .history(try history(&scanner))
    case "unsubscribe": return try isNull(&scanner) ? nil : .unsubscribe(channel: try fields(&scanner).channel)
    case "presence": return try isNull(&scanner) ? nil : .presence(channel: try fields(&scanner).channel)
    case "presence_stats": return try isNull(&scanner) ? nil : .presenceStats(channel: try fields(&scanner).channel)
    case "ping":
      if try isNull(&scanner) { return nil }
      _ = try fields(&scanner)
      return .ping
    case "send": return try isNull(&scanner) ? nil : .send(data: try fields(&scanner).data)
    case "refresh": return try isNull(&scanner) ? nil : .refresh(token: try fields(&scanner).token)
    case "rpc":
      if try isNull(&scanner) { return nil }
      let fields = try fields(&scanner)
      return .rpc(method: fields.method, data: fields.data)
    case "sub_refresh":
      if try isNull(&scanner) { return nil }
      let fields = try fields(&scanner)
      return .subRefresh(channel: fields.channel, token: fields.token)
    default: return nil
    }
  }

  // MARK: Requests

  /// The requests that have nothing but some of these.
  private struct Fields {
    var channel = ""
    var token = ""
    var method = ""
    var data: [UInt8] = []
  }

  private static func fields(_ scanner: inout JSONScanner) throws(CommandError) -> Fields {
    var fields = Fields()
    try object(&scanner, depth: 1) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "channel": fields.channel = try seen.read(0, key, &scanner, string) ?? ""
      case "token": fields.token = try seen.read(1, key, &scanner, string) ?? ""
      case "method": fields.method = try seen.read(2, key, &scanner, string) ?? ""
      case "data": fields.data = try seen.read(3, key, &scanner, raw) ?? []
      default: return false
      }
      return true
    }
    return fields
  }

  private static func connect(_ scanner: inout JSONScanner) throws(CommandError) -> ClientCommand.Connect {
    var connect = ClientCommand.Connect()
    try object(&scanner, depth: 1) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "token": connect.token = try seen.read(0, key, &scanner, string) ?? ""
      case "data": connect.data = try seen.read(1, key, &scanner, raw) ?? []
      case "name": connect.name = try seen.read(2, key, &scanner, string) ?? ""
      case "version": connect.version = try seen.read(3, key, &scanner, string) ?? ""
      case "subs": connect.subs = try seen.read(4, key, &scanner, subs) ?? [:]
      default: return false
      }
      return true
    }
    return connect
  }

  private static func subs(
    _ scanner: inout JSONScanner, _ key: String
  ) throws(CommandError) -> [String: ClientCommand.Subscribe] {
    var subs: [String: ClientCommand.Subscribe] = [:]
    try object(&scanner, depth: 2) { (channel, _, scanner) throws(CommandError) in
      if subs[channel] != nil { throw CommandError("channel \"\(channel)\" stands twice in subs") }
      subs[channel] = try subscribe(&scanner, depth: 3)
      return true
    }
    return subs
  }

  private static func subscribe(
    _ scanner: inout JSONScanner, depth: Int
  ) throws(CommandError) -> ClientCommand.Subscribe {
    var subscribe = ClientCommand.Subscribe()
    try object(&scanner, depth: depth) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "channel": subscribe.channel = try seen.read(0, key, &scanner, string) ?? ""
      case "token": subscribe.token = try seen.read(1, key, &scanner, string) ?? ""
      case "recover": subscribe.recover = try seen.read(2, key, &scanner, flag) ?? false
      case "epoch": subscribe.epoch = try seen.read(3, key, &scanner, string) ?? ""
      case "offset": subscribe.offset = try seen.read(4, key, &scanner, offset) ?? 0
      case "data": subscribe.data = try seen.read(5, key, &scanner, raw) ?? []
      case "positioned": subscribe.positioned = try seen.read(6, key, &scanner, flag) ?? false
      case "recoverable": subscribe.recoverable = try seen.read(7, key, &scanner, flag) ?? false
      case "join_leave": subscribe.joinLeave = try seen.read(8, key, &scanner, flag) ?? false
      case "flag": subscribe.flag = Int64(try seen.read(9, key, &scanner, flagBits) ?? 0)
      default: return false
      }
      return true
    }
    return subscribe
  }

  private static func publish(_ scanner: inout JSONScanner) throws(CommandError) -> ClientCommand.Publish {
    var publish = ClientCommand.Publish()
    try object(&scanner, depth: 1) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "channel": publish.channel = try seen.read(0, key, &scanner, string) ?? ""
      case "data": publish.data = try seen.read(1, key, &scanner, raw) ?? []
      case "idempotency_key": publish.idempotencyKey = try seen.read(2, key, &scanner, string)
      default: return false
      }
      return true
    }
    return publish
  }

  private static func history(_ scanner: inout JSONScanner) throws(CommandError) -> ClientCommand.History {
    var history = ClientCommand.History()
    try object(&scanner, depth: 1) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "channel": history.channel = try seen.read(0, key, &scanner, string) ?? ""
      case "limit": history.limit = try seen.read(1, key, &scanner, limit) ?? 0
      case "since": history.since = try seen.read(2, key, &scanner, position)
      case "reverse": history.reverse = try seen.read(3, key, &scanner, flag) ?? false
      default: return false
      }
      return true
    }
    return history
  }

  // MARK: Values

  /// Known keys of one object that were read: a second one is refused, since readers differ in which of two they take.
  private struct SeenKeys {
    private var bits: UInt32 = 0

    mutating func mark(_ bit: UInt32, _ key: String) throws(CommandError) {
      if bits & (1 << bit) != 0 { throw CommandError("key \"\(key)\" stands twice in one object") }
      bits |= 1 << bit
    }

    /// The value, nil where it is null: as good as left out.
    mutating func read<Value>(
      _ bit: UInt32, _ key: String, _ scanner: inout JSONScanner,
      _ value: (inout JSONScanner, String) throws(CommandError) -> Value
    ) throws(CommandError) -> Value? {
      try mark(bit, key)
      return try isNull(&scanner) ? nil : try value(&scanner, key)
    }
  }

  /// Reads one of our objects; a field whose closure returns false is unknown and passed over.
  private static func object(
    _ scanner: inout JSONScanner, depth: Int,
    _ field: (String, inout SeenKeys, inout JSONScanner) throws(CommandError) -> Bool
  ) throws(CommandError) {
    var seen = SeenKeys()
    scanner.skipWhitespace()
    try scanner.expect(UInt8(ascii: "{"), "an object")
    scanner.skipWhitespace()
    if scanner.consume(UInt8(ascii: "}")) { return }
    while true {
      scanner.skipWhitespace()
      guard scanner.next == UInt8(ascii: "\"") else {
        throw CommandError("a key in quotes expected at byte \(scanner.index)")
      }
      let key = try scanner.readString()
      scanner.skipWhitespace()
      try scanner.expect(UInt8(ascii: ":"), "a colon")
      scanner.skipWhitespace()
      let start = scanner.index
      if try !field(key, &seen, &scanner), scanner.index == start { try scanner.skipValue(depth: depth + 1) }
      scanner.skipWhitespace()
      if scanner.consume(UInt8(ascii: "}")) { return }
      try scanner.expect(UInt8(ascii: ","), "a comma or a closing brace")
    }
  }

  private static func isNull(_ scanner: inout JSONScanner) throws(CommandError) -> Bool {
    guard scanner.next == UInt8(ascii: "n") else { return false }
    try scanner.skipLiteral("null")
    return true
  }

  private static func string(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> String {
    guard scanner.next == UInt8(ascii: "\"") else { throw CommandError("\"\(key)\" must be a string") }
    return try scanner.readString()
  }

  private static func flag(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> Bool {
    switch scanner.next {
    case UInt8(ascii: "t"):
      try scanner.skipLiteral("true")
      return true
    case UInt8(ascii: "f"):
      try scanner.skipLiteral("false")
      return false
    default: throw CommandError("\"\(key)\" must be true or false")
    }
  }

  /// A payload: checked to be JSON, and given on as the bytes that came.
  private static func raw(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> [UInt8] {
    let start = scanner.index
    try scanner.skipValue(depth: 2)
    return scanner.bytes(from: start)
  }

  private static func offset(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> UInt64 {
    try unsigned(&scanner, key, limit: .max)
  }

  private static func flagBits(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> UInt64 {
    try unsigned(&scanner, key, limit: UInt64(Int64.max))
  }

  private static func limit(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> Int32 {
    if scanner.consume(UInt8(ascii: "-")) {
      _ = try unsigned(&scanner, key, limit: UInt64(Int32.max))
      return -1
    }
    return Int32(clamping: try unsigned(&scanner, key, limit: .max))
  }

  private static func position(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> StreamPosition {
    var position = StreamPosition(epoch: "", offset: 0)
    try object(&scanner, depth: 2) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "epoch": position.epoch = try seen.read(0, key, &scanner, string) ?? ""
      case "offset": position.offset = try seen.read(1, key, &scanner, offset) ?? 0
      default: return false
      }
      return true
    }
    return position
  }

  private static func unsigned(
    _ scanner: inout JSONScanner, _ key: String, limit: UInt64
  ) throws(CommandError) -> UInt64 {
    let start = scanner.index
    try scanner.skipNumber()
    var value: UInt64 = 0
    for byte in scanner.bytes(from: start) {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else {
        throw CommandError("\"\(key)\" must be a whole number that is not negative")
      }
      let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflows) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      if productOverflows || sumOverflows || sum > limit { throw CommandError("\"\(key)\" is more than \(limit)") }
      value = sum
    }
    return value
  }
}
