import TestSupport
import Testing
import Wire

@testable import Log

/// Of partition 0, `broker-3` is preferred, then `broker-2`, then `broker-1`: see ``order()``.
@Suite("The line for a lease")
struct LeaseLineTests {
  private let names: Set = ["broker-1", "broker-2", "broker-3"]

  private func view(
    epoch: Int64 = 1, owner: String? = "broker-1", isRenewed: Bool = true, standing: Set<String> = [],
    live: Set<String>? = nil, untilAllowed: Int64 = 0
  ) -> LeaseLine.View {
    LeaseLine.View(
      epoch: epoch, owner: owner, isRenewed: isRenewed, standing: standing, live: live ?? names,
      untilAllowed: untilAllowed)
  }

  private func line(_ name: String = "broker-3") -> LeaseLine { LeaseLine(name: name, partition: 0) }

  @Test("The names' order in these tests is that of their weights")
  func order() {
    #expect(names.sorted { Rendezvous.weight(of: $0, for: 0) > Rendezvous.weight(of: $1, for: 0) } == Self.inOrder)
  }

  private static let inOrder = ["broker-3", "broker-2", "broker-1"]

  @Test("The preferred one of those in line queues, whoever the owner is; the others look now and then")
  func places() {
    for owner in [nil, "elsewhere"] + Self.inOrder {
      let standing = names.subtracting(owner.map { [$0] } ?? [])
      let first = Self.inOrder.first { $0 != owner }
      for name in standing {
        var line = line(name)
        let action = line.look(view(owner: owner, standing: standing), now: 0)
        #expect(action == (name == first ? .queue : .poll), "\(name)")
      }
    }
  }

  @Test("Whoever has the owner's name stands behind the others, and queues where it is alone")
  func namesake() {
    var line = line("broker-3")
    #expect(line.look(view(owner: "broker-3", standing: ["broker-1", "broker-3"]), now: 0) == .poll)
    #expect(line.look(view(owner: "broker-3", standing: ["broker-3"]), now: 0) == .queue)
    #expect(line.look(view(owner: "broker-3", standing: ["broker-3"]), now: 100_000) == .queue)
  }

  @Test("The preferred one asks after it was first for a second, and not again for ten")
  func asks() {
    var line = line()
    #expect(line.look(view(), now: 5000) == .queue)
    #expect(line.look(view(), now: 5999) == .queue)
    #expect(line.look(view(), now: 6000) == .ask(epoch: 1))
    // Another broker was faster to ask for something else.
    #expect(line.look(view(), now: 6500) == .ask(epoch: 1))
    line.noteAsked(now: 6000)
    #expect(line.look(view(), now: 15_999) == .queue)
    #expect(line.look(view(), now: 16_000) == .ask(epoch: 1))
  }

  @Test("It begins to wait anew when the lease changes hands, or somebody stood before it")
  func waitsAnew() {
    var line = line()
    _ = line.look(view(epoch: 1), now: 0)
    #expect(line.look(view(epoch: 2, owner: "broker-2"), now: 1000) == .queue)
    #expect(line.look(view(epoch: 2, owner: "broker-2"), now: 1999) == .queue)
    #expect(line.look(view(epoch: 2, owner: "broker-2"), now: 2000) == .ask(epoch: 2))
    var second = self.line("broker-2")
    let alone = view(standing: ["broker-2"], live: ["broker-1", "broker-2"])
    _ = second.look(alone, now: 0)
    #expect(second.look(view(standing: ["broker-3"]), now: 900) == .poll)
    #expect(second.state == .behind)
    #expect(second.look(alone, now: 1800) == .queue)
    #expect(second.look(alone, now: 2700) == .queue)
    #expect(second.look(alone, now: 2800) == .ask(epoch: 1))
  }

  @Test(
    "It asks nothing of an owner that is preferred, unknown or hangs, nor where a preferred one lives, nor too soon"
  )
  func restraint() {
    let views = [
      view(owner: nil), view(isRenewed: false), view(owner: "broker-3"), view(untilAllowed: 1),
    ]
    for view in views {
      var line = line()
      _ = line.look(view, now: 0)
      #expect(line.look(view, now: 50_000) == .queue, "\(view)")
    }
    var second = line("broker-2")
    for refused in [view(owner: "broker-3", live: ["broker-2"]), view(owner: "broker-1", live: names)] {
      _ = second.look(refused, now: 0)
      #expect(second.look(refused, now: 50_000) == .queue)
    }
    var line = line()
    _ = line.look(view(), now: 0)
    #expect(line.look(view(untilAllowed: -5), now: 1000) == .ask(epoch: 1))
  }

  @Test("Leases end where the weights say, whoever follows when one is handed over, and rest there", arguments: 0..<8)
  func converges(partition: Int) {
    var random = SeededGenerator(seed: UInt64(partition))
    var lines = Dictionary(uniqueKeysWithValues: names.map { ($0, LeaseLine(name: $0, partition: partition)) })
    var (owner, epoch, moves, allowed) = ("broker-1", Int64(1), 0, Int64(0))
    for now in stride(from: Int64(0), to: 60_000, by: 300) {
      for name in names.sorted() where name != owner {
        let view = view(
          epoch: epoch, owner: owner, standing: names.subtracting([owner]), untilAllowed: allowed - now)
        guard case .ask(epoch) = lines[name]?.look(view, now: now) else { continue }
        lines[name]?.noteAsked(now: now)
        // The owner ends, and whoever is first follows, or another one that was faster.
        let others = names.subtracting([owner])
        let isFirst = Bool.random(using: &random)
        let next = isFirst ? Rendezvous.first(of: others, for: partition) : others.randomElement(using: &random)
        owner = next ?? ""
        (epoch, moves, allowed) = (epoch + 1, moves + 1, now + LeaseLine.betweenAsks)
      }
    }
    #expect(owner == Rendezvous.first(of: names, for: partition) && moves <= 6, "\(moves)")
  }
}
