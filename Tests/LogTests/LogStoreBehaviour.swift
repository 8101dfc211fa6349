import TestSupport
import Testing
import Wire

@testable import Log

/// The stores that the behaviour suite runs against.
enum StoreKind: CaseIterable, CustomTestStringConvertible {
  case memory
  case relaxed
  case durable
  /// A durable store whose answers come late and in another order (``TroubledStore``).
  case late
  case postgresRelaxed
  case postgresDurable
  case postgresLate

  static var allCases: [StoreKind] {
    [.memory, .relaxed, .durable, .late]
      + (PostgresSubject.runs ? [.postgresRelaxed, .postgresDurable, .postgresLate] : [])
  }

  var isPostgres: Bool { [.postgresRelaxed, .postgresDurable, .postgresLate].contains(self) }

  var testDescription: String {
    switch self {
    case .memory: "memory"
    case .relaxed: "SQLite, relaxed"
    case .durable: "SQLite, durable"
    case .late: "SQLite, durable, late and out of order"
    case .postgresRelaxed: "PostgreSQL, relaxed"
    case .postgresDurable: "PostgreSQL, durable"
    case .postgresLate: "PostgreSQL, durable, late and out of order"
    }
  }
}

/// A store of any kind, driven as the broker does.
final class Subject {
  let kind: StoreKind
  let store: any LogStore
  private let folder: TemporaryFolder?
  private let completions: Completions?
  /// Closes the store when it goes.
  private let owner: AnyObject?
  private var ticket: UInt64 = 0
  private var pending = 0
  private var opened: [ChannelName: StreamPosition] = [:]

  init(_ kind: StoreKind) throws {
    self.kind = kind
    guard kind != .memory else {
      store = MemoryStore()
      folder = nil
      completions = nil
      owner = nil
      return
    }
    if kind.isPostgres {
      let subject = try PostgresSubject { $0.now = { 1000 } }
      store = kind == .postgresLate ? TroubledStore(subject.store, seed: 7) : subject.store
      folder = nil
      completions = subject.completions
      owner = subject
      return
    }
    let folder = try TemporaryFolder()
    var options = SQLiteStore.Options()
    options.now = { 1000 }
    let subject = try SQLiteSubject(folder.path, options: options)
    self.folder = folder
    completions = subject.completions
    owner = subject
    store = kind == .late ? TroubledStore(subject.store, seed: 7) : subject.store
  }

  deinit { store.close() }

  var durability: Durability {
    switch kind {
    case .memory: .memory
    case .relaxed, .postgresRelaxed: .relaxed
    case .durable, .late, .postgresDurable, .postgresLate: .durable
    }
  }

  @discardableResult
  func open(_ name: ChannelName) throws -> OpenedChannel {
    let channel = try store.open(name, durability: durability)
    opened[name] = channel.position
    return channel
  }

  /// Appends the next publication and waits for its fate.
  @discardableResult
  func publish(
    _ name: ChannelName, time: Int64 = 1000, size: Int = 100, ttl: Int64 = 1_000_000, data: [UInt8] = [1],
    info: ClientInfo? = nil, tags: [String: String] = [:], key: String? = nil, origin: RequestOrigin? = nil
  ) throws -> AppendOutcome {
    var position = try #require(opened[name])
    position.offset += 1
    ticket += 1
    let publication = Publication(offset: position.offset, time: time, data: data, info: info, tags: tags)
    let outcome = store.append(
      LogEntry(
        ticket: ticket, channel: name, epoch: position.epoch, publication: publication, durability: durability,
        historySize: size, historyTTLMilliseconds: ttl,
        idempotency: key.map { .init(key: $0, offset: position.offset, digest: .max - 1, expires: time + 300_000) },
        origin: origin))
    opened[name] = position
    if outcome == .pending, let completions {
      pending += 1
      try completions.wait(for: pending)
      #expect(completions.all.last == LogCompletion(ticket: ticket))
    } else {
      #expect(outcome == .kept)
    }
    return outcome
  }

  func read(
    _ name: ChannelName, since: UInt64? = nil, through: UInt64 = .max, limit: Int = .max, reverse: Bool = false,
    notBefore: Int64 = 0, bytes: Int = .max
  ) throws -> [UInt64] {
    try store.read(
      name, LogRange(since: since, through: through, limit: limit, reverse: reverse, notBefore: notBefore, bytes: bytes)
    ).map(\.offset)
  }
}

@Suite(.ownThread) struct LogStoreBehaviour {
  @Test("A new channel has an epoch and nothing in it", arguments: StoreKind.allCases)
  func newChannel(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let opened = try subject.open(channel("a"))
    #expect(!opened.position.epoch.isEmpty)
    #expect(opened.position.offset == 0)
    #expect(opened.idempotencyKeys.isEmpty)
    #expect(opened.recentOrigins.isEmpty)
    #expect(try subject.read(channel("a")) == [])
    #expect(try subject.open(channel("b")).position.epoch != opened.position.epoch)
  }

