import Foundation
import TestSupport
import Testing

/// Somebody whose devices are registered for notifications under fire: one that asks, and two that are told, by two
/// services.
///
/// What concerns the person is noted until nothing of it is shown any more; then what the devices were told is held against
/// it. What they are told later than that is held against what comes next.
final class NotifiedPerson {
  /// How long something waits for an acknowledgement, in milliseconds.
  static let delay = 800

  let user: String
  let device: FireDevice
  private let told: [PushReceiver.Device]
  private let receiver: PushReceiver
  /// Whether home hears of an acknowledgement later than it is answered: a moment, or a good deal where brokers are killed.
  private let isHeardLate: Bool
  /// The ids of the devices that are registered, by name.
  private var registered: [String: String] = [:]
  private var open: NoticeLedger
  /// How much of what has come was looked at.
  private var seen = 0
  private(set) var faults: [String] = []

  /// - Parameter number: nobody else has it.
  init(_ device: FireDevice, _ receiver: PushReceiver, number: Int, isHeardLate: Bool = false) throws {
    (user, self.device, self.receiver, self.isHeardLate) = (device.user, device, receiver, isHeardLate)
    told = try ["one", "two"].enumerated().map { place, name in
      try receiver.device(2 * number + place, "\(device.user)-\(name)")
    }
    open = NoticeLedger(devices: [])
  }

  // MARK: Devices

  func register() async throws {
    for one in told where registered[one.name] == nil {
      let answer = try await device.call("push.register", #"{"device":\#(one.json)}"#)
      let id = try #require(answer.data["device"].string)
      registered[one.name] = id
    }
    open.devices = registered.keys.sorted()
  }

  /// One of the two devices is told nothing from then on.
  func unregister() async throws {
    guard let name = told.last?.name, let id = registered[name] else { return }
    try await device.call("push.unregister", #"{"device":"\#(id)"}"#)
    registered[name] = nil
    open.devices = registered.keys.sorted()
  }

  // MARK: What concerns the person

  /// Something that nobody acknowledges before each device is told.
  func expect(_ topic: String, _ offset: Int? = nil) {
    open.notices.append(.init(topic: topic, offset: offset, isDue: true))
  }

  /// Something that was acknowledged, or taken back: nobody is told of it where that was in time.
  ///
  /// - Parameter began: before it has happened.
  func expectNothing(of topic: String, _ offset: Int? = nil, since began: Int) {
    if !isHeardLate, FireClock.now < began + Self.delay { return }
    open.notices.append(.init(topic: topic, offset: offset, isDue: false))
  }

  func keepSecret(_ text: String, with topic: String) { open.secrets.append((text, topic)) }

  /// Waits until each device was told what is due, or a time has passed after which it need not be told.
  func hear(before time: Int = .max) async {
    _ = await eventually(within: .seconds(90)) { open.isTold(by: arrivals) || FireClock.now >= time }
    if FireClock.now >= time { for index in open.notices.indices { open.notices[index].isDue = false } }
  }

  /// Nothing of what has happened so far will be told any more.
  var isClosed: Bool { open.notices.isEmpty }

  /// Waits until nothing is shown any more, and looks at all that came. Where something may still come, that is left to
  /// the end of what is told next, since it is about the same.
  func close() async {
    guard open.notices.last?.isDue ?? true else { return }
    _ = await eventually(within: .seconds(60)) { open.isWithdrawn(by: arrivals) }
    let all = receiver.arrivals
    faults += open.faults(in: ours(all))
    seen = all.count
    open = NoticeLedger(devices: open.devices)
  }

  private var arrivals: [NoticeArrival] { ours(receiver.arrivals) }

  private func ours(_ all: [NoticeArrival]) -> [NoticeArrival] {
    all.dropFirst(seen).filter { arrival in told.contains { $0.name == arrival.device } }
  }
}
