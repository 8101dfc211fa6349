import Cryptography
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Coverage

@Suite("Deletions that a gateway has missed")
struct MissedUsersTests {
  private static let pepper: [UInt8] = [9, 8, 7]
  private static let user = "ada-to-be-forgotten"
  /// When the deletion was done.
  private static let at: Int64 = 5000

  private static func deletions(
    of users: [String] = [user], forgottenUntil: Int64? = nil, number: UInt64 = 3
  ) -> LinkDeletions {
    let digests = PepperedDigest(pepper: pepper)
    return LinkDeletions(
      pepper: pepper, forgottenUntil: forgottenUntil,
      records: users.map { .init(digest: digests.digest(of: $0), at: at) },
      through: DeletionMark(number: number, at: at))
  }

  private func began(_ connection: UInt64, user: String, channel: String = "room:hall", at: Int64) throws
    -> CoverageRecord
  {
    .began(
      CoverageKey(connection: connection, channel: try ChannelName(channel)),
      CoverageOwner(user: user, client: "c\(connection)"),
      CoverageStart(position: StreamPosition(epoch: "e", offset: 1), at: at))
  }

  private func connections(_ file: CoverageFile, _ user: String, _ channel: String = "room:hall") throws -> [UInt64] {
    let query = CoverageQuery(
      user: user, channel: try ChannelName(channel), position: StreamPosition(epoch: "e", offset: 1))
    return try file.find(query).rows.map(\.key.connection)
  }

  private func carryOut(_ deletions: LinkDeletions, _ file: CoverageFile) throws -> Int {
    var pass = MissedPass(deletions)
    var steps = 0
    while !pass.isDone {
      try pass.step(file)
      steps += 1
    }
    return steps
  }

