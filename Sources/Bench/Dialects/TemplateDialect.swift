/// Any server of one text a message over WebSocket, as ``MessageTemplates`` say.
///
///     → S channel                 after the upgrade; confirmed by what contains "sub_ack", else at once
///     → P channel payload         acknowledged by what contains "pub_ack"
///     ← … ~ff~…                   an arrival, wherever the marker stands; a message may hold several
struct TemplateDialect: Dialect {
  static let name = "template"

  private let path: (subscriber: String, publisher: String)
  private let templates: MessageTemplates.Compiled
  /// What an acknowledgement contains; empty where there is none.
  private let answer: [UInt8]

  init(target: Target, scenario: Scenario) throws(BenchError) {
    guard let templates = target.templates else { throw Self.untold }
    self.templates = try templates.compiled(channels: scenario.groups.reduce(0) { $0 + $1.channels })
    answer = self.templates.pubAck?.text("") ?? []
    path = (target.path(.subscriber), target.path(.publisher))
  }

  static let untold = BenchError(
    "the dialect \"\(name)\" must be told what to say: give --sub and --pub, such as --sub 'S %C' --pub 'P %C %P', or "
      + "\"template\" in the scenario's file.")

  var answersPublications: Bool { !answer.isEmpty }

  func framing(_ role: Role) -> Framing {
    .webSocket(path: role == .subscriber ? path.subscriber : path.publisher, subprotocol: nil, binary: false)
  }

  func open(_ state: inout DialectState, into out: inout Outgoing) {
    guard state.role == .subscriber else { return state.isConfirmed = true }
    if !templates.sub.parts.isEmpty {
      for channel in state.channels {
        out.bytes.append(contentsOf: templates.sub.text(channel))
        out.endMessage()
      }
    }
    state.isConfirmed = templates.subAck == nil
  }

  @inline(__always)
  func receive(
    _ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink, into out: inout Outgoing
  ) throws(BenchError) -> Int {
    if state.role == .publisher {
      unsafe takeAnswers(bytes, &state, &sink)
    } else if unsafe !takeArrivals(bytes, &sink) {
      unsafe takeOther(bytes, &state, &sink)
    }
    return bytes.count
  }

  /// - Returns: whether there was any.
  @inline(__always)
  private func takeArrivals(_ bytes: UnsafeRawBufferPointer, _ sink: inout Sink) -> Bool {
    var place = 0
    var isArrival = false
    while let tilde = unsafe bytes.place(of: 0x7E, from: place), bytes.count &- tilde >= Marker.length {
      guard unsafe bytes.halfWord(at: tilde) == Marker.magicWord else {
        place = tilde &+ 1
        continue
      }
      unsafe sink.deliver(bytes.part(tilde, bytes.count &- tilde))
      isArrival = true
      place = tilde &+ Marker.length
    }
    return isArrival
  }

  /// What a subscriber is told that is no arrival: a confirmation, or something that the report is to mention.
  private func takeOther(_ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink) {
    if let subAck = templates.subAck, state.phase < state.channels.count,
      unsafe bytes.count(of: subAck.text(state.channels[state.phase])) > 0
    {
      state.phase += 1
      return sink.confirm()
    }
    unsafe sink.deliver(bytes)
  }

  /// Where publications are acknowledged, whatever else a publisher is told once it has published is a refusal.
  private func takeAnswers(_ bytes: UnsafeRawBufferPointer, _ state: inout DialectState, _ sink: inout Sink) {
    guard !answer.isEmpty, state.phase > 0 else { return }
    let count = unsafe bytes.count(of: answer)
    for _ in 0..<count { sink.acknowledge(refused: false) }
    guard count == 0 else { return }
    state.refusal = unsafe bytes.quoted(0, before: bytes.count)
    sink.acknowledge(refused: true)
  }

  func publish(
    _ content: UnsafeRawBufferPointer, to channel: String, _ state: inout DialectState, into out: inout Outgoing
  ) {
    state.phase = 1
    unsafe templates.pub.write(channel, content, into: &out)
    out.endMessage()
  }
}
