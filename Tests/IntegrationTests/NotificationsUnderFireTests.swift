import TestSupport
import Testing

/// Notifications of Clique and State while processes are killed: the broker, a gateway, or all that there is.
@Suite("Notifications under fire", .ownThread)
struct NotificationsUnderFireTests {
  private static let couples = 4
  private static let exchanges = 3

  @Test(
    """
    Each device is told of what nobody acknowledged, once and once more at most where the process that told it was \
    killed; of nothing else, and of nothing when it is registered no more; and what was seen is withdrawn, by each of \
    the three services
    """, arguments: FirePlace.here + FirePlace.shared)
  func told(at place: FirePlace) async throws {
    let receiver = try await PushReceiver()
    defer { receiver.stop() }
    let settings =
      receiver.settings + [
        "push.delay=\(NotifiedPerson.delay)ms", "push.repeat_interval=0s",
        "state.lifetime=\(NotifiedExchange.lifetime)s", "state.record_limit=10m", "state.upload_grace=1h",
      ]
    try await place.with(settings) { deployment in
      let couples = (0..<Self.couples).map { number in
        { @Sendable (watch: FireWatch, random: SeededGenerator) async throws -> [String] in
          let couple = try NotifiedCouple(
            "n\(number)", deployment, watch, random, receiver, first: 2 * number, isShared: place.partitions > 1)
          try await couple.begin()
          while !watch.isOver { try await couple.step() }
          try await couple.end()
          return couple.faults
        }
      }
      let exchanges = (0..<Self.exchanges).map { number in
        { @Sendable (watch: FireWatch, random: SeededGenerator) async throws -> [String] in
          let pair = try NotifiedExchange(
            "e\(number)", deployment, watch, random, receiver, first: 2 * (Self.couples + number))
          try await pair.begin()
          while !watch.isOver { try await pair.step() }
          try await pair.end()
          return pair.faults
        }
      }
      let what = "notifications under fire, \(place.testDescription)"
      let faults = try await deployment.burn(what, Fire.rounds(usually: 10), couples + exchanges).flatMap { $0 }
      #expect(faults.isEmpty, "\(faults.prefix(10))")
      let all = receiver.arrivals.count
      #expect(receiver.broken.isEmpty, "\(receiver.broken.prefix(5))")
      #expect(receiver.counts.keys.sorted() == ["apns", "fcm", "web"])
      print("\(what): \(all) told, \(receiver.counts.sorted { $0.key < $1.key }.map { "\($0.value) by \($0.key)" })")
    }
  }
}