  private func holds(_ text: String, _ folder: TemporaryFolder) throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).contains { file in
      try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)")).range(of: Data(text.utf8)) != nil
    }
  }

  // MARK: Who goes

  @Test("those whose digest is told go, and everybody on a channel that names one of them")
  func who() {
    var users = MissedUsers(Self.deletions())
    #expect(users.end(of: Self.user, on: "room:hall") == Self.at)
    #expect(users.end(of: Self.user, on: "dm:x#bob") == Self.at)
    #expect(users.end(of: "bob", on: "room:hall") == nil)
    #expect(users.end(of: "bob", on: "dm:x#bob,\(Self.user)") == Self.at)
    #expect(users.end(of: "bob", on: "dm:x#bob,\(Self.user)2") == nil)
    #expect(users.end(of: "bob", on: "dm:\(Self.user)#bob") == nil, "the last # counts, as for permissions")
    var told = Self.deletions()
    told.pepper = [1]
    var others = MissedUsers(told)
    #expect(others.end(of: Self.user, on: "room:hall") == nil, "the digest has another pepper")
  }

  @Test("two ids that only look the same are two users")
  func bytes() {
    var users = MissedUsers(Self.deletions(of: ["caf\u{E9}"]))
    #expect(users.end(of: "caf\u{E9}", on: "room:hall") == Self.at)
    #expect(users.end(of: "cafe\u{301}", on: "room:hall") == nil)
  }

  @Test("where deletions are not remembered any more, everybody goes who began before")
  func forgotten() {
    var users = MissedUsers(Self.deletions(forgottenUntil: 4000))
    #expect(users.end(of: "bob", on: "room:hall") == 4000)
    #expect(users.end(of: Self.user, on: "room:hall") == Self.at)
    #expect(MissedUsers(Self.deletions(of: [])).isEmpty)
  }

  // MARK: The file

  @Test("what began before the deletion goes, also where it is still open, and what began later stays")
  func times() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    try file.write(
      [
        began(1, user: Self.user, at: 1000), began(2, user: Self.user, at: 5000), began(3, user: Self.user, at: 6000),
        began(4, user: "bob", at: 1000), began(5, user: "bob", channel: "dm:x#bob,\(Self.user)", at: 1000),
        began(6, user: "bob", channel: "dm:x#bob,\(Self.user)", at: 6000),
        .ended(
          CoverageKey(connection: 1, channel: try ChannelName("room:hall")), nil, CoverageEnd(.gone, at: 9000)),
      ], at: 2)
    _ = try carryOut(Self.deletions(), file)
    #expect(try connections(file, Self.user) == [3])
    #expect(try connections(file, "bob") == [4])
    #expect(try connections(file, "bob", "dm:x#bob,\(Self.user)") == [6])
  }

  @Test("the mark is there when nothing of the users is, also for the process after this one")
  func mark() throws {
    let folder = try TemporaryFolder()
    do {
      let file = try CoverageFile(folder: folder.path, now: 1)
      #expect(try file.mark() == nil)
      try file.write([began(1, user: Self.user, at: 1000), began(2, user: "bob-who-stays", at: 1000)], at: 2)
      #expect(try holds(Self.user, folder))
      var pass = MissedPass(Self.deletions(number: .max))
      while pass.state != .marking { try pass.step(file) }
      #expect(try file.mark() == nil && !holds(Self.user, folder))
      try pass.step(file)
      #expect(pass.isDone)
      try file.close()
    }
    let file = try CoverageFile(folder: folder.path, now: 3)
    #expect(try file.mark() == DeletionMark(number: .max, at: Self.at))
    #expect(try holds("bob-who-stays", folder) && !holds(Self.user, folder))
    #expect(try carryOut(Self.deletions(of: [], number: 9), file) == 1, "without users there is nothing to look for")
    #expect(try file.mark()?.number == 9)
  }

  @Test("many rows are looked through in several steps, and none is passed over")
  func steps() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    for user in 0..<30 {
      let records = try (0..<300).map { number in
        let at: Int64 = number % 2 == 0 ? 1000 : 6000
        return try began(UInt64(user * 1000 + number), user: "user-\(user)", channel: "room:\(number % 7)", at: at)
      }
      try file.write(records, at: 2)
    }
    let users = (0..<30).filter { $0 % 3 == 0 }.map { "user-\($0)" }
    #expect(try carryOut(Self.deletions(of: users), file) > 5)
    for user in 0..<30 {
      var count = 0
      for channel in 0..<7 { count += try connections(file, "user-\(user)", "room:\(channel)").count }
      #expect(count == (user % 3 == 0 ? 150 : 300))
    }
  }

  @Test("what goes because deletions are not remembered is not known any more, and answers say so")
  func keptSince() throws {
    let folder = try TemporaryFolder()
    let file = try CoverageFile(folder: folder.path, now: 1)
    try file.write([began(1, user: "bob", at: 3000), began(2, user: "bob", at: 6000)], at: 2)
    _ = try carryOut(Self.deletions(of: [], forgottenUntil: 4000), file)
    let query = CoverageQuery(
      user: "bob", channel: try ChannelName("room:hall"), position: StreamPosition(epoch: "e", offset: 1))
    let found = try file.find(query)
    #expect(found.rows.map(\.key.connection) == [2] && found.keptSince == 4000)
  }

  // MARK: The store

  private final class Answers: Sendable {
    private let state = Mutex<[Bool]>([])
    var all: [Bool] { state.withLock { $0 } }
    func note(_ isDone: Bool) { state.withLock { $0.append(isDone) } }
  }

  private func store(_ folder: TemporaryFolder) throws -> CoverageStore {
    try CoverageStore(
      folder: folder.path, options: .init(keepMilliseconds: 1 << 60, maximumBytes: 1 << 24),
      logger: Logger(label: "test"))
  }

  @Test("a store carries out what is told, says so once, and knows its mark; records that wait are among it")
  func carriesOut() async throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    let missed = try #require(store.sink.missed)
    for number in 0..<5000 as Range<UInt64> {
      store.sink.record(try began(number, user: number % 2 == 0 ? Self.user : "bob-who-stays", at: 1000))
    }
    let isDone = await withCheckedContinuation { done in
      missed.forget(Self.deletions()) { done.resume(returning: $0) }
    }
    #expect(isDone)
    #expect(try !holds(Self.user, folder) && holds("bob-who-stays", folder))
    let mark = await withCheckedContinuation { done in missed.readMark { done.resume(returning: $0) } }
    #expect(mark == DeletionMark(number: 3, at: Self.at))
    store.close()
    let late = Answers()
    missed.forget(Self.deletions()) { late.note($0) }
    #expect(late.all == [false])
    let none = await withCheckedContinuation { done in missed.readMark { done.resume(returning: $0) } }
    #expect(none == nil)
  }

  @Test("what is told while earlier deletions are carried out takes their place, and each is answered once")
  func replaced() async throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    let missed = try #require(store.sink.missed)
    for number in 0..<20_000 as Range<UInt64> {
      store.sink.record(try began(number, user: "user-\(number % 3000)", at: 1000))
    }
    let answers = Answers()
    for number in 1...20 as ClosedRange<UInt64> {
      missed.forget(Self.deletions(of: ["user-7"], number: number)) { answers.note($0) }
    }
    #expect(await eventually { answers.all.count == 20 })
    #expect(answers.all.last == true)
    let mark = await withCheckedContinuation { done in missed.readMark { done.resume(returning: $0) } }
    #expect(mark?.number == 20)
    store.close()
  }
}
