/// Redis pub/sub in RESP2 over TCP.
///
///     → *2␍␊$9␍␊SUBSCRIBE␍␊$7␍␊channel␍␊
///     ← *3␍␊$9␍␊subscribe␍␊$7␍␊channel␍␊:1␍␊                 once for each channel
///     ← *3␍␊$7␍␊message␍␊$7␍␊channel␍␊$5␍␊hello␍␊
///     → *3␍␊$7␍␊PUBLISH␍␊$7␍␊channel␍␊$5␍␊hello␍␊
///     ← :12␍␊                                               receivers
struct RedisDialect: Dialect {
  init(target: Target, scenario: Scenario) throws(BenchError) {}

  var answersPublications: Bool { true }

  func framing(_ role: Role) -> Framing { .raw }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    guard state.role == .subscriber else {
      // The answer to a PING says that the server is there and wants no password.
      out.append("*1\r\n$4\r\nPING\r\n")
      return out.endMessage()
    }
    out.append("*\(state.channels.count + 1)\r\n$9\r\nSUBSCRIBE\r\n")
    for channel in state.channels { Self.append(bulk: channel, to: &out) }
    out.endMessage()
  }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    var place = 0
    // An empty message from a channel without a name has 29 bytes.
    while bytes.count &- place >= 26,
      unsafe bytes.word(at: place) == ("*3\r\n$7\r\n" as StaticString).word,
      unsafe bytes.word(at: place &+ 8) == ("message\r" as StaticString).word
    {
      guard let channel = try unsafe Self.bulk(bytes, place &+ 17) else { return place }
      guard let content = try unsafe Self.bulk(bytes, channel.next) else { return place }
      unsafe sink.deliver(bytes.part(content.start, content.length))
      place = content.next
    }
    while place < bytes.count {
      // Whole messages are read above, unless something else stood before them.
      guard let next = try unsafe item(bytes, place, state, &sink) else { break }
      place = next
    }
    return place
  }

  private struct Bulk {
    var start: Int
    var length: Int
    /// Where the next item begins, behind the string's line end.
    var next: Int
  }

  /// A bulk string at `place`; nil where it is not whole.
  @inline(__always)
  private static func bulk(_ bytes: UnsafeRawBufferPointer, _ place: Int) throws(BenchError) -> Bulk? {
    guard place < bytes.count else { return nil }
    guard unsafe bytes[place] == 0x24 else { throw unsafe broken(bytes, place) }
    var end = place &+ 1
    while end < bytes.count, unsafe bytes[end] != 0x0D { end &+= 1 }
    guard end &+ 1 < bytes.count else {
      guard end &- place <= 12 else { throw unsafe broken(bytes, place) }
      return nil
    }
    guard unsafe bytes[end &+ 1] == 0x0A, let length = unsafe bytes.decimal(place &+ 1, before: end),
      unsafe length <= UnsafeRawBufferPointer.longestMessage
    else { throw unsafe broken(bytes, place) }
    let start = end &+ 2
    let next = start &+ length &+ 2
    guard next <= bytes.count else { return nil }
    guard unsafe bytes[next &- 2] == 0x0D, unsafe bytes[next &- 1] == 0x0A else { throw unsafe broken(bytes, place) }
    return Bulk(start: start, length: length, next: next)
  }

  /// Anything that may come.
  ///
  /// - Returns: where the next item begins; nil where this one is not whole.
  private func item(
    _ bytes: UnsafeRawBufferPointer, _ place: Int, _ state: DialectState, _ sink: inout Sink
  ) throws(BenchError) -> Int? {
    guard let feed = unsafe bytes.lineFeed(from: place) else {
      guard bytes.count - place < 65_536 else { throw unsafe Self.broken(bytes, place) }
      return nil
    }
    switch unsafe bytes[place] {
    case UInt8(ascii: ":"): sink.acknowledge(refused: false)
    case UInt8(ascii: "+"):
      guard state.role == .publisher, unsafe bytes.hasText("+PONG\r\n", at: place) else {
        throw unsafe Self.broken(bytes, place)
      }
      sink.confirm()
    case UInt8(ascii: "-"):
      throw BenchError("Redis refused a command: \(unsafe bytes.quoted(place + 1, before: feed - 1))")
    case UInt8(ascii: "*"): return try unsafe push(bytes, place, feed, &sink)
    default: throw unsafe Self.broken(bytes, place)
    }
    return feed + 1
  }

  /// An array of three: a kind, a channel, and a count or a content.
  private func push(
    _ bytes: UnsafeRawBufferPointer, _ place: Int, _ feed: Int, _ sink: inout Sink
  ) throws(BenchError) -> Int? {
    guard unsafe bytes.hasText("*3\r\n", at: place) else { throw unsafe Self.broken(bytes, place) }
    guard let kind = try unsafe Self.bulk(bytes, feed + 1) else { return nil }
    guard let channel = try unsafe Self.bulk(bytes, kind.next) else { return nil }
    if unsafe bytes.hasText("message\r\n", at: kind.start) {
      guard let content = try unsafe Self.bulk(bytes, channel.next) else { return nil }
      unsafe sink.deliver(bytes.part(content.start, content.length))
      return content.next
    }
    guard unsafe bytes.hasText("subscribe\r\n", at: kind.start) else { throw unsafe Self.broken(bytes, place) }
    guard let end = unsafe bytes.lineFeed(from: channel.next) else { return nil }
    guard unsafe bytes[channel.next] == UInt8(ascii: ":") else { throw unsafe Self.broken(bytes, place) }
    sink.confirm()
    return end + 1
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    out.append("*3\r\n$7\r\nPUBLISH\r\n")
    Self.append(bulk: channel, to: &out)
    out.append("$")
    out.append(decimal: content.count)
    out.append("\r\n")
    unsafe out.append(content)
    out.append("\r\n")
    out.endMessage()
  }

  private static func append(bulk text: String, to out: inout Outgoing) {
    out.append("$")
    out.append(decimal: text.utf8.count)
    out.append("\r\n")
    out.append(text)
    out.append("\r\n")
  }

  private static func broken(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> BenchError {
    BenchError(
      "Redis sent what the bench cannot read: \"\(unsafe bytes.quoted(place, before: place + 40))\". Is it a Redis?")
  }
}
