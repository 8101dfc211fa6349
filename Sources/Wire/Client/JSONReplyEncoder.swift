/// Writes JSON without Foundation: a reply is written once per publication or command, and `data` goes in as it is.
struct JSONWriter {
  private(set) var bytes: [UInt8]
  private var needsComma = false

  init(appendingTo bytes: consuming [UInt8]) { self.bytes = bytes }

  mutating func object(_ key: StaticString? = nil, _ content: (inout JSONWriter) -> Void) {
    open(key)
    content(&self)
    close()
  }

  mutating func open(_ key: StaticString? = nil) {
    separate(key)
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
  }

  mutating func close() {
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  mutating func list(_ key: StaticString, _ content: (inout JSONWriter) -> Void) {
    separate(key)
    bytes.append(UInt8(ascii: "["))
    needsComma = false
    content(&self)
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  /// An object under a key that is a peer's word.
  mutating func object(named key: String, _ content: (inout JSONWriter) -> Void) {
    separate(nil)
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
    open(nil)
    content(&self)
    close()
  }

  mutating func write(_ key: StaticString, _ value: String) {
    separate(key)
    quote(value)
    needsComma = true
  }

  mutating func write(named key: String, _ value: String) {
    separate(nil)
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    quote(value)
    needsComma = true
  }

  mutating func write(element value: String) {
    separate(nil)
    quote(value)
    needsComma = true
  }

  mutating func write(_ key: StaticString, _ value: some FixedWidthInteger) {
    separate(key)
    digits(value)
    needsComma = true
  }

  mutating func write(_ key: StaticString, _ value: Bool) {
    separate(key)
    literal(value ? "true" : "false")
    needsComma = true
  }

  /// A JSON value as it came. A newline between its tokens becomes a space, because SDKs split a frame at newlines.
  mutating func write(_ key: StaticString, raw value: [UInt8]) {
    separate(key)
    let start = bytes.count
    bytes.append(contentsOf: value)
    for index in start..<bytes.count where bytes[index] == 0x0A || bytes[index] == 0x0D { bytes[index] = 0x20 }
    needsComma = true
  }

  /// Any bytes, as a base64 string.
  mutating func write(_ key: StaticString, base64 value: [UInt8]) {
    separate(key)
    bytes.append(UInt8(ascii: "\""))
    Base64.append(value, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  // MARK: Tokens

  private mutating func separate(_ key: StaticString?) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = false
    guard let key else { return }
    bytes.append(UInt8(ascii: "\""))
    literal(key)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func literal(_ text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func digits(_ value: some FixedWidthInteger) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    var rest = UInt64(truncatingIfNeeded: value.magnitude)
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0x0A: literal("\\n")
      case 0x0D: literal("\\r")
      case 0x09: literal("\\t")
      case 0..<0x20:
        literal("\\u00")
        bytes.append(Self.hexDigit(byte >> 4))
        bytes.append(Self.hexDigit(byte & 15))
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

/// RFC 4648, with padding.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func append(_ value: [UInt8], to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + (value.count + 2) / 3 * 4)
    var index = 0
    while index < value.count {
      let left = value.count - index
      let first = UInt32(value[index]) << 16
      let second = left > 1 ? UInt32(value[index + 1]) << 8 : 0
      let third = left > 2 ? UInt32(value[index + 2]) : 0
      let word = first | second | third
      bytes.append(alphabet[Int(word >> 18)])
      bytes.append(alphabet[Int(word >> 12 & 63)])
      bytes.append(left > 1 ? alphabet[Int(word >> 6 & 63)] : UInt8(ascii: "="))
      bytes.append(left > 2 ? alphabet[Int(word & 63)] : UInt8(ascii: "="))
      index += 3
    }
  }
}

/// Writes replies as the JSON of the client protocol: zero values are left out.
enum JSONReplyEncoder {
  static func encode(_ reply: ClientReply, into bytes: inout [UInt8]) {
    var writer = JSONWriter(appendingTo: bytes)
    writer.object { write(reply, &$0) }
    bytes = writer.bytes
  }

  private static func write(_ reply: ClientReply, _ writer: inout JSONWriter) {
    switch reply {
    case .serverPing: return
    case .push(let push): return writer.object("push") { write(push, &$0) }
    case .connect(let id, let result):
      writer.write("id", id)
      writer.object("connect") { write(result, &$0) }
    case .subscribe(let id, let result):
      writer.write("id", id)
      writer.object("subscribe") { write(result, &$0) }
    case .unsubscribe(let id): empty("unsubscribe", id, &writer)
    case .publish(let id): empty("publish", id, &writer)
    case .ping(let id): empty("ping", id, &writer)
    case .presence(let id, let members):
      writer.write("id", id)
      writer.object("presence") { writer in
        writer.object("presence") { writer in
          for (client, info) in members.sorted(by: { $0.key < $1.key }) {
            writer.object(named: client) { write(info, &$0) }
          }
        }
      }
    case .presenceStats(let id, let clients, let users):
      writer.write("id", id)
      writer.object("presence_stats") { writer in
        if clients > 0 { writer.write("num_clients", clients) }
        if users > 0 { writer.write("num_users", users) }
      }
    case .history(let id, let result):
      writer.write("id", id)
      writer.object("history") { writer in
        write(result.publications, result.binaryData, &writer)
        if !result.epoch.isEmpty { writer.write("epoch", result.epoch) }
        if result.offset > 0 { writer.write("offset", result.offset) }
      }
    case .rpc(let id, let data):
      writer.write("id", id)
      writer.object("rpc") { if !data.isEmpty { $0.write("data", raw: data) } }
    case .refresh(let id, let result):
      writer.write("id", id)
      writer.object("refresh") { writer in
        if !result.client.isEmpty { writer.write("client", result.client) }
        if !result.version.isEmpty { writer.write("version", result.version) }
        expiry(result.expires, result.ttl, &writer)
      }
    case .subRefresh(let id, let expires, let ttl):
      writer.write("id", id)
      writer.object("sub_refresh") { expiry(expires, ttl, &$0) }
    case .error(let id, let error):
      writer.write("id", id)
      writer.object("error") { writer in
        writer.write("code", error.code)
        writer.write("message", error.message)
        if error.temporary { writer.write("temporary", true) }
      }
    }
  }

  private static func empty(_ key: StaticString, _ id: UInt32, _ writer: inout JSONWriter) {
    writer.write("id", id)
    writer.object(key) { _ in }
  }

  private static func expiry(_ expires: Bool, _ ttl: UInt32, _ writer: inout JSONWriter) {
    if expires { writer.write("expires", true) }
    if ttl > 0 { writer.write("ttl", ttl) }
  }

  private static func write(_ result: ClientReply.ConnectResult, _ writer: inout JSONWriter) {
    writer.write("client", result.client)
    if !result.version.isEmpty { writer.write("version", result.version) }
    expiry(result.expires, result.ttl, &writer)
    if !result.data.isEmpty { writer.write("data", raw: result.data) }
    if !result.subs.isEmpty {
      writer.object("subs") { writer in
        for (channel, sub) in result.subs.sorted(by: { $0.key < $1.key }) {
          writer.object(named: channel) { write(sub, &$0) }
        }
      }
    }
    if result.ping > 0 { writer.write("ping", result.ping) }
    if result.pong { writer.write("pong", true) }
    if !result.session.isEmpty { writer.write("session", result.session) }
    if !result.node.isEmpty { writer.write("node", result.node) }
  }

  private static func write(_ result: ClientReply.SubscribeResult, _ writer: inout JSONWriter) {
    expiry(result.expires, result.ttl, &writer)
    if result.recoverable { writer.write("recoverable", true) }
    if !result.epoch.isEmpty { writer.write("epoch", result.epoch) }
    write(result.publications, result.binaryData, &writer)
    if result.recovered { writer.write("recovered", true) }
    if result.offset > 0 { writer.write("offset", result.offset) }
    if result.positioned { writer.write("positioned", true) }
    if !result.data.isEmpty { writer.write("data", raw: result.data) }
    if result.wasRecovering { writer.write("was_recovering", true) }
  }

  private static func write(_ publications: [Publication], _ binary: Bool, _ writer: inout JSONWriter) {
    if publications.isEmpty { return }
    writer.list("publications") { writer in
      for publication in publications { writer.object { write(publication, binary, &$0) } }
    }
  }

  static func write(_ publication: Publication, _ binary: Bool, _ writer: inout JSONWriter) {
    if binary {
      writer.write("data", base64: publication.data)
    } else if !publication.data.isEmpty {
      writer.write("data", raw: publication.data)
    }
    if let info = publication.info { writer.object("info") { write(info, &$0) } }
    if publication.offset > 0 { writer.write("offset", publication.offset) }
    if !publication.tags.isEmpty {
      writer.object("tags") { writer in
        for (key, value) in publication.tags.sorted(by: { $0.key < $1.key }) { writer.write(named: key, value) }
      }
    }
    if publication.time > 0 { writer.write("time", publication.time) }
  }

  static func write(_ info: ClientInfo, _ writer: inout JSONWriter) {
    if !info.user.isEmpty { writer.write("user", info.user) }
    if !info.client.isEmpty { writer.write("client", info.client) }
    if let connection = info.connectionInfo { writer.write("conn_info", raw: connection) }
    if let channel = info.channelInfo { writer.write("chan_info", raw: channel) }
  }

  private static func write(_ push: ClientPush, _ writer: inout JSONWriter) {
    switch push {
    case .publication(let channel, let publication, let binary):
      writer.write("channel", channel)
      writer.object("pub") { write(publication, binary, &$0) }
    case .join(let channel, let info):
      writer.write("channel", channel)
      writer.object("join") { $0.object("info") { write(info, &$0) } }
    case .leave(let channel, let info):
      writer.write("channel", channel)
      writer.object("leave") { $0.object("info") { write(info, &$0) } }
    case .unsubscribe(let channel, let code):
      writer.write("channel", channel)
      writer.object("unsubscribe") { writer in
        writer.write("code", code.code)
        writer.write("reason", code.reason)
      }
    case .message(let data):
      writer.object("message") { if !data.isEmpty { $0.write("data", raw: data) } }
    case .subscribe(let channel, let recoverable, let positioned, let position):
      writer.write("channel", channel)
      writer.object("subscribe") { writer in
        if recoverable { writer.write("recoverable", true) }
        if !position.epoch.isEmpty { writer.write("epoch", position.epoch) }
        if position.offset > 0 { writer.write("offset", position.offset) }
        if positioned { writer.write("positioned", true) }
      }
    case .disconnect(let code):
      writer.object("disconnect") { writer in
        writer.write("code", code.code)
        writer.write("reason", code.reason)
        if code.clientReconnects { writer.write("reconnect", true) }
      }
    case .refresh(let expires, let ttl):
      writer.object("refresh") { expiry(expires, ttl, &$0) }
    }
  }
}