  @Test("A publication is read back as it was, byte by byte", arguments: StoreKind.allCases)
  func wholePublication(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("chat:42")
    try subject.open(name)
    let info = ClientInfo(user: "é\u{0}", client: "", connectionInfo: [], channelInfo: nil)
    try subject.publish(name, time: -5, data: [], info: info, tags: ["a": "", "": "b"])
    try subject.publish(name, time: 7, data: [0, 255, 0])
    let read = try subject.store.read(name, LogRange(since: nil, through: 2, limit: 9, notBefore: -9))
    #expect(
      read == [
        Publication(offset: 1, time: -5, data: [], info: info, tags: ["a": "", "": "b"]),
        Publication(offset: 2, time: 7, data: [0, 255, 0]),
      ])
  }

  @Test("Reading ends with the publication that goes beyond the bytes, hot or cold", arguments: StoreKind.allCases)
  func bytes(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    try subject.open(name)
    // More than a tail holds in memory, so that SQLite has to be asked for a part of it.
    for _ in 1...400 { try subject.publish(name, size: 1000, data: Array(repeating: 7, count: 2000)) }
    let cost = try #require(try subject.store.read(name, LogRange(since: nil, through: 1, limit: 1)).first).cost
    #expect(cost >= 2000)
    for reverse in [false, true] {
      for wanted in [1, 2, 7, 399] as [UInt64] {
        // The page ends with the publication that goes beyond the limit, and bytes equal to the limit do not.
        let found = try subject.read(name, reverse: reverse, bytes: Int(wanted) * cost - 1)
        let isAsWanted = found == (1...wanted).map { reverse ? 401 - $0 : $0 }
        #expect(isAsWanted, "\(found.count) instead of \(wanted)")
        #expect(try subject.read(name, reverse: reverse, bytes: Int(wanted) * cost).count == Int(wanted) + 1)
      }
      #expect(try subject.read(name, reverse: reverse, bytes: 0).count == 1)
      #expect(try subject.read(name, reverse: reverse, bytes: 400 * cost).count == 400)
      #expect(try subject.read(name, limit: 3, reverse: reverse, bytes: 400 * cost).count == 3)
    }
    // These pages begin among publications that only SQLite holds, and go on among those in memory, or the other way.
    #expect(try subject.read(name, since: 350, bytes: 20 * cost) == Array(351...371))
    #expect(try subject.read(name, since: 371, reverse: true, bytes: 5 * cost) == [370, 369, 368, 367, 366, 365])
  }

  @Test("A range is cut by since, through and limit, in both directions", arguments: StoreKind.allCases)
  func ranges(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    try subject.open(name)
    for _ in 1...6 { try subject.publish(name) }
    #expect(try subject.read(name) == [1, 2, 3, 4, 5, 6])
    #expect(try subject.read(name, through: 4) == [1, 2, 3, 4])
    #expect(try subject.read(name, since: 2, through: 5) == [3, 4, 5])
    #expect(try subject.read(name, since: 2, limit: 2) == [3, 4])
    #expect(try subject.read(name, since: 6) == [])
    #expect(try subject.read(name, since: .max) == [])
    #expect(try subject.read(name, through: 0) == [])
    #expect(try subject.read(name, through: 4, reverse: true) == [4, 3, 2, 1])
    #expect(try subject.read(name, since: 4, reverse: true) == [3, 2, 1])
    #expect(try subject.read(name, since: 6, through: 3, limit: 2, reverse: true) == [3, 2])
    #expect(try subject.read(name, since: 1, reverse: true) == [])
    #expect(try subject.read(name, since: 0, reverse: true) == [])
    #expect(try subject.read(name, limit: 0) == [])
    #expect(try subject.read(name, limit: .min) == [])
  }

  @Test("Only the newest are kept, as many as the newest entry says", arguments: StoreKind.allCases)
  func trimByCount(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    try subject.open(name)
    for _ in 1...6 { try subject.publish(name, size: 3) }
    #expect(try subject.read(name) == [4, 5, 6])
    try subject.publish(name, size: 1)
    #expect(try subject.read(name) == [7])
    try subject.publish(name, size: 10)
    #expect(try subject.read(name) == [7, 8])
    try subject.publish(name, size: 0)
    #expect(try subject.read(name) == [])
    try subject.publish(name, ttl: 0)
    #expect(try subject.read(name) == [])
    try subject.publish(name)
    #expect(try subject.read(name) == [11])
    #expect(try subject.open(name).position.offset == 11)
  }

  @Test("What is too old is not read, and gone after a sweep", arguments: StoreKind.allCases)
  func trimByAge(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    try subject.open(name)
    for time in [1000, 1010, 1020, 1030] { try subject.publish(name, time: Int64(time), ttl: 100) }
    #expect(try subject.read(name, notBefore: 1011) == [3, 4])
    #expect(try subject.read(name, limit: 1, notBefore: 1011) == [3])
    #expect(try subject.read(name, reverse: true, notBefore: 1020) == [4, 3])
    subject.store.sweep(now: 1120)
    #expect(try subject.read(name) == [3, 4])
    subject.store.sweep(now: 2000)
    #expect(try subject.read(name) == [])
    #expect(try subject.open(name).position.offset == 4)
    try subject.publish(name)
    #expect(try subject.read(name) == [5])
  }

  @Test("Removed history is gone, epoch and top stay", arguments: StoreKind.allCases)
  func removeHistory(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    let epoch = try subject.open(name).position.epoch
    for _ in 1...3 { try subject.publish(name) }
    try subject.store.removeHistory(of: name)
    #expect(try subject.read(name) == [])
    #expect(try subject.open(name).position == StreamPosition(epoch: epoch, offset: 3))
    try subject.publish(name)
    #expect(try subject.read(name) == [4])
    try subject.store.removeHistory(of: channel("never opened"))
  }

  @Test("A channel opened again is where it was, with its keys and origins", arguments: StoreKind.allCases)
  func reopen(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    let first = try subject.open(name)
    let origins = [RequestOrigin(gateway: .max, request: 1), RequestOrigin(gateway: 2, request: .max)]
    try subject.publish(name, key: "k1", origin: origins[0])
    try subject.publish(name, size: 0, key: "k\u{E9}", origin: origins[1])
    try subject.publish(name, key: "ke\u{301}")
    try subject.publish(name, key: "k\u{65}\u{301}2")
    let again = try subject.open(name)
    #expect(again.position == StreamPosition(epoch: first.position.epoch, offset: 4))
    #expect(again.idempotencyKeys.map(\.offset) == [1, 2, 3, 4])
    #expect(again.idempotencyKeys.first == IdempotencyRecord(key: "k1", offset: 1, digest: .max - 1, expires: 301_000))
    // History size 0 dropped the first publication; its origin may be gone with it, the origin of the second may not.
    #expect(again.recentOrigins[origins[1]] == 2)
  }

  @Test("A key that is used again after it expired names the later publication", arguments: StoreKind.allCases)
  func keyAgain(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    try subject.open(name)
    try subject.publish(name, time: 1000, key: "k")
    try subject.publish(name, time: 1001, key: "k")
    #expect(try subject.open(name).idempotencyKeys.map(\.offset) == [2])
  }

  @Test("Channels whose names differ in bytes only are two channels", arguments: StoreKind.allCases)
  func namesAreBytes(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let names = [try channel("\u{E9}"), try channel("e\u{301}")]
    for name in names { try subject.open(name) }
    try subject.publish(names[0])
    #expect(try subject.read(names[0]) == [1])
    #expect(try subject.read(names[1]) == [])
  }

  @Test("An offset that does not follow, or another epoch, is refused or fails", arguments: StoreKind.allCases)
  func contiguity(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    let epoch = try subject.open(name).position.epoch
    try subject.publish(name)
    func append(_ offset: UInt64, epoch: String) -> AppendOutcome {
      subject.store.append(
        LogEntry(
          ticket: 77, channel: name, epoch: epoch, publication: Publication(offset: offset, time: 1000, data: []),
          durability: subject.durability, historySize: 5, historyTTLMilliseconds: 5000))
    }
    #expect(append(2, epoch: "other") == .refused(.notContiguous))
    for offset in [0, 1, 3, UInt64.max] {
      let outcome = append(offset, epoch: epoch)
      #expect(outcome == .refused(.notContiguous) || (subject.durability == .durable && outcome == .pending))
    }
    if subject.durability != .durable {
      #expect(try subject.read(name) == [1])
      #expect(append(2, epoch: epoch) == .kept)
    }
  }

  @Test("A closed store refuses everything", arguments: StoreKind.allCases)
  func closed(_ kind: StoreKind) throws {
    let subject = try Subject(kind)
    let name = try channel("a")
    let epoch = try subject.open(name).position.epoch
    subject.store.close()
    subject.store.close()
    #expect(throws: LogError.closed) { try subject.read(name) }
    #expect(throws: LogError.closed) { try subject.open(name) }
    #expect(throws: LogError.closed) { try subject.store.removeHistory(of: name) }
    subject.store.sweep(now: 1)
    let entry = LogEntry(
      ticket: 1, channel: name, epoch: epoch, publication: Publication(offset: 1, data: []),
      durability: subject.durability, historySize: 1, historyTTLMilliseconds: 1)
    #expect(subject.store.append(entry) == .refused(.closed))
  }
}
