/// What ``FloorServer`` speaks: subscribers name their channel in the path and only read; a publisher sends binary
/// messages of a name's length (two bytes, big-endian), the name, and the content, and gets a message for each, as long as
/// Fanfare's answer in the scenario's format.
struct FloorDialect: Dialect {
  private let reply: FloorReply

  init(target: Target, scenario: Scenario) { reply = FloorReply(rawValue: scenario.format) ?? .json }

  var answersPublications: Bool { true }

  func framing(_ role: Role) -> Framing { .webSocket(path: reply.path, subprotocol: nil, binary: true) }

  func path(_ state: DialectState) -> String? { state.channels.first.map { "/floor/\($0)" } }

  func open(_ state: inout DialectState, into out: inout Outgoing) { state.isConfirmed = true }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    if state.role == .subscriber { unsafe sink.deliver(bytes) } else { sink.acknowledge(refused: false) }
    return bytes.count
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    let length = UInt16(truncatingIfNeeded: channel.utf8.count)
    out.bytes.append(UInt8(truncatingIfNeeded: length >> 8))
    out.bytes.append(UInt8(truncatingIfNeeded: length))
    out.append(channel)
    unsafe out.append(content)
    out.endMessage()
  }
}
