import Glibc

extension CentrifugeDialect {
  /// `{"push":` and `"data":"` as words in memory order.
  private static var pushWord: UInt64 { UInt64(bigEndian: 0x7B22_7075_7368_223A) }
  private static var dataWord: UInt64 { UInt64(bigEndian: 0x2264_6174_6122_3A22) }
  /// `"text":"`, before the content in Clique.
  private static var textWord: UInt64 { UInt64(bigEndian: 0x2274_6578_7422_3A22) }

  /// Reads the replies of a message, each on a line of its own.
  @inline(__always)
  func receiveJSON(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) {
    guard let base = bytes.baseAddress else { return }
    let count = bytes.count
    var place = 0
    let contentWord = isClique ? Self.textWord : Self.dataWord
    while place < count {
      // Most lines are publications whose content stands where the last one's stood.
      let content = place &+ state.contentPlace
      if !isRecovering, state.contentPlace > 8, content &+ Marker.length < count,
        unsafe (base + place).loadUnaligned(as: UInt64.self) == Self.pushWord,
        unsafe (base + content - 8).loadUnaligned(as: UInt64.self) == contentWord,
        unsafe (base + content).loadUnaligned(as: UInt32.self) == Marker.magicWord
      {
        let end = unsafe Self.endOfLine(base, content, count)
        unsafe sink.deliver(UnsafeRawBufferPointer(start: base + content, count: end &- content))
        place = end &+ 1
      } else {
        let end = unsafe Self.endOfLine(base, place, count)
        unsafe try readReply(bytes, place..<end, &state, &sink, &out)
        place = end &+ 1
      }
    }
  }

  @inline(__always)
  private static func endOfLine(_ base: UnsafeRawPointer, _ place: Int, _ count: Int) -> Int {
    guard place < count, let found = unsafe memchr(base + place, 10, count &- place) else { return count }
    return unsafe UnsafeRawPointer(found) - base
  }

  /// What a reply is, as far as it matters here.
  private struct Reply {
    var isEmpty = true
    var id: UInt64 = 0
    var code: UInt64 = 0
    var message = ""
    var kind = Kind.other
    var answersPings = false
    var epoch = ""
    var offset: UInt64 = 0
    var recovered = false
    enum Kind { case other, connect, subscribe, publication, ending }
  }

  @inline(never)
  private func readReply(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ state: inout DialectState, _ sink: inout Sink,
    _ out: inout Outgoing
  ) throws(BenchError) {
    var cursor = unsafe JSONCursor(bytes, from: range.lowerBound, to: range.upperBound)
    if cursor.peek() == 0 { return }
    var reply = Reply()
    cursor.object { key, cursor in
      reply.isEmpty = false
      if cursor.matches(key, "id") {
        reply.id = cursor.number()
      } else if cursor.matches(key, "error") {
        Self.readError(&cursor, &reply)
      } else if cursor.matches(key, "push") {
        unsafe self.readPush(bytes, range.lowerBound, &cursor, &reply, &state, &sink)
      } else if cursor.matches(key, "connect") {
        reply.kind = .connect
        cursor.object { key, cursor in
          if cursor.matches(key, "pong") { reply.answersPings = cursor.isTrue() } else { cursor.skip() }
        }
      } else if cursor.matches(key, "subscribe") {
        reply.kind = .subscribe
        unsafe Self.readSubscribed(bytes, &cursor, &reply, &sink)
      } else {
        cursor.skip()
      }
    }
    guard !cursor.isBroken else {
      throw BenchError("the server's reply is no JSON of the Centrifuge protocol; is the scenario's format right?")
    }
    try follow(reply, &state, &sink, &out)
  }

  private func follow(
    _ reply: Reply, _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) {
    if reply.isEmpty {
      guard state.answersPings else { return }
      out.append("{}")
      return out.endMessage()
    }
    if reply.code != 0 {
      guard state.role == .publisher, state.phase > 1, !Self.isFinal(reply.code) else {
        throw refusal(reply.code, reply.message, state)
      }
      state.refusal = "error \(reply.code), \(reply.message)"
      return sink.acknowledge(refused: true)
    }
    switch reply.kind {
    case .connect: connected(answersPings: reply.answersPings, &state, &sink, &out)
    case .subscribe:
      if state.recovers && !reply.recovered {
        throw BenchError(
          "the server could not recover \(state.channels.first ?? "") from offset \(state.offsets.first ?? 0)")
      }
      subscribed(reply.id, epoch: reply.epoch, offset: reply.offset, &state)
      sink.confirm()
    case .publication: if isRecovering { seen(reply.offset, &state) }
    case .ending:
      throw BenchError("the server ended the subscription or the connection by a push (code \(reply.offset))")
    case .other: if reply.id != 0 { sink.acknowledge(refused: false) }
    }
  }

