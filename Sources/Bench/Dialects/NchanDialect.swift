/// nginx with nchan: a subscriber is a WebSocket at `/sub/CHANNEL`, a publication a POST to `/pub/CHANNEL`.
///
/// The channel stands in the address, so a subscriber has one channel. Publishers keep their connection, and do not wait
/// for an answer before the next request.
struct NchanDialect: Dialect {
  private enum Phase {
    static let awaitsAnswer = 0
    static let isOpen = 1
  }

  private static let limit = 65_536

  private let subscribePath: String
  private let publishPath: String
  /// The head of a POST without channel and length.
  private let afterChannel: String
  private let host: String

  init(target: Target, scenario: Scenario) throws(BenchError) {
    try scenario.requireChannelNames(for: "nchan") { character in
      switch character {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "~": true
      default: false
      }
    }
    host = target.authority(.publisher)
    subscribePath = Self.folder(target.path(.subscriber, instead: "/sub/"))
    publishPath = target.publishURL == nil ? "/pub/" : Self.folder(target.path(.publisher, instead: "/pub/"))
    afterChannel = " HTTP/1.1\r\nHost: \(host)\r\nContent-Length: "
  }

  private static func folder(_ path: String) -> String {
    path.hasSuffix("/") ? path : path + "/"
  }

  var answersPublications: Bool { true }

  func framing(_ role: Role) -> Framing {
    role == .subscriber ? .webSocket(path: subscribePath, subprotocol: nil, binary: false) : .raw
  }

  func path(_ state: DialectState) -> String? {
    state.role == .subscriber ? subscribePath + (state.channels.first ?? "") : nil
  }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    // nchan subscribes before it answers the upgrade, and says nothing more.
    guard state.role == .publisher else { return state.isConfirmed = true }
    // Any answer says that the server is there: a channel that nobody has used is "404".
    out.append("GET \(publishPath)ready HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    out.endMessage()
  }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    guard state.role == .subscriber else { return try unsafe answers(bytes, &state, &sink) }
    unsafe sink.deliver(bytes)
    return bytes.count
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
    /// Where the body begins, behind the empty line.
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
      // nginx writes the header's name in this case, and no other is looked for.
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
