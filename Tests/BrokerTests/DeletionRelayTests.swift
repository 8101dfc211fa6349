import Log
import Testing
import Wire

@testable import Broker

/// Deletions of users' data where several partitions keep it: done in all of them or in none.
@Suite("Deletions of users' data in partitions")
struct DeletionRelayTests {
  /// Brokers of all partitions, and the rows that go between them.
  private final class World {
    static let count = 3
    private(set) var brokers: [BrokerScene]
    private var disks: [ScriptedStore]
    /// How many of a broker's relays have been carried, and how often it has had others forget.
    private var carried: [Int]
    private var forgotten: [Int]
    private var lastRow: Int64 = 0
    /// Rows that each broker has been given, by number.
    private var rows: [[Int64: LogRelay]]
    /// Numbers of the rows that a broker has before it.
    private var delivered: [Set<Int64>] = [[], [], []]
    /// Fates of them that were looked at.
    private var seen: [Int]
    private var round = 1
    /// Brokers that do nothing now.
    var asleep: Set<Int> = []

    init() {
      disks = (0..<Self.count).map { _ in ScriptedStore() }
      (carried, forgotten, seen) = (Array(repeating: 0, count: 3), Array(repeating: 0, count: 3), [0, 0, 0])
      rows = Array(repeating: [:], count: 3)
      brokers = []
      for partition in 0..<Self.count { brokers.append(Self.broker(partition, disks[partition])) }
    }

    private static func broker(_ partition: Int, _ disk: ScriptedStore) -> BrokerScene {
      let scene = BrokerScene(disk: disk) {
        $0.partitioning = Partitioning(count: count, namespaces: $0.namespaces)
        $0.partition = partition
      }
      scene.perform { scene.core.openDeletions(in: &$0) }
      return scene
    }

    /// Ends a broker as `kill -9` does, and begins it anew. Rows that were not over come again.
    func kill(_ partition: Int) {
      disks[partition].crash()
      brokers[partition] = Self.broker(partition, disks[partition])
      (forgotten[partition], delivered[partition]) = (0, [])
      round += 1
      deliver(rows[partition], to: partition)
    }

    func deletion(of user: String, at partition: Int = 0, _ channels: [ChannelName] = []) -> BrokerResponse? {
      let answer = brokers[partition].ask(.user(.delete(.init(user: user, channels: channels))))
      brokers[partition].finish(.max)
      return answer
    }

    func status(of user: String, at partition: Int) -> String {
      guard case .result(let json)? = brokers[partition].ask(.user(.deletionStatus(user: user))) else { return "" }
      return (try? JSONValue(parsing: json))?.object?["state"]?.string ?? ""
    }

    func statuses(of user: String) -> [String] { brokers.indices.map { status(of: user, at: $0) } }

    /// - Parameter error: with which the log answers the awake brokers.
    func step(_ times: Int = 1, error: LogError? = nil) {
      for _ in 0..<times {
        for partition in brokers.indices where !asleep.contains(partition) {
          let broker = brokers[partition]
          broker.finish(.max, error: error)
          broker.pass(20)
          if broker.forgotten.count > forgotten[partition] {
            forgotten[partition] = broker.forgotten.count
            broker.perform { broker.core.forgotElsewhere(isDone: true, in: &$0) }
          }
        }
        carry()
      }
    }

    /// Lets all go on until none has a deletion left to do, or nothing has come of it for long.
    func finish() {
      for _ in 0..<5000 {
        if unheard == 0, brokers.allSatisfy({ Self.isAtRest($0.core.deletions) }) { return }
        step()
      }
    }

    private static func isAtRest(_ deletions: UserDeletions?) -> Bool {
      guard let deletions, case .resting = deletions.phase else { return false }
      return deletions.isLoaded && deletions.waiting.isEmpty && deletions.writing == 0
    }

    /// How far each is, for whoever reads that a test has failed.
    var account: String {
      brokers.map { broker in
        guard let deletions = broker.core.deletions else { return "none" }
        let batch = deletions.batch.map { "\($0.user) \($0.number ?? 0) \($0.barriers ?? [])" }
        return "\(deletions.phase) \(batch) and \(deletions.waiting.count) wait"
      }.joined(separator: "; ")
    }

    private func carry() {
      for sender in brokers.indices {
        let sent = disks[sender].relayed
        for relay in sent[carried[sender]...] {
          lastRow += 1
          rows[relay.partition][lastRow] = relay
          if !asleep.contains(relay.partition) { deliver([lastRow: relay], to: relay.partition) }
        }
        carried[sender] = sent.count
      }
      for receiver in brokers.indices {
        let fates = disks[receiver].fates
        var again: [Int64: LogRelay] = [:]
        for (row, fate) in fates[seen[receiver]...] {
          if case .failed = fate { again[row] = rows[receiver][row] } else { rows[receiver][row] = nil }
        }
        seen[receiver] = fates.count
        if again.isEmpty { continue }
        delivered[receiver].subtract(again.keys)
        round += 1
        deliver(again, to: receiver)
      }
    }

    func wake(_ partition: Int) {
      asleep.remove(partition)
      deliver(rows[partition], to: partition)
    }

    private func deliver(_ rows: [Int64: LogRelay], to partition: Int) {
      let new = rows.filter { !delivered[partition].contains($0.key) }
      delivered[partition].formUnion(new.keys)
      let messages = new.sorted { $0.key < $1.key }.map { row, relay in
        OutboxMessage(id: .init(row: row, round: round), channel: "", data: relay.data, options: [], app: relay.app)
      }
      disks[partition].tell(.outbox(messages))
      brokers[partition].perform { brokers[partition].core.takeNews(in: &$0) }
    }

