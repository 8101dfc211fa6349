/// Writes JSON without Foundation: a reply is written once per publication or command, and `data` goes in as it is.
public struct JSONWriter {
  public private(set) var bytes: [UInt8]
  private var needsComma = false

  public init(appendingTo bytes: consuming [UInt8] = []) { self.bytes = bytes }

  /// - Parameter capacity: bytes that will be needed, about.
  public init(capacity: Int) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  public mutating func object(_ key: StaticString? = nil, _ content: (inout JSONWriter) -> Void) {
    open(key)
    content(&self)
    close()
  }

  public mutating func open(_ key: StaticString? = nil) {
    separate(key)
    bytes.append(UInt8(ascii: "{"))
    needsComma = false
  }

  public mutating func close() {
    bytes.append(UInt8(ascii: "}"))
    needsComma = true
  }

  public mutating func list(_ key: StaticString, _ content: (inout JSONWriter) -> Void) {
    separate(key)
    bytes.append(UInt8(ascii: "["))
    needsComma = false
    content(&self)
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Writes an object under a key that a peer chose, and which is escaped.
  public mutating func object(named key: String, _ content: (inout JSONWriter) -> Void) {
    separate(nil)
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
    open(nil)
    content(&self)
    close()
  }

  public mutating func write(_ key: StaticString, _ value: String) {
    separate(key)
    quote(value)
    needsComma = true
  }

  public mutating func write(named key: String, _ value: String) {
    separate(nil)
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    quote(value)
    needsComma = true
  }

  @inlinable
  public mutating func write(named key: String, _ value: some FixedWidthInteger) {
    write(named: key, magnitude: UInt64(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
  }

  public mutating func write(named key: String, magnitude: UInt64, isNegative: Bool) {
    separate(nil)
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    digits(magnitude, isNegative: isNegative)
    needsComma = true
  }

  /// As ``write(_:raw:)``, under a key that is escaped.
  public mutating func write(named key: String, raw value: [UInt8]) {
    separate(nil)
    quote(key)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(contentsOf: value)
    needsComma = true
  }

  public mutating func write(element value: String) {
    separate(nil)
    quote(value)
    needsComma = true
  }

  @inlinable
  public mutating func write(_ key: StaticString, _ value: some FixedWidthInteger) {
    write(key, magnitude: UInt64(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
  }

  public mutating func write(_ key: StaticString, magnitude: UInt64, isNegative: Bool) {
    separate(key)
    digits(magnitude, isNegative: isNegative)
    needsComma = true
  }

  public mutating func write(_ key: StaticString, _ value: Bool) {
    separate(key)
    literal(value ? "true" : "false")
    needsComma = true
  }

  /// Writes a JSON value as it came. A newline between its tokens becomes a space, because SDKs split a frame at
  /// newlines.
  public mutating func write(_ key: StaticString, raw value: [UInt8]) {
    separate(key)
    let start = bytes.count
    bytes.append(contentsOf: value)
    for index in start..<bytes.count where bytes[index] == 0x0A || bytes[index] == 0x0D { bytes[index] = 0x20 }
    needsComma = true
  }

  /// Writes a JSON value as it came, as an element of a list.
  public mutating func write(rawElement value: [UInt8]) {
    separate(nil)
    bytes.append(contentsOf: value)
    needsComma = true
  }

  /// Writes a string as it stood between its quotes in JSON that is valid.
  public mutating func write(_ key: StaticString, quoting text: some Collection<UInt8>) {
    separate(key)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: text)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  /// Writes bytes as a base64 string.
  public mutating func write(_ key: StaticString, base64 value: [UInt8]) {
    separate(key)
    bytes.append(UInt8(ascii: "\""))
    bytes.reserveCapacity(bytes.count + (value.count + 2) / 3 * 4)
    unsafe value.withUnsafeBytes { unsafe Base64.standard.encode($0) { unsafe bytes.append(contentsOf: $0) } }
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
    literal("\":")
  }

  private mutating func literal(_ text: StaticString) {
    text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func digits(_ magnitude: UInt64, isNegative: Bool) {
    if isNegative { bytes.append(UInt8(ascii: "-")) }
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var rest = magnitude
      var start = digits.count
      repeat {
        start -= 1
        unsafe digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      unsafe bytes.append(contentsOf: digits[start...])
    }
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    unsafe JSONText.escape(text) { run in unsafe bytes.append(contentsOf: run) }
    bytes.append(UInt8(ascii: "\""))
  }
}

extension JSONWriter {
  /// Writes a publication's fields, as clients and services get them.
  ///
  /// - Parameter binary: the channel's data format is binary, so the payload becomes a base64 string.
  public mutating func write(_ publication: Publication, binary: Bool) {
    write(publication, .init(isBinary: binary))
  }

  mutating func write(_ publication: Publication, _ payload: PublicationPush.PayloadForm) {
    members { comma, bytes in
      PublicationPush.with(publication, tags: publication.visibleTags, payload: payload) { push in
        push.writeData(&comma, to: &bytes)
        push.writeAbout(&comma, to: &bytes)
      }
    }
    write(publication.change)
  }

  /// Writes a publication's fields without its payload.
  public mutating func writeAbout(_ publication: Publication) {
    members { comma, bytes in
      PublicationPush.with(publication, tags: publication.visibleTags, payload: .value) { push in
        push.writeAbout(&comma, to: &bytes)
      }
    }
    write(publication.change)
  }

  /// Members that are written past this writer.
  private mutating func members(_ write: (inout PublicationPush.Comma, inout [UInt8]) -> Void) {
    var comma = PublicationPush.Comma(isDue: needsComma)
    write(&comma, &bytes)
    needsComma = comma.isDue
  }

  /// What a publication of a map channel or a shared poll does to its key.
  private mutating func write(_ change: KeyChange?) {
    guard let change else { return }
    if !change.key.isEmpty { write("key", change.key) }
    if change.removed { write("removed", true) }
    if change.score != 0 { write("score", change.score) }
    if let version = change.version, version > 0 { write("version", version) }
  }

  public mutating func write(_ info: ClientInfo) {
    members { comma, bytes in
      comma.put("\"user\":\"", to: &bytes)
      PublicationPush.with(info) { info in
        if let info { PublicationPush.writeMembers(of: info, to: &bytes) }
      }
    }
  }
}

extension Publication {
  /// The tags as clients get them: on a map channel with what the publication does to its key, for clients that know
  /// nothing of maps. Nobody subscribes to a shared poll but who knows what it is.
  var visibleTags: [String: String] {
    guard let change, change.version == nil else { return tags }
    var tags = tags
    tags[TagFilter.keyTag] = change.key
    tags["removed"] = change.removed ? "true" : nil
    return tags
  }
}
