/// The people of a measurement of State: for each channel of the scenario a receiver, who is sent to once, by one of the
/// senders.
///
/// A notification says who sent and nothing else, so the marker of what was sent is remembered here, where the one
/// worker that holds both ends finds it.
///
/// Unchecked: a worker is one thread.
final class StateExchange: @unchecked Sendable {
  static let dialect = "state"
  /// Of pictures that a user has uploaded and not sent (docs/STATE.md); two belong to each send.
  static let unsentPictures = 16

  let receivers: Int
  let senders: Int
  /// By receiver.
  private var markers: [Int: [UInt8]] = [:]

  init(_ scenario: Scenario) throws(BenchError) {
    guard let group = scenario.groups.first, scenario.groups.count == 1, group.subscribers == 1, group.publishers > 0
    else { throw BenchError("State is measured with one group, whose channels have one subscriber each") }
    guard scenario.format == "json", scenario.measure == .delivery, scenario.workers == 1 else {
      throw BenchError("State is measured in JSON, as delivery, and by one worker; the scenario says something else")
    }
    (receivers, senders) = (group.channels, group.publishers)
    let needed = Schedule(begin: 0, seconds: scenario.warmup + scenario.duration, rate: group.rate, burst: group.burst)
    guard needed.count <= receivers else {
      throw BenchError(
        "\(needed.count) sends need as many receivers, and there are \(receivers): nobody can be sent to twice. Raise the "
          + "group's channels, or lower its rate or the duration")
    }
    guard (receivers + senders - 1) / senders * 2 <= Self.unsentPictures else {
      throw BenchError(
        "\(receivers) sends need \((receivers * 2 + Self.unsentPictures - 1) / Self.unsentPictures) publishers at least: "
          + "nobody may upload more than \(Self.unsentPictures) pictures before they are sent")
    }
  }

  // MARK: Who is who

  static func receiver(_ index: Int) -> String { "receiver-\(index)" }

  /// As publishers share the channels out among them.
  func sender(to receiver: Int) -> String { "sender-\(receiver % senders)" }

  func user(_ state: DialectState) -> String {
    // Publishers' numbers follow those of the subscribers.
    state.role == .publisher ? "sender-\(state.client - receivers)" : Self.receiver(Self.index(of: state.channels[0]))
  }

  static func index(of channel: String) -> Int { channel.split(separator: "-").last.flatMap { Int($0) } ?? 0 }

  static func picture(_ receiver: Int, isFront: Bool) -> String {
    "fanfare-bench-state-\(isFront ? "front" : "rear")-\(receiver)"
  }

  // MARK: During a run

  func noteSend(_ content: UnsafeRawBufferPointer, to receiver: Int) {
    unsafe markers[receiver] = Array(content.prefix(Marker.length))
  }

  /// What the receiver was told of.
  func deliver(from sender: String, to receiver: Int, _ sink: inout Sink) {
    guard sender == self.sender(to: receiver), let marker = markers[receiver] else {
      return unsafe sink.deliver(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    unsafe marker.withUnsafeBytes { unsafe sink.deliver($0) }
  }

  // MARK: Before a run

  /// Uploads all pictures and opens all recorders.
  func prepare(port: Int, secret: String, commands: String) throws(BenchError) {
    var pictures: [PictureUpload.Picture] = []
    var calls: [ServiceCalls.Request] = []
    for receiver in 0..<receivers {
      let sender = sender(to: receiver)
      for isFront in [true, false] {
        pictures.append(.init(user: sender, id: Self.picture(receiver, isFront: isFront)))
      }
      calls.append(.call("state.begin", as: sender, "{\"to\":\"\(Self.receiver(receiver))\"}"))
    }
    try PictureUpload.upload(pictures, toPort: port, secret: secret)
    try ServiceCalls.make(calls, at: commands)
  }
}