    var refused: Int {
      disks.map { disk in disk.fates.count { if case .refused = $0.fate { true } else { false } } }.reduce(0, +)
    }
    var unheard: Int { rows.map(\.count).reduce(0, +) }
  }

  private static let waiting = BrokerResponse.result(Array(#"{"state":"waiting","since":1700000000000}"#.utf8))

  @Test("home takes it in for all, and each deletes its own channels")
  func shared() {
    let world = World()
    let channels: [ChannelName] = (0..<40).map { ChannelName(stringLiteral: "d:\($0)") }
    #expect(world.deletion(of: "ann", channels) == nil)
    let home = world.brokers[0]
    #expect(home.answers.values.contains(Self.waiting))
    #expect(home.disk.relayed.map(\.partition) == [1, 2])
    world.step(2)
    var jobs: [[String]] = []
    for broker in world.brokers {
      let deletions = broker.core.deletions
      let job = (deletions?.batch ?? []) + (deletions?.waiting ?? [])
      #expect(job.map(\.user) == ["ann"])
      jobs.append(job.flatMap(\.channels))
    }
    #expect(jobs.joined().sorted() == channels.map(\.string).sorted())
    for (partition, names) in jobs.enumerated() {
      let own = home.core.configuration.partitioning
      #expect(!names.isEmpty && names.allSatisfy { own.partition(of: ChannelName(stringLiteral: $0)) == partition })
    }
    world.finish()
    #expect(world.statuses(of: "ann") == ["done", "done", "done"], "\(world.account)")
    #expect(world.unheard == 0 && world.refused == 0)
  }

  @Test("none is done while one has not said that it names the user no more, and what comes until then is dropped")
  func late() {
    let world = World()
    world.asleep = [2]
    _ = world.deletion(of: "ann")
    world.step(100)
    #expect(world.statuses(of: "ann") == ["deleting", "deleting", "none"])
    for partition in [0, 1] {
      let core = world.brokers[partition].core
      #expect(core.deletions?.hasForgotten("ann", since: world.brokers[partition].time.wall + 1000) == true)
      #expect(core.deletions?.hasForgotten("bob", since: 0) == false)
    }
    world.wake(2)
    world.finish()
    #expect(world.statuses(of: "ann") == ["done", "done", "done"], "\(world.account)")
    let core = world.brokers[0].core
    #expect(core.deletions?.hasForgotten("ann", since: world.brokers[0].time.wall + 1000) == false)
  }

  @Test("many wait behind one another in the same order, whoever is late, and all are done")
  func many() {
    let world = World()
    let users = (0..<150).map { "user\($0)" }
    for (number, user) in users.enumerated() {
      world.asleep = [number / 10 % World.count].filter { $0 != 0 }.reduce(into: []) { $0.insert($1) }
      _ = world.deletion(of: user)
      world.step()
      for partition in world.asleep { world.wake(partition) }
    }
    world.asleep = []
    world.finish()
    let left = users.filter { world.statuses(of: $0) != ["done", "done", "done"] }
    #expect(left == [], "\(world.account)")
    #expect(world.unheard == 0 && world.refused == 0)
  }

  @Test("whoever is killed at any moment asks no one twice, and ends", arguments: 0..<40)
  func killed(after steps: Int) {
    let world = World()
    _ = world.deletion(of: "ann")
    world.step(steps)
    for partition in 0..<World.count {
      world.kill(partition)
      world.step(2)
    }
    world.finish()
    #expect(world.statuses(of: "ann") == ["done", "done", "done"], "\(world.account)")
    #expect(world.unheard == 0 && world.refused == 0)
  }

  @Test("what the log does not take is sent and taken in again", arguments: 0..<40)
  func failing(after steps: Int) {
    let world = World()
    _ = world.deletion(of: "ann")
    world.step(steps)
    world.step(2, error: .unavailable("it is away"))
    world.finish()
    #expect(world.statuses(of: "ann") == ["done", "done", "done"], "\(world.account)")
    #expect(world.unheard == 0 && world.refused == 0)
  }

  @Test("all have the deletions in home's order, after a restart too")
  func order() {
    let world = World()
    for user in ["zoe", "ann"] { _ = world.deletion(of: user) }
    world.step(2)
    for partition in [1, 2] {
      world.kill(partition)
      let deletions = world.brokers[partition].core.deletions
      let users = ((deletions?.batch ?? []) + (deletions?.waiting ?? [])).map(\.user)
      #expect(users == ["zoe", "ann"])
    }
    world.finish()
    for user in ["zoe", "ann"] { #expect(world.statuses(of: user) == ["done", "done", "done"], "\(world.account)") }
  }

  @Test("who was deleted and comes back can be deleted again")
  func again() {
    let world = World()
    _ = world.deletion(of: "ann")
    world.step(100)
    _ = world.deletion(of: "ann")
    #expect(["waiting", "deleting"].contains(world.status(of: "ann", at: 0)))
    world.finish()
    #expect(world.statuses(of: "ann") == ["done", "done", "done"], "\(world.account)")
  }

  @Test("what no version knows is put aside, and holds up nobody")
  func unknown() {
    let world = World()
    let home = world.brokers[0]
    home.disk.tell(
      .outbox([
        OutboxMessage(
          id: .init(row: 900, round: 1), channel: "", data: Array("{}".utf8), options: [], app: "fanfare.deletions")
      ]))
    home.perform { home.core.takeNews(in: &$0) }
    #expect(home.disk.fates.map(\.row) == [900] && world.refused == 1)
    _ = world.deletion(of: "ann")
    world.finish()
    #expect(world.statuses(of: "ann") == ["done", "done", "done"], "\(world.account)")
  }
}
