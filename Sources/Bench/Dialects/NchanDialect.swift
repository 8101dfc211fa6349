/// nginx with nchan: a subscriber is a WebSocket at `/sub/CHANNEL`, a publication a POST to `/pub/CHANNEL`.
///
/// The channel stands in the address, so each connection has an address of its own: the dialect asks for the WebSocket
/// itself and reads its frames (RFC 6455), on a raw connection. One connection has one channel. Publishers keep their
/// connection and do not wait for an answer before the next request.
struct NchanDialect: Dialect {
  private enum Phase {
    static let awaitsAnswer = 0
    static let isOpen = 1
  }

  private static let limit = 65_536

  private let subscribePath: String
  private let publishPath: String
  /// All of a POST but channel and length.
  private let afterChannel: String
  private let host: String

  init(target: Target, scenario: Scenario) throws(BenchError) {
    try scenario.requireChannelNames(for: "nchan") { character in
      character.isASCII
        && (character.properties.isAlphabetic || character.properties.numericType != nil
          || "-_.~:".unicodeScalars.contains(character))
    }
    host = target.authority(.subscriber)
    subscribePath = Self.folder(target.path(.subscriber, instead: "/sub/"))
    publishPath = target.publishURL == nil ? "/pub/" : Self.folder(target.path(.publisher, instead: "/pub/"))
    afterChannel = " HTTP/1.1\r\nHost: \(target.authority(.publisher))\r\nContent-Length: "
  }

  private static func folder(_ path: String) -> String {
    path.hasSuffix("/") ? path : path + "/"
  }

  func framing(_ role: Role) -> Framing { .raw }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    guard state.role == .subscriber else {
      // Any answer says that the server is there: a channel that nobody has used is "404".
      out.append("GET \(publishPath)ready HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      return out.endMessage()
    }
    // The key is a constant: nobody between here and the server could mistake the connection for another.
    out.append(
      "GET \(subscribePath)\(state.channels.first ?? "") HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ZmFuZmFyZS1iZW5jaC0wMQ==\r\n\r\n")
    out.endMessage()
  }

  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    if state.role == .publisher { return try unsafe answers(bytes, &state, &sink) }
    guard state.phase == Phase.isOpen else {
      guard state.channels.count == 1 else {
        throw BenchError(
          "a subscriber of nchan has one channel, not \(state.channels.count); give the scenario a connection per channel or leave nchan out."
        )
      }
      guard let head = try unsafe Self.head(bytes, 0) else { return 0 }
      guard head.status == 101 else {
        throw BenchError("nchan answered \(head.status) instead of opening a WebSocket; see its error log.")
      }
      state.phase = Phase.isOpen
      sink.confirm()
      return head.next
    }
    var place = 0
    while let frame = try unsafe Self.frame(bytes, place) {
      if frame.opcode <= 2 {
        unsafe sink.deliver(bytes.part(frame.start, frame.length))
      } else if frame.opcode == 9 {
        unsafe Self.pong(bytes.part(frame.start, frame.length), into: &out)
      }
      // After a close frame the connection ends, and that is what counts.
      place = frame.start &+ frame.length
    }
    return place
  }

  private struct Frame {
    var opcode: UInt8
    var start: Int
    var length: Int
  }

  /// The frame at `place`; nil where it is not whole.
  @inline(__always)
  private static func frame(_ bytes: UnsafeRawBufferPointer, _ place: Int) throws(BenchError) -> Frame? {
    guard bytes.count &- place >= 2 else { return nil }
    let first = unsafe bytes[place]
    var length = unsafe Int(bytes[place &+ 1])
    var start = place &+ 2
    guard first & 0xF0 == 0x80, length < 0x80 else {
      throw BenchError(
        "nchan sent a WebSocket frame that is a fragment, compressed or masked; the bench cannot read that.")
    }
    if length == 126 {
      guard bytes.count &- place >= 4 else { return nil }
      length = unsafe Int(bytes[place &+ 2]) << 8 | Int(bytes[place &+ 3])
      start = place &+ 4
    } else if length == 127 {
      guard bytes.count &- place >= 10 else { return nil }
      let long = unsafe UInt64(bigEndian: bytes.word(at: place &+ 2))
      guard unsafe long <= UInt64(UnsafeRawBufferPointer.longestMessage) else {
        throw BenchError("nchan sent a message of \(long) bytes; the bench reads up to 16 MiB.")
      }
      length = Int(truncatingIfNeeded: long)
      start = place &+ 10
    }
    guard start &+ length <= bytes.count else { return nil }
    return Frame(opcode: first & 0x0F, start: start, length: length)
  }

  private static func pong(_ content: UnsafeRawBufferPointer, into out: inout Outgoing) {
    // A control frame is short; a mask of zeros leaves its content as it is.
    guard content.count < 126 else { return }
    out.append(byte: 0x8A)
    out.append(byte: 0x80 | UInt8(content.count))
    for _ in 0..<4 { out.append(byte: 0) }
    unsafe out.append(content)
    out.endMessage()
  }

  private func answers(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink
  ) throws(BenchError) -> Int {
    var place = 0
    while let head = try unsafe Self.head(bytes, place) {
      guard bytes.count - head.next >= head.bodyLength else { break }
      place = head.next + head.bodyLength
      if state.phase == Phase.awaitsAnswer {
        state.phase = Phase.isOpen
        sink.confirm()
      } else {
        sink.acknowledge(refused: head.status >= 300)
      }
    }
    return place
  }

  private struct Head {
    var status: Int
    var bodyLength: Int
    /// Behind the empty line.
    var next: Int
  }

  /// The head of an HTTP response at `place`; nil where it is not whole.
  private static func head(_ bytes: UnsafeRawBufferPointer, _ place: Int) throws(BenchError) -> Head? {
    guard bytes.count - place >= 15 else { return nil }
    guard unsafe bytes.hasText("HTTP/1.1 ", at: place), let status = unsafe bytes.decimal(place + 9, before: place + 12)
    else {
      throw BenchError("nchan sent \"\(unsafe bytes.quoted(place, before: place + 40))\", which is no HTTP answer.")
    }
    var head = Head(status: status, bodyLength: 0, next: place)
    var line = place
    while let feed = unsafe bytes.lineFeed(from: line) {
      let end = feed - 1
      if end <= line {
        head.next = feed + 1
        return head
      }
      // nginx spells it so.
      if unsafe bytes.hasText("Content-Length: ", at: line) {
        guard let length = unsafe bytes.decimal(line + 16, before: end), length <= limit else {
          throw BenchError(
            "nchan answered with a body whose length is \"\(unsafe bytes.quoted(line + 16, before: end))\".")
        }
        head.bodyLength = length
      }
      line = feed + 1
    }
    guard bytes.count - place < limit else { throw BenchError("nchan sent an HTTP head without an end.") }
    return nil
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    out.append("POST ")
    out.append(publishPath)
    out.append(channel)
    out.append(afterChannel)
    out.append(decimal: content.count)
    out.append("\r\n\r\n")
    unsafe out.append(content)
    out.endMessage()
  }
}
