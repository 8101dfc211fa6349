/// The NATS client protocol over WebSocket: a stream of lines and contents, whose frames end anywhere.
///
///     ← INFO {…}␍␊
///     → CONNECT {…}␍␊ SUB subject sid␍␊ … PING␍␊
///     ← PONG␍␊                                  all that was asked for is done
///     ← MSG subject sid length␍␊ content ␍␊
///     → PUB subject length␍␊ content ␍␊         without an answer: `verbose` is off
struct NATSDialect: Dialect {
  private enum Phase {
    static let awaitsInfo = 0
    static let awaitsPong = 1
    static let isOpen = 2
  }

  private let target: Target

  init(target: Target, scenario: Scenario) throws(BenchError) {
    self.target = target
    try scenario.requireChannelNames(for: "nats-server") { character in
      character.isASCII && character.value > 0x20 && !"*>.".unicodeScalars.contains(character)
    }
  }

  func framing(_ role: Role) -> Framing {
    .webSocket(path: target.path(role), subprotocol: nil, binary: true)
  }

  /// Says nothing: the server speaks first.
  func open(_ state: inout DialectState, into out: inout Outgoing) {}

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    var place = 0
    while bytes.count &- place >= 6 {
      guard unsafe bytes.halfWord(at: place) == ("MSG " as StaticString).halfWord else {
        guard let next = try unsafe control(bytes, place, &state, &sink, into: &out) else { break }
        place = next
        continue
      }
      guard let feed = unsafe bytes.lineFeed(from: place &+ 4) else {
        guard bytes.count &- place < 65_536 else { throw Self.broken("a MSG line without an end") }
        break
      }
      // The length stands last in the line: subject, sid and a reply subject need not be read.
      var start = feed &- 1
      while start > place, unsafe bytes[start &- 1] != 0x20 { start &-= 1 }
      guard let length = unsafe bytes.decimal(start, before: feed &- 1), unsafe bytes[feed &- 1] == 0x0D else {
        throw Self.broken(unsafe "\"\(bytes.quoted(place, before: feed))\"")
      }
      guard unsafe length <= UnsafeRawBufferPointer.longestMessage else {
        throw Self.broken("a message of \(length) bytes")
      }
      let end = feed &+ 1 &+ length
      guard end &+ 2 <= bytes.count else { break }
      guard unsafe bytes[end] == 0x0D, unsafe bytes[end &+ 1] == 0x0A else {
        throw Self.broken("a content that is longer than its length")
      }
      unsafe sink.deliver(bytes.part(feed &+ 1, length))
      place = end &+ 2
    }
    return place
  }

  /// - Returns: where the next item begins; nil where this one is not whole.
  private func control(
    _ bytes: UnsafeRawBufferPointer, _ place: Int, _ state: inout DialectState, _ sink: inout Sink,
    into out: inout Outgoing
  ) throws(BenchError) -> Int? {
    guard let feed = unsafe bytes.lineFeed(from: place) else {
      guard bytes.count - place < 1 << 20 else { throw Self.broken("a line without an end") }
      return nil
    }
    if unsafe bytes.hasText("PING\r\n", at: place) {
      out.append("PONG\r\n")
      out.endMessage()
    } else if unsafe bytes.hasText("PONG\r\n", at: place) {
      confirm(&state, &sink)
    } else if unsafe bytes.hasText("INFO ", at: place) {
      // Another INFO may come at any time, when a cluster changes.
      if state.phase == Phase.awaitsInfo { greet(&state, into: &out) }
    } else if unsafe bytes.hasText("-ERR", at: place) {
      throw BenchError("nats-server refused something: \(unsafe bytes.quoted(place + 4, before: feed - 1))")
    } else if unsafe !bytes.hasText("+OK\r\n", at: place) {
      throw Self.broken(unsafe "\"\(bytes.quoted(place, before: feed))\"")
    }
    return feed + 1
  }

  private func greet(_ state: inout DialectState, into out: inout Outgoing) {
    out.append(
      #"CONNECT {"verbose":false,"pedantic":false,"lang":"fanfare-bench","version":"1","protocol":1}"# + "\r\n")
    if state.role == .subscriber {
      for (index, channel) in state.channels.enumerated() { out.append("SUB \(channel) \(index + 1)\r\n") }
    }
    out.append("PING\r\n")
    out.endMessage()
    state.phase = Phase.awaitsPong
  }

  private func confirm(_ state: inout DialectState, _ sink: inout Sink) {
    guard state.phase == Phase.awaitsPong else { return }
    state.phase = Phase.isOpen
    for _ in 0..<(state.role == .subscriber ? state.channels.count : 1) { sink.confirm() }
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    out.append("PUB ")
    out.append(channel)
    out.append(byte: 0x20)
    out.append(decimal: content.count)
    out.append("\r\n")
    unsafe out.append(content)
    out.append("\r\n")
    out.endMessage()
  }

  private static func broken(_ what: String) -> BenchError {
    BenchError("nats-server sent what is no part of its protocol: \(what). Is it a nats-server?")
  }
}