  private static func readError(_ cursor: inout JSONCursor, _ reply: inout Reply) {
    var (code, message): (UInt64, String) = (0, "")
    cursor.object { key, cursor in
      if cursor.matches(key, "code") {
        code = cursor.number()
      } else if cursor.matches(key, "message") {
        message = cursor.unescaped(cursor.string())
      } else {
        cursor.skip()
      }
    }
    (reply.code, reply.message) = (code, message)
  }

  private func readPush(
    _ bytes: UnsafeRawBufferPointer, _ line: Int, _ cursor: inout JSONCursor, _ reply: inout Reply,
    _ state: inout DialectState, _ sink: inout Sink
  ) {
    cursor.object { key, cursor in
      if cursor.matches(key, "pub"), let exchange {
        reply.kind = .publication
        Self.readNotice(&cursor, exchange, state, &sink)
      } else if cursor.matches(key, "pub") {
        reply.kind = .publication
        let content = unsafe Self.readPublication(bytes, &cursor, &reply, &sink)
        state.contentPlace = content > line ? content - line : 0
      } else if cursor.matches(key, "unsubscribe") || cursor.matches(key, "disconnect") {
        reply.kind = .ending
        cursor.object { key, cursor in
          if cursor.matches(key, "code") { reply.offset = cursor.number() } else { cursor.skip() }
        }
      } else {
        cursor.skip()
      }
    }
  }

  /// - Returns: where the content begins; 0 where it is no string.
  @discardableResult
  private static func readPublication(
    _ bytes: UnsafeRawBufferPointer, _ cursor: inout JSONCursor, _ reply: inout Reply, _ sink: inout Sink
  ) -> Int {
    var content = 0..<0
    cursor.object { key, cursor in
      if cursor.matches(key, "data"), cursor.peek() == UInt8(ascii: "\"") {
        content = cursor.string()
      } else if cursor.matches(key, "data") {
        cursor.object { key, cursor in
          if cursor.matches(key, "text"), cursor.peek() == UInt8(ascii: "\"") {
            content = cursor.string()
          } else {
            cursor.skip()
          }
        }
      } else if cursor.matches(key, "offset") {
        reply.offset = cursor.number()
      } else {
        cursor.skip()
      }
    }
    unsafe sink.deliver(UnsafeRawBufferPointer(rebasing: bytes[content]))
    return content.lowerBound
  }

  /// Reads a notification of State: who sent is all that it says.
  private static func readNotice(
    _ cursor: inout JSONCursor, _ exchange: StateExchange, _ state: DialectState, _ sink: inout Sink
  ) {
    var sender = ""
    cursor.object { key, cursor in
      guard cursor.matches(key, "data") else { return cursor.skip() }
      cursor.object { key, cursor in
        if cursor.matches(key, "with") { sender = cursor.text(cursor.string()) } else { cursor.skip() }
      }
    }
    exchange.deliver(from: sender, to: StateExchange.index(of: state.channels.first ?? ""), &sink)
  }

  private static func readSubscribed(
    _ bytes: UnsafeRawBufferPointer, _ cursor: inout JSONCursor, _ reply: inout Reply, _ sink: inout Sink
  ) {
    var position: UInt64 = 0
    cursor.object { key, cursor in
      if cursor.matches(key, "epoch") {
        reply.epoch = cursor.text(cursor.string())
      } else if cursor.matches(key, "offset") {
        position = cursor.number()
      } else if cursor.matches(key, "recovered") {
        reply.recovered = cursor.isTrue()
      } else if cursor.matches(key, "publications"), cursor.peek() == UInt8(ascii: "[") {
        cursor.array { unsafe Self.readPublication(bytes, &$0, &reply, &sink) }
      } else {
        cursor.skip()
      }
    }
    reply.offset = position
  }

  func subscribed(_ id: UInt64, epoch: String, offset: UInt64, _ state: inout DialectState) {
    // Ids: connect has the first, then one for each channel in order.
    guard id >= 2, id - 2 < UInt64(state.channels.count) else { return }
    let index = Int(id - 2)
    if index == state.channels.count - 1 { state.phase = 2 }
    guard index < state.epochs.count, index < state.offsets.count else { return }
    (state.epochs[index], state.offsets[index]) = (epoch, offset)
  }

  /// Each connection has one channel where positions matter.
  func seen(_ offset: UInt64, _ state: inout DialectState) {
    if !state.offsets.isEmpty { state.offsets[0] = offset }
  }
}
