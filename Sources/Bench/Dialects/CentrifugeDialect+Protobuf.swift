extension CentrifugeDialect {
  /// Reads the replies of a message, each behind its length.
  @inline(__always)
  func receiveProtobuf(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) {
    var frame = unsafe ProtobufReader(bytes)
    while !frame.isAtEnd {
      let reply = unsafe frame.bytes()
      guard !frame.isBroken else { throw Self.brokenReply }
      // A publication is a reply whose only field is a push.
      if reply.count > 2, unsafe reply[0] == 0x22 {
        unsafe try readPush(reply, &state, &sink)
      } else {
        unsafe try readReply(reply, &state, &sink, &out)
      }
    }
  }

  private static var brokenReply: BenchError {
    BenchError("the server's reply is no Protobuf of the Centrifuge protocol; is the scenario's format right?")
  }

  @inline(__always)
  private func readPush(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink
  ) throws(BenchError) {
    var reply = unsafe ProtobufReader(bytes)
    _ = reply.varint()
    var push = unsafe ProtobufReader(reply.bytes())
    while !push.isAtEnd {
      let tag = push.varint()
      switch tag {
      case 0x22:
        let offset = unsafe Self.readPublication(push.bytes(), &sink)
        if isRecovering { seen(offset, &state) }
      // Pushes that end the subscription or the connection.
      case 0x3A, 0x5A:
        _ = unsafe push.bytes()
        throw BenchError("the server ended the subscription or the connection by a push")
      default: push.skip(tag)
      }
    }
    if push.isBroken || reply.isBroken { throw Self.brokenReply }
  }

  /// - Returns: the publication's offset.
  @inline(__always)
  private static func readPublication(_ bytes: UnsafeRawBufferPointer, _ sink: inout Sink) -> UInt64 {
    var publication = unsafe ProtobufReader(bytes)
    var offset: UInt64 = 0
    while !publication.isAtEnd {
      let tag = publication.varint()
      switch tag {
      case 0x22:
        let data = unsafe publication.bytes()
        // The content of a JSON string begins behind its quotation mark.
        unsafe sink.deliver(
          data.first == UInt8(ascii: "\"") ? UnsafeRawBufferPointer(rebasing: data.dropFirst()) : data)
      case 0x30: offset = publication.varint()
      default: publication.skip(tag)
      }
    }
    return offset
  }

  @inline(never)
  private func readReply(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, _ out: inout Outgoing
  ) throws(BenchError) {
    guard unsafe !bytes.isEmpty else {
      guard state.answersPings else { return }
      out.bytes.append(0)
      return out.endMessage()
    }
    var reply = unsafe ProtobufReader(bytes)
    var id: UInt64 = 0
    while !reply.isAtEnd {
      let tag = reply.varint()
      switch tag {
      case 0x08: id = reply.varint()
      case 0x12: return unsafe try readError(reply.bytes(), &state, &sink)
      case 0x2A:
        unsafe connected(answersPings: Self.readPong(reply.bytes()), &state, &sink, &out)
      case 0x32: unsafe try readSubscribed(reply.bytes(), id, &state, &sink)
      case 0x42:
        reply.skip(tag)
        sink.acknowledge(refused: false)
      default: reply.skip(tag)
      }
    }
    if reply.isBroken { throw Self.brokenReply }
  }

  private func readError(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink
  ) throws(BenchError) {
    var error = unsafe ProtobufReader(bytes)
    var (code, message): (UInt64, String) = (0, "")
    while !error.isAtEnd {
      let tag = error.varint()
      switch tag {
      case 0x08: code = error.varint()
      case 0x12: message = error.text()
      default: error.skip(tag)
      }
    }
    guard state.role == .publisher, state.phase > 1, !Self.isFinal(code) else { throw refusal(code, message, state) }
    state.refusal = "error \(code), \(message)"
    sink.acknowledge(refused: true)
  }

  private static func readPong(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var result = unsafe ProtobufReader(bytes)
    var answersPings = false
    while !result.isAtEnd {
      let tag = result.varint()
      if tag == 0x40 { answersPings = result.varint() != 0 } else { result.skip(tag) }
    }
    return answersPings
  }

  private func readSubscribed(
    _ bytes: UnsafeRawBufferPointer, _ id: UInt64, _ state: inout DialectState, _ sink: inout Sink
  ) throws(BenchError) {
    var result = unsafe ProtobufReader(bytes)
    var (epoch, offset, recovered) = ("", UInt64(0), false)
    while !result.isAtEnd {
      let tag = result.varint()
      switch tag {
      case 0x32: epoch = result.text()
      case 0x3A: _ = unsafe Self.readPublication(result.bytes(), &sink)
      case 0x40: recovered = result.varint() != 0
      case 0x48: offset = result.varint()
      default: result.skip(tag)
      }
    }
    if result.isBroken { throw Self.brokenReply }
    if state.recovers && !recovered {
      throw BenchError(
        "the server could not recover \(state.channels.first ?? "") from offset \(state.offsets.first ?? 0)")
    }
    subscribed(id, epoch: epoch, offset: offset, &state)
    sink.confirm()
  }
}
