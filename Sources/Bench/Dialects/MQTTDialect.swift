/// MQTT 3.1.1 over WebSocket (OASIS, section 6), QoS 0, as mosquitto speaks it. Packets may straddle frames.
///
///     type and flags (1), length of the rest (1–4, seven bits each, lowest first), rest
///     PUBLISH: 30, length, topic's length (2), topic, content
struct MQTTDialect: Dialect {
  private enum Packet {
    static let connect: UInt8 = 0x10
    static let connected: UInt8 = 0x20
    static let publish: UInt8 = 0x30
    static let subscribe: UInt8 = 0x82
    static let subscribed: UInt8 = 0x90
    static let pong: UInt8 = 0xD0
  }

  private struct Header {
    /// Where the rest begins, and its length.
    var start: Int
    var length: Int
  }

  private let target: Target

  init(target: Target, scenario: Scenario) throws(BenchError) {
    self.target = target
    try scenario.requireChannelNames(for: "MQTT") { $0.value != 0 && $0 != "+" && $0 != "#" }
  }

  func framing(_ role: Role) -> Framing {
    .webSocket(path: target.path(role, instead: "/mqtt"), subprotocol: "mqtt", binary: true)
  }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    let name = "\(state.role == .subscriber ? "s" : "p")\(state.client)"
    out.append(byte: Packet.connect)
    Self.append(length: 10 + 2 + name.utf8.count, to: &out)
    Self.append(text: "MQTT", to: &out)
    // Version 3.1.1, clean session, no keep-alive: the bench sends no pings.
    for byte: UInt8 in [4, 2, 0, 0] { out.append(byte: byte) }
    Self.append(text: name, to: &out)
    out.endMessage()
  }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    var place = 0
    while let header = try unsafe Self.header(bytes, place) {
      let kind = unsafe bytes[place]
      if kind & 0xF0 == Packet.publish {
        guard header.length >= 2, kind & 0x06 == 0 else { throw Self.broken("a PUBLISH that is not of QoS 0") }
        let topic = unsafe Int(bytes[header.start]) << 8 | Int(bytes[header.start &+ 1])
        guard 2 &+ topic <= header.length else { throw Self.broken("a topic that is longer than its packet") }
        unsafe sink.deliver(bytes.part(header.start &+ 2 &+ topic, header.length &- 2 &- topic))
      } else {
        try unsafe control(kind, bytes.part(header.start, header.length), &state, &sink, into: &out)
      }
      place = header.start &+ header.length
    }
    return place
  }

  /// The header of the packet at `place`; nil where the packet is not whole.
  @inline(__always)
  private static func header(_ bytes: UnsafeRawBufferPointer, _ place: Int) throws(BenchError) -> Header? {
    var length = 0
    for position in 0..<4 {
      let index = place &+ 1 &+ position
      guard index < bytes.count else { return nil }
      let byte = unsafe bytes[index]
      length |= Int(byte & 0x7F) << (7 &* position)
      guard byte & 0x80 == 0 else { continue }
      guard unsafe length <= UnsafeRawBufferPointer.longestMessage else {
        throw broken("a packet of \(length) bytes")
      }
      return index &+ 1 &+ length <= bytes.count ? Header(start: index &+ 1, length: length) : nil
    }
    throw broken("a length of more than four bytes")
  }

  private func control(
    _ kind: UInt8, _ rest: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink,
    into out: inout Outgoing
  ) throws(BenchError) {
    switch kind {
    case Packet.connected:
      guard rest.count == 2 else { throw Self.broken("a CONNACK of \(rest.count) bytes") }
      guard unsafe rest[1] == 0 else {
        throw BenchError(
          "the MQTT server refused to connect with code \(unsafe rest[1]); let it take clients without a name.")
      }
      if state.role == .publisher { sink.confirm() } else { subscribe(state, into: &out) }
    case Packet.subscribed:
      guard rest.count > 2 else { throw Self.broken("a SUBACK of \(rest.count) bytes") }
      for place in 2..<rest.count {
        guard unsafe rest[place] < 3 else { throw BenchError("the MQTT server refused a subscription.") }
        sink.confirm()
      }
    case Packet.pong: break
    default: throw Self.broken("a packet of type \(kind >> 4)")
    }
  }

  /// A few channels a packet, so that no server's limit on a packet is met.
  private func subscribe(_ state: DialectState, into out: inout Outgoing) {
    var first = 0
    var identifier: UInt16 = 1
    while first < state.channels.count {
      let some = state.channels[first..<min(first + 64, state.channels.count)]
      out.append(byte: Packet.subscribe)
      Self.append(length: some.reduce(2) { $0 + 3 + $1.utf8.count }, to: &out)
      out.append(bigEndian: identifier)
      for channel in some {
        Self.append(text: channel, to: &out)
        out.append(byte: 0)
      }
      out.endMessage()
      first += some.count
      // A packet's identifier is never zero.
      identifier = identifier == .max ? 1 : identifier + 1
    }
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    out.append(byte: Packet.publish)
    Self.append(length: 2 + channel.utf8.count + content.count, to: &out)
    Self.append(text: channel, to: &out)
    unsafe out.append(content)
    out.endMessage()
  }

  private static func append(length: Int, to out: inout Outgoing) {
    var rest = length
    repeat {
      out.append(byte: UInt8(truncatingIfNeeded: rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
      rest >>= 7
    } while rest > 0
  }

  private static func append(text: String, to out: inout Outgoing) {
    out.append(bigEndian: UInt16(truncatingIfNeeded: text.utf8.count))
    out.append(text)
  }

  private static func broken(_ what: String) -> BenchError {
    BenchError("the MQTT server sent what is no part of MQTT 3.1.1: \(what). Is it an MQTT server?")
  }
}
