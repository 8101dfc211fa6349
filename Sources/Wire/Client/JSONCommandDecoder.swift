/// Reads the JSON commands of one WebSocket message: the envelope in one pass, payloads as the bytes that came.
enum JSONCommandDecoder {
  /// Reads commands that stand one after another, with a newline or other white space between.
  static func decode(_ bytes: UnsafeRawBufferPointer, into commands: inout [ClientCommand]) throws(MalformedInput) {
    var cursor = unsafe JSONCursor(bytes)
    let before = commands.count
    cursor.skipWhitespace()
    if cursor.isAtEnd { throw MalformedInput("an empty message; a command is a JSON object") }
    while !cursor.isAtEnd {
      try ClientCodec.checkRoom(after: commands.count - before)
      if !JSONPublish.read(&cursor, into: &commands) { commands.append(try command(&cursor)) }
      cursor.skipWhitespace()
    }
  }

  private static func command(_ cursor: inout JSONCursor) throws(MalformedInput) -> ClientCommand {
    var id: UInt64 = 0
    var body: ClientCommand.Body?
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      if key == "id" {
        id = try seen.read(0, key, &cursor, identifier) ?? 0
        return true
      }
      guard let request = try request(key, &seen, &cursor) else { return false }
      if body != nil { throw MalformedInput("more than one request in a command; send one command for each") }
      body = request
      return true
    }
    // A pong is an empty object; with an id it is a request that this server does not know.
    return ClientCommand(id: UInt32(truncatingIfNeeded: id), body: body ?? (id == 0 ? .pong : .unknown))
  }

  /// Reads the request under one of the known keys; nil for another key, or where null stands.
  private static func request(
    _ key: String, _ seen: inout SeenKeys, _ cursor: inout JSONCursor
  ) throws(MalformedInput) -> ClientCommand.Body? {
    switch key {
    case "connect": try seen.read(1, key, &cursor, connect).map { .connect($0) }
    case "subscribe": try seen.read(2, key, &cursor, subscribe).map { .subscribe($0) }
    case "unsubscribe": try seen.read(3, key, &cursor, fields).map { .unsubscribe(channel: $0.channel) }
    case "publish": try seen.read(4, key, &cursor, publish).map { .publish($0) }
    case "presence": try seen.read(5, key, &cursor, fields).map { .presence(channel: $0.channel) }
    case "presence_stats": try seen.read(6, key, &cursor, fields).map { .presenceStats(channel: $0.channel) }
    case "history": try seen.read(7, key, &cursor, history).map { .history($0) }
    case "ping": try seen.read(8, key, &cursor, fields).map { _ in .ping }
    case "send": try seen.read(9, key, &cursor, fields).map { .send(data: $0.data) }
    case "rpc": try seen.read(10, key, &cursor, fields).map { .rpc(method: $0.method, data: $0.data) }
    case "refresh": try seen.read(11, key, &cursor, fields).map { .refresh(token: $0.token) }
    case "sub_refresh": try seen.read(12, key, &cursor, subRefresh)
    default: nil
    }
  }

  // MARK: Requests

  /// The fields of the requests that have nothing but some of these.
  private struct Fields {
    var channel = ""
    var token = ""
    var method = ""
    var data: [UInt8] = []
  }

  private static func fields(_ cursor: inout JSONCursor, _: String) throws(MalformedInput) -> Fields {
    var fields = Fields()
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "channel": fields.channel = try seen.read(0, key, &cursor, string) ?? ""
      case "token": fields.token = try seen.read(1, key, &cursor, string) ?? ""
      case "method": fields.method = try seen.read(2, key, &cursor, string) ?? ""
      case "data": fields.data = try seen.read(3, key, &cursor, raw) ?? []
      default: return false
      }
      return true
    }
    return fields
  }

  private static func connect(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.Connect {
    var connect = ClientCommand.Connect()
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "token": connect.token = try seen.read(0, key, &cursor, string) ?? ""
      case "data": connect.data = try seen.read(1, key, &cursor, raw) ?? []
      case "name": connect.name = try seen.read(2, key, &cursor, string) ?? ""
      case "version": connect.version = try seen.read(3, key, &cursor, string) ?? ""
      case "subs": connect.subs = try seen.read(4, key, &cursor, subs) ?? [:]
      case "reconnects": connect.reconnects = try seen.read(5, key, &cursor, flag) ?? false
      default: return false
      }
      return true
    }
    return connect
  }

  private static func subs(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> [String: ClientCommand.Subscribe] {
    var subs: [String: ClientCommand.Subscribe] = [:]
    try object(&cursor) { (channel, _, cursor) throws(MalformedInput) in
      if subs[channel] != nil { throw MalformedInput("a channel stands twice in \"subs\"") }
      subs[channel] = try subscribe(&cursor, channel)
      return true
    }
    return subs
  }

  private static func subscribe(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.Subscribe {
    var subscribe = ClientCommand.Subscribe()
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "channel": subscribe.channel = try seen.read(0, key, &cursor, string) ?? ""
      case "token": subscribe.token = try seen.read(1, key, &cursor, string) ?? ""
      case "recover": subscribe.recover = try seen.read(2, key, &cursor, flag) ?? false
      case "epoch": subscribe.epoch = try seen.read(3, key, &cursor, string) ?? ""
      case "offset": subscribe.offset = try seen.read(4, key, &cursor, offset) ?? 0
      case "data": subscribe.data = try seen.read(5, key, &cursor, raw) ?? []
      case "positioned": subscribe.positioned = try seen.read(6, key, &cursor, flag) ?? false
      case "recoverable": subscribe.recoverable = try seen.read(7, key, &cursor, flag) ?? false
      case "join_leave": subscribe.joinLeave = try seen.read(8, key, &cursor, flag) ?? false
      case "flag": subscribe.flag = Int64(try seen.read(9, key, &cursor, flagBits) ?? 0)
      case "tf":
        let node = try seen.read(10, key, &cursor) { (cursor, _) throws(MalformedInput) in
          try JSONFilter.read(&cursor)
        }
        if let node { subscribe.setFilter(node) }
      case "type": subscribe.type = try seen.read(11, key, &cursor, limit) ?? 0
      case "phase": subscribe.phase = try seen.read(12, key, &cursor, limit) ?? 0
      case "cursor": subscribe.cursor = try seen.read(13, key, &cursor, string) ?? ""
      case "limit": subscribe.limit = try seen.read(14, key, &cursor, limit) ?? 0
      case "asc": subscribe.asc = try seen.read(15, key, &cursor, flag) ?? false
      case "delta": subscribe.setDelta(try seen.read(16, key, &cursor, string) ?? "")
      default: return false
      }
      return true
    }
    return subscribe
  }

  private static func publish(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.Publish {
    var publish = ClientCommand.Publish()
    var (type, mapKey, removed): (Int32, String, Bool) = (0, "", false)
    var score: Int64 = 0
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "channel": publish.channel = try seen.read(0, key, &cursor, string) ?? ""
      case "data": publish.data = try seen.read(1, key, &cursor, raw) ?? []
      case "idempotency_key":
        // An empty idempotency key is none, as in Protobuf, which cannot tell the two apart.
        let value = try seen.read(2, key, &cursor, string) ?? ""
        if !value.isEmpty { publish.idempotencyKey = value }
      case "type": type = try seen.read(3, key, &cursor, limit) ?? 0
      case "key": mapKey = try seen.read(4, key, &cursor, string) ?? ""
      case "removed": removed = try seen.read(5, key, &cursor, flag) ?? false
      case "score": score = try seen.read(6, key, &cursor, signed) ?? 0
      default: return false
      }
      return true
    }
    publish.setMap(type: type, key: mapKey, removed: removed, score: score)
    return publish
  }

  private static func subRefresh(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.Body {
    var (channel, token, type): (String, String, Int32) = ("", "", 0)
    var (track, untrack): ([ClientCommand.TrackBatch], [String]) = ([], [])
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "channel": channel = try seen.read(0, key, &cursor, string) ?? ""
      case "token": token = try seen.read(1, key, &cursor, string) ?? ""
      case "type": type = try seen.read(2, key, &cursor, limit) ?? 0
      case "track": track = try seen.read(3, key, &cursor, batches) ?? []
      case "untrack": untrack = try seen.read(4, key, &cursor, strings) ?? []
      default: return false
      }
      return true
    }
    return .ofSubRefresh(type: type, channel: channel, token: token, track: track, untrack: untrack)
  }

  private static func batches(
    _ cursor: inout JSONCursor, _ key: String
  ) throws(MalformedInput) -> [ClientCommand.TrackBatch] { try list(&cursor, key, batch) }

  private static func batch(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.TrackBatch {
    var batch = ClientCommand.TrackBatch()
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "signature": batch.signature = try seen.read(0, key, &cursor, string) ?? ""
      case "items": batch.items = try seen.read(1, key, &cursor, items) ?? []
      default: return false
      }
      return true
    }
    return batch
  }

  private static func items(
    _ cursor: inout JSONCursor, _ key: String
  ) throws(MalformedInput) -> [ClientCommand.TrackedItem] { try list(&cursor, key, item) }

  private static func item(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.TrackedItem {
    var item = ClientCommand.TrackedItem()
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "key": item.key = try seen.read(0, key, &cursor, string) ?? ""
      case "version": item.version = try seen.read(1, key, &cursor, offset) ?? 0
      default: return false
      }
      return true
    }
    return item
  }

  private static func history(
    _ cursor: inout JSONCursor, _: String
  ) throws(MalformedInput) -> ClientCommand.History {
    var history = ClientCommand.History()
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "channel": history.channel = try seen.read(0, key, &cursor, string) ?? ""
      case "limit": history.limit = try seen.read(1, key, &cursor, limit) ?? 0
      case "since": history.since = try seen.read(2, key, &cursor, position)
      case "reverse": history.reverse = try seen.read(3, key, &cursor, flag) ?? false
      default: return false
      }
      return true
    }
    return history
  }

  // MARK: Values

  /// The known keys of one object that were read. A key that comes twice is refused, since readers differ in which of
  /// two values they take.
  private struct SeenKeys {
    private var bits: UInt32 = 0

    mutating func mark(_ bit: UInt32, _ key: String) throws(MalformedInput) {
      if bits & (1 << bit) != 0 { throw MalformedInput("key \"\(key)\" stands twice in one object") }
      bits |= 1 << bit
    }

    /// Reads the value of a key; nil where it is null, which counts as left out.
    mutating func read<Value>(
      _ bit: UInt32, _ key: String, _ cursor: inout JSONCursor,
      _ value: (inout JSONCursor, String) throws(MalformedInput) -> Value
    ) throws(MalformedInput) -> Value? {
      try mark(bit, key)
      return try isNull(&cursor) ? nil : try value(&cursor, key)
    }
  }

  /// Reads an object of the protocol; a field for which the closure returns false is unknown and passed over.
  private static func object(
    _ cursor: inout JSONCursor,
    _ field: (String, inout SeenKeys, inout JSONCursor) throws(MalformedInput) -> Bool
  ) throws(MalformedInput) {
    var seen = SeenKeys()
    cursor.skipWhitespace()
    try cursor.expect(UInt8(ascii: "{"), "an object")
    cursor.skipWhitespace()
    if cursor.consume(UInt8(ascii: "}")) { return }
    while true {
      cursor.skipWhitespace()
      guard cursor.next == UInt8(ascii: "\"") else {
        throw MalformedInput("a key in quotes expected at byte \(cursor.index)")
      }
      let key = try cursor.readString()
      cursor.skipWhitespace()
      try cursor.expect(UInt8(ascii: ":"), "a colon")
      cursor.skipWhitespace()
      let start = cursor.index
      if try !field(key, &seen, &cursor), cursor.index == start { try cursor.skipValue(depth: 0) }
      cursor.skipWhitespace()
      if cursor.consume(UInt8(ascii: "}")) { return }
      try cursor.expect(UInt8(ascii: ","), "a comma or a closing brace")
    }
  }

  /// Reads a list, each element of it as the value of its key would be read.
  private static func list<Element>(
    _ cursor: inout JSONCursor, _ key: String,
    _ element: (inout JSONCursor, String) throws(MalformedInput) -> Element
  ) throws(MalformedInput) -> [Element] {
    var elements: [Element] = []
    guard cursor.consume(UInt8(ascii: "[")) else { throw MalformedInput("\"\(key)\" must be a list") }
    cursor.skipWhitespace()
    if cursor.consume(UInt8(ascii: "]")) { return elements }
    while true {
      cursor.skipWhitespace()
      elements.append(try element(&cursor, key))
      cursor.skipWhitespace()
      if cursor.consume(UInt8(ascii: "]")) { return elements }
      try cursor.expect(UInt8(ascii: ","), "a comma or a closing bracket")
    }
  }

  private static func strings(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> [String] {
    try list(&cursor, key, string)
  }

  private static func isNull(_ cursor: inout JSONCursor) throws(MalformedInput) -> Bool {
    guard cursor.next == UInt8(ascii: "n") else { return false }
    try cursor.skipLiteral("null")
    return true
  }

  private static func string(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> String {
    guard cursor.next == UInt8(ascii: "\"") else { throw MalformedInput("\"\(key)\" must be a string") }
    return try cursor.readString()
  }

  private static func flag(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> Bool {
    switch cursor.next {
    case UInt8(ascii: "t"):
      try cursor.skipLiteral("true")
      return true
    case UInt8(ascii: "f"):
      try cursor.skipLiteral("false")
      return false
    default: throw MalformedInput("\"\(key)\" must be true or false")
    }
  }

  /// Reads a payload, which is checked to be JSON and stays the bytes that came.
  private static func raw(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> [UInt8] {
    let start = cursor.index
    try cursor.skipValue(depth: 0)
    return cursor.bytes(from: start)
  }

  private static func offset(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> UInt64 {
    try unsigned(&cursor, key, limit: .max)
  }

  private static func flagBits(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> UInt64 {
    try unsigned(&cursor, key, limit: UInt64(Int64.max))
  }

  private static func identifier(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> UInt64 {
    try unsigned(&cursor, key, limit: UInt64(UInt32.max))
  }

  /// Reads a limit of publications: every negative number means the same, and a huge one is for the server to clamp.
  /// Also reads numbers of which few have a meaning.
  private static func limit(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> Int32 {
    let isNegative = cursor.consume(UInt8(ascii: "-"))
    let value = Int32(clamping: try unsigned(&cursor, key, limit: .max))
    return isNegative && value > 0 ? -1 : value
  }

  private static func signed(_ cursor: inout JSONCursor, _ key: String) throws(MalformedInput) -> Int64 {
    let isNegative = cursor.consume(UInt8(ascii: "-"))
    let magnitude = try unsigned(&cursor, key, limit: Int64.min.magnitude - (isNegative ? 0 : 1))
    return Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude)
  }

  private static func position(_ cursor: inout JSONCursor, _: String) throws(MalformedInput) -> StreamPosition {
    var position = StreamPosition(epoch: "", offset: 0)
    try object(&cursor) { (key, seen, cursor) throws(MalformedInput) in
      switch key {
      case "epoch": position.epoch = try seen.read(0, key, &cursor, string) ?? ""
      case "offset": position.offset = try seen.read(1, key, &cursor, offset) ?? 0
      default: return false
      }
      return true
    }
    return position
  }

  private static func unsigned(
    _ cursor: inout JSONCursor, _ key: String, limit: UInt64
  ) throws(MalformedInput) -> UInt64 {
    // Computed, so that the sentence is built only where it is thrown.
    var refusal: MalformedInput { MalformedInput("\"\(key)\" must be a whole number from 0 to \(limit)") }
    let start = cursor.index
    guard let first = cursor.next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first else { throw refusal }
    try cursor.skipNumber()
    var value: UInt64 = 0
    for byte in cursor.bytes(from: start) {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { throw refusal }
      let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, sumOverflows) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      if productOverflows || sumOverflows || sum > limit { throw refusal }
      value = sum
    }
    return value
  }
}
