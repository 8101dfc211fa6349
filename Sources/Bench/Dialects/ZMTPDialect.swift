/// ZMTP 3.0 with the NULL mechanism over TCP (ZeroMQ RFC 23), as a SUB or as a PUB socket speaks it.
///
/// A subscriber connects to an XPUB. A publisher is a PUB that connects to a SUB, which asks for everything; what it
/// publishes there is passed on.
///
///     greeting: FF 00×8 7F, version 3 0, mechanism "NULL" in 20 bytes, as-server 0, 31 zeros
///     frame:    flags (1: more 1, long 2, command 4), length (1, or 8 where long), body
///     message:  frame of the topic (more), frame of the content
///     topic:    the channel and a zero, since a subscription is to all topics that begin with it
///     command:  frame whose body is the name's length (1), the name, data
struct ZMTPDialect: Dialect {
  private enum Phase {
    static let awaitsGreeting = 0
    static let awaitsReady = 1
    static let awaitsPong = 2
    static let isOpen = 3
  }

  private enum Flag {
    static let more: UInt8 = 1
    static let long: UInt8 = 2
    static let command: UInt8 = 4
  }

  private struct Frame {
    var flags: UInt8
    var start: Int
    var length: Int
    var next: Int { start &+ length }
  }

  private static let greetingLength = 64

  init(target: Target, scenario: Scenario) throws(BenchError) {}

