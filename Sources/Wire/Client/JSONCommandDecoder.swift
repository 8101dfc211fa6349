/// Reads the JSON commands of one WebSocket message: the envelope in one pass, payloads as the bytes that came.
enum JSONCommandDecoder {
  /// Several commands stand one after another, with a newline or other white space between.
  static func decode(_ bytes: UnsafeRawBufferPointer, into commands: inout [ClientCommand]) throws(CommandError) {
    var scanner = unsafe JSONScanner(bytes)
    let before = commands.count
    scanner.skipWhitespace()
    if scanner.isAtEnd { throw CommandError("an empty message; a command is a JSON object") }
    while !scanner.isAtEnd {
      try ClientCodec.checkRoom(after: commands.count - before)
      if !JSONPublish.read(&scanner, into: &commands) { commands.append(try command(&scanner)) }
      scanner.skipWhitespace()
    }
  }

  private static func command(_ scanner: inout JSONScanner) throws(CommandError) -> ClientCommand {
    var id: UInt64 = 0
    var body: ClientCommand.Body?
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
      if key == "id" {
        id = try seen.read(0, key, &scanner, identifier) ?? 0
        return true
      }
      guard let request = try request(key, &seen, &scanner) else { return false }
      if body != nil { throw CommandError("more than one request in a command; send one command for each") }
      body = request
      return true
    }
    // A pong is an empty object; with an id it is a request that this server does not know.
    return ClientCommand(id: UInt32(truncatingIfNeeded: id), body: body ?? (id == 0 ? .pong : .unknown))
  }

  /// The request under one of the known keys; nil for another key, or where null stands.
  private static func request(
    _ key: String, _ seen: inout SeenKeys, _ scanner: inout JSONScanner
  ) throws(CommandError) -> ClientCommand.Body? {
    switch key {
    case "connect": try seen.read(1, key, &scanner, connect).map { .connect($0) }
    case "subscribe": try seen.read(2, key, &scanner, subscribe).map { .subscribe($0) }
    case "unsubscribe": try seen.read(3, key, &scanner, fields).map { .unsubscribe(channel: $0.channel) }
    case "publish": try seen.read(4, key, &scanner, publish).map { .publish($0) }
    case "presence": try seen.read(5, key, &scanner, fields).map { .presence(channel: $0.channel) }
    case "presence_stats": try seen.read(6, key, &scanner, fields).map { .presenceStats(channel: $0.channel) }
    case "history": try seen.read(7, key, &scanner, history).map { .history($0) }
    case "ping": try seen.read(8, key, &scanner, fields).map { _ in .ping }
    case "send": try seen.read(9, key, &scanner, fields).map { .send(data: $0.data) }
    case "rpc": try seen.read(10, key, &scanner, fields).map { .rpc(method: $0.method, data: $0.data) }
    case "refresh": try seen.read(11, key, &scanner, fields).map { .refresh(token: $0.token) }
    case "sub_refresh":
      try seen.read(12, key, &scanner, fields).map { .subRefresh(channel: $0.channel, token: $0.token) }
    default: nil
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

  private static func fields(_ scanner: inout JSONScanner, _: String) throws(CommandError) -> Fields {
    var fields = Fields()
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
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

  private static func connect(
    _ scanner: inout JSONScanner, _: String
  ) throws(CommandError) -> ClientCommand.Connect {
    var connect = ClientCommand.Connect()
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
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
    _ scanner: inout JSONScanner, _: String
  ) throws(CommandError) -> [String: ClientCommand.Subscribe] {
    var subs: [String: ClientCommand.Subscribe] = [:]
    try object(&scanner) { (channel, _, scanner) throws(CommandError) in
      if subs[channel] != nil { throw CommandError("a channel stands twice in \"subs\"") }
      subs[channel] = try subscribe(&scanner, channel)
      return true
    }
    return subs
  }

  private static func subscribe(
    _ scanner: inout JSONScanner, _: String
  ) throws(CommandError) -> ClientCommand.Subscribe {
    var subscribe = ClientCommand.Subscribe()
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
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
      case "tf":
        let node = try seen.read(10, key, &scanner) { (scanner, _) throws(CommandError) in
          try JSONFilter.read(&scanner)
        }
        if let node { subscribe.setFilter(node) }
      case "type": subscribe.type = try seen.read(11, key, &scanner, limit) ?? 0
      case "phase": subscribe.phase = try seen.read(12, key, &scanner, limit) ?? 0
      case "cursor": subscribe.cursor = try seen.read(13, key, &scanner, string) ?? ""
      case "limit": subscribe.limit = try seen.read(14, key, &scanner, limit) ?? 0
      case "asc": subscribe.asc = try seen.read(15, key, &scanner, flag) ?? false
      default: return false
      }
      return true
    }
    return subscribe
  }

  private static func publish(
    _ scanner: inout JSONScanner, _: String
  ) throws(CommandError) -> ClientCommand.Publish {
    var publish = ClientCommand.Publish()
    var (type, mapKey, removed): (Int32, String, Bool) = (0, "", false)
    var score: Int64 = 0
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
      switch key {
      case "channel": publish.channel = try seen.read(0, key, &scanner, string) ?? ""
      case "data": publish.data = try seen.read(1, key, &scanner, raw) ?? []
      case "idempotency_key":
        // An empty key is no key, as in Protobuf, which cannot tell the two apart.
        let value = try seen.read(2, key, &scanner, string) ?? ""
        if !value.isEmpty { publish.idempotencyKey = value }
      case "type": type = try seen.read(3, key, &scanner, limit) ?? 0
      case "key": mapKey = try seen.read(4, key, &scanner, string) ?? ""
      case "removed": removed = try seen.read(5, key, &scanner, flag) ?? false
      case "score": score = try seen.read(6, key, &scanner, signed) ?? 0
      default: return false
      }
      return true
    }
    publish.setMap(type: type, key: mapKey, removed: removed, score: score)
    return publish
  }

  private static func history(
    _ scanner: inout JSONScanner, _: String
  ) throws(CommandError) -> ClientCommand.History {
    var history = ClientCommand.History()
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
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
    _ scanner: inout JSONScanner,
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
      if try !field(key, &seen, &scanner), scanner.index == start { try scanner.skipValue(depth: 0) }
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
    try scanner.skipValue(depth: 0)
    return scanner.bytes(from: start)
  }

  private static func offset(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> UInt64 {
    try unsigned(&scanner, key, limit: .max)
  }

  private static func flagBits(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> UInt64 {
    try unsigned(&scanner, key, limit: UInt64(Int64.max))
  }

  private static func identifier(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> UInt64 {
    try unsigned(&scanner, key, limit: UInt64(UInt32.max))
  }

  /// How many publications: any negative number says the same, and a huge one is the server's to clamp. Also for numbers
  /// of which few have a meaning.
  private static func limit(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> Int32 {
    let isNegative = scanner.consume(UInt8(ascii: "-"))
    let value = Int32(clamping: try unsigned(&scanner, key, limit: .max))
    return isNegative && value > 0 ? -1 : value
  }

  private static func signed(_ scanner: inout JSONScanner, _ key: String) throws(CommandError) -> Int64 {
    let isNegative = scanner.consume(UInt8(ascii: "-"))
    let magnitude = try unsigned(&scanner, key, limit: Int64.min.magnitude - (isNegative ? 0 : 1))
    return Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude)
  }

  private static func position(_ scanner: inout JSONScanner, _: String) throws(CommandError) -> StreamPosition {
    var position = StreamPosition(epoch: "", offset: 0)
    try object(&scanner) { (key, seen, scanner) throws(CommandError) in
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
    // Not a value: the sentence is only built where it is thrown.
    var refusal: CommandError { CommandError("\"\(key)\" must be a whole number from 0 to \(limit)") }
    let start = scanner.index
    guard let first = scanner.next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first else { throw refusal }
    try scanner.skipNumber()
    var value: UInt64 = 0
    for byte in scanner.bytes(from: start) {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw refusal }
      let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflows) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      if productOverflows || sumOverflows || sum > limit { throw refusal }
      value = sum
    }
    return value
  }
}