  func framing(_ role: Role) -> Framing { .raw }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    out.append(byte: 0xFF)
    for _ in 0..<8 { out.append(byte: 0) }
    for byte: UInt8 in [0x7F, 3, 0] { out.append(byte: byte) }
    out.append("NULL")
    for _ in 0..<48 { out.append(byte: 0) }
    out.endMessage()
  }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    var place = 0
    if state.phase == Phase.awaitsGreeting {
      guard try unsafe Self.hasGreeting(bytes) else { return 0 }
      place = Self.greetingLength
      state.phase = Phase.awaitsReady
      ready(state, into: &out)
    }
    while let frame = try unsafe Self.frame(bytes, place) {
      if frame.flags & Flag.command != 0 {
        try unsafe command(bytes.part(frame.start, frame.length), &state, &sink, into: &out)
        place = frame.next
        continue
      }
      guard state.phase >= Phase.awaitsPong else { throw Self.broken("a message before READY") }
      guard state.role == .subscriber else {
        // 01 and a topic: the other side asks for messages. It asks for all of them, once.
        if state.phase == Phase.awaitsPong {
          state.phase = Phase.isOpen
          sink.confirm()
        }
        place = frame.next
        continue
      }
      guard frame.flags & Flag.more != 0 else { throw Self.broken("a message of one frame") }
      guard let content = try unsafe Self.frame(bytes, frame.next) else { break }
      guard content.flags & (Flag.more | Flag.command) == 0 else { throw Self.broken("a message of three frames") }
      unsafe sink.deliver(bytes.part(content.start, content.length))
      place = content.next
    }
    return place
  }

  private static func hasGreeting(_ bytes: UnsafeRawBufferPointer) throws(BenchError) -> Bool {
    guard bytes.count >= 1 else { return false }
    guard unsafe bytes[0] == 0xFF, unsafe bytes.count < 11 || (bytes[9] == 0x7F && bytes[10] >= 3) else {
      throw broken("no greeting of ZMTP 3")
    }
    guard bytes.count >= greetingLength else { return false }
    guard unsafe bytes.hasText("NULL\0", at: 12) else {
      throw BenchError("the ZeroMQ socket wants to authenticate; the bench speaks NULL alone.")
    }
    return true
  }

  /// The frame at `place`; nil where it is not whole.
  @inline(__always)
  private static func frame(_ bytes: UnsafeRawBufferPointer, _ place: Int) throws(BenchError) -> Frame? {
    guard bytes.count &- place >= 2 else { return nil }
    let flags = unsafe bytes[place]
    guard flags < 8 else { throw broken("a frame with flags \(flags)") }
    var frame = unsafe Frame(flags: flags, start: place &+ 2, length: Int(bytes[place &+ 1]))
    if flags & Flag.long != 0 {
      guard bytes.count &- place >= 9 else { return nil }
      let length = unsafe UInt64(bigEndian: bytes.word(at: place &+ 1))
      guard unsafe length <= UInt64(UnsafeRawBufferPointer.longestMessage) else {
        throw broken("a frame of \(length) bytes")
      }
      frame.start = place &+ 9
      frame.length = Int(truncatingIfNeeded: length)
    }
    return frame.next <= bytes.count ? frame : nil
  }

  private func command(
    _ body: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) {
    if unsafe body.hasText("\u{5}READY", at: 0) {
      guard state.phase == Phase.awaitsReady else { throw Self.broken("READY twice") }
      state.phase = Phase.awaitsPong
      if state.role == .subscriber { subscribe(state, into: &out) }
    } else if unsafe body.hasText("\u{4}PING", at: 0) {
      // Back comes the context: what follows the name and a time of two bytes.
      guard body.count >= 7, body.count <= 23 else {
        throw Self.broken("a PING of \(body.count) bytes")
      }
      out.append(byte: Flag.command)
      out.append(byte: UInt8(body.count - 2))
      out.append("\u{4}PONG")
      unsafe out.append(body.part(7, body.count - 7))
      out.endMessage()
    } else if unsafe body.hasText("\u{4}PONG", at: 0) {
      guard state.phase == Phase.awaitsPong, state.role == .subscriber else { return }
      state.phase = Phase.isOpen
      for _ in state.channels { sink.confirm() }
    } else if unsafe body.hasText("\u{5}ERROR", at: 0) {
      throw BenchError("the ZeroMQ socket refused: \(unsafe body.quoted(7, before: body.count)).")
    } else if unsafe !body.hasText("\u{9}SUBSCRIBE", at: 0) {
      throw Self.broken("the command \"\(unsafe body.quoted(1, before: body.count))\"")
    }
  }

  private func ready(_ state: DialectState, into out: inout Outgoing) {
    let type = state.role == .subscriber ? "SUB" : "PUB"
    out.append(byte: Flag.command)
    // Name 6, property's name 12, length of its value 4, value 3.
    out.append(byte: 25)
    out.append("\u{5}READY\u{B}Socket-Type")
    for byte: UInt8 in [0, 0, 0, 3] { out.append(byte: byte) }
    out.append(type)
    out.endMessage()
  }

  /// Subscriptions have no answer; a PING after them has one, and goes the same way.
  private func subscribe(_ state: DialectState, into out: inout Outgoing) {
    for channel in state.channels {
      Self.append(header: 0, length: channel.utf8.count + 2, to: &out)
      out.append(byte: 1)
      out.append(channel)
      out.append(byte: 0)
    }
    out.append(byte: Flag.command)
    out.append(byte: 7)
    out.append("\u{4}PING")
    out.append(bigEndian: 0)
    out.endMessage()
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    Self.append(header: Flag.more, length: channel.utf8.count + 1, to: &out)
    out.append(channel)
    out.append(byte: 0)
    Self.append(header: 0, length: content.count, to: &out)
    unsafe out.append(content)
    out.endMessage()
  }

  private static func append(header flags: UInt8, length: Int, to out: inout Outgoing) {
    guard length > 255 else {
      out.append(byte: flags)
      return out.append(byte: UInt8(truncatingIfNeeded: length))
    }
    out.append(byte: flags | Flag.long)
    for shift in stride(from: 56, through: 0, by: -8) { out.append(byte: UInt8(truncatingIfNeeded: length >> shift)) }
  }

  private static func broken(_ what: String) -> BenchError {
    BenchError("the ZeroMQ socket sent what is no ZMTP 3: \(what). Is it a ZeroMQ socket?")
  }
}
