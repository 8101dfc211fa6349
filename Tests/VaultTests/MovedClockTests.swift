import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Vault

@Suite("A test server's clock, which can be moved")
struct MovedClockTests {
  private static let hour: Int64 = 3_600_000
  private static let day = 24 * hour
  private static let now: Int64 = 1_700_000_000_000

  @Test("it goes forward by 48 hours at once and 60 days in all, and not at all where more is asked")
  func limits() throws {
    var clock = MovedClock()
    for milliseconds in [0, -1, .min, 48 * Self.hour + 1, .max] {
      #expect(throws: MovedClock.Refusal.notSo) { try clock.advance(by: milliseconds) }
    }
    try clock.advance(by: 1)
    for _ in 0..<29 { try clock.advance(by: 48 * Self.hour) }
    #expect(clock.offset == 58 * Self.day + 1)
    #expect(throws: MovedClock.Refusal.tooFar(left: 2 * Self.day - 1)) { try clock.advance(by: 48 * Self.hour) }
    #expect(clock.offset == 58 * Self.day + 1)
    try clock.advance(by: 2 * Self.day - 1)
    #expect(clock.offset == MovedClock.mostInAll)
    #expect(throws: MovedClock.Refusal.tooFar(left: 0)) { try clock.advance(by: 1) }
  }

  @Test("what a start makes of a data folder")
  func starts() {
    let (past, to) = (Self.now, Self.now + 1)
    let table: [(movable: Bool, data: Bool, latest: Int64?, MovedClock.Start)] = [
      (true, false, nil, .mark), (true, false, past, .mark), (true, false, to, .mark),
      (false, false, nil, .ordinary), (false, false, past, .ordinary), (false, false, to, .ordinary),
      (true, true, nil, .refuse), (true, true, past, .ordinary), (true, true, to, .ahead(to)),
      (false, true, nil, .ordinary), (false, true, past, .unmark), (false, true, to, .ahead(to)),
    ]
    for (movable, data, latest, start) in table {
      #expect(
        MovedClock.Start(isMovable: movable, hasData: data, latest: latest, now: Self.now) == start,
        "\(movable) \(data) \(String(describing: latest))")
    }
  }

  // MARK: The keeper

  private final class Machine: Sendable {
    let clocks = Mutex(TestMachine())
    func pass(_ milliseconds: Int64) { clocks.withLock { $0.pass(milliseconds) } }
    var wall: Int64 { clocks.withLock(\.wall) }
  }

  private func keeper(_ folder: String, _ machine: Machine, isMovable: Bool = true) -> ClockKeeper {
    ClockKeeper(
      files: ClockFiles(folder: folder), rules: .init(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, isMovable: isMovable, bootID: "one",
      machine: { machine.clocks.withLock(\.reading) }, synchronized: { false })
  }

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try withExtendedLifetime(folder) { try body(folder.path) }
  }

  @Test("what is moved is the time that is counted, and not the one by which tokens end; whoever waits is told")
  func moves() throws {
    try inFolder { folder in
      let machine = Machine()
      let keeper = keeper(folder, machine)
      let told = Mutex(0)
      keeper.whenMoved { told.withLock { $0 += 1 } }
      let time = try keeper.advance(by: Self.day)
      #expect(time == .init(wall: machine.wall + Self.day, ahead: 0, moved: Self.day))
      machine.pass(Self.hour)
      _ = try keeper.advance(by: Self.hour)
      let moved = Self.day + Self.hour
      #expect(keeper.now() == .init(wall: machine.wall + moved, ahead: 0, moved: moved))
      #expect(keeper.wall() == machine.wall + moved && keeper.unmoved() == machine.wall)
      #expect(told.withLock(\.self) == 2)
      #expect(throws: MovedClock.Refusal.notSo) { try keeper.advance(by: 0) }
      #expect(told.withLock(\.self) == 2 && keeper.now().moved == moved)
    }
  }

  @Test("a clock that cannot be moved is not, and no mark is made")
  func fixed() throws {
    try inFolder { folder in
      let machine = Machine()
      let keeper = keeper(folder, machine, isMovable: false)
      #expect(throws: MovedClock.Refusal.notHere) { try keeper.advance(by: 1) }
      keeper.look()
      #expect(keeper.wall() == machine.wall)
      let latest = try keeper.files.latestMoved()
      #expect(latest == nil)
    }
  }

  @Test("a restart begins with the machine's clock, doubts nothing, and finds how far the time was counted")
  func restart() throws {
    try inFolder { folder in
      let machine = Machine()
      let first = keeper(folder, machine)
      first.look()
      #expect(try first.files.latestMoved() == machine.wall)
      _ = try first.advance(by: 2 * Self.day)
      let latest = machine.wall + 2 * Self.day
      // On the disk before anything can bear a time ahead, so also where the process is killed now.
      #expect(try first.files.latestMoved() == latest)
      #expect(try first.files.mark()?.wall == machine.wall, "the trusted clock's own mark is not moved")
      for isMovable in [true, false] {
        machine.pass(Self.hour)
        let next = keeper(folder, machine, isMovable: isMovable)
        #expect(next.now() == .init(wall: machine.wall, ahead: 0))
        #expect(try next.files.latestMoved() == latest)
        let start = MovedClock.Start(
          isMovable: isMovable, hasData: true, latest: try next.files.latestMoved(), now: next.unmoved())
        #expect(start == .ahead(latest))
        // What the next one writes down does not hide how far the one before was.
        next.look()
        #expect(try next.files.latestMoved() == latest)
      }
    }
  }

  @Test("once the time has come the mark is taken away by a server whose clock cannot be moved, and by no other")
  func unmark() throws {
    try inFolder { folder in
      let machine = Machine()
      _ = try keeper(folder, machine).advance(by: Self.hour)
      for (passed, isMovable, isMarked) in [(0, false, true), (Self.hour, true, true), (Self.hour, false, false)] {
        machine.pass(passed)
        let next = keeper(folder, machine, isMovable: isMovable)
        next.start()
        next.stop()
        let latest = try next.files.latestMoved()
        #expect((latest != nil) == isMarked, "\(passed) \(isMovable)")
      }
    }
  }

  @Test("where the folder takes no mark the clock is not moved")
  func readOnly() throws {
    let keeper = keeper("/nowhere/at/all", Machine())
    #expect(throws: MovedClock.Refusal.self) { try keeper.advance(by: 1) }
    #expect(keeper.now().moved == 0)
  }

  @Test("a mark that names no time is one")
  func damagedMark() throws {
    try inFolder { folder in
      let files = ClockFiles(folder: folder)
      _ = FileManager.default.createFile(
        atPath: folder + "/clock.moved", contents: Data("soon".utf8), attributes: [.posixPermissions: 0o600])
      let latest = try files.latestMoved()
      #expect(latest == 0)
      try files.markMoved(Self.now)
      try files.markMoved(Self.now - 1)
      #expect(try files.latestMoved() == Self.now, "it never goes back")
    }
  }

  // MARK: Keys

  @Test(
    "however a clock is moved and begins anew, the vaults' files can be read again, and what is ahead can be opened")
  func keys() throws {
    try inFolder { folder in
      let rules = 60 * Self.day
      // Each restart begins at the machine's time; the worst is to leave keys of all hours behind.
      for offset in [rules, 31 * Self.day, 0] {
        _ = try CliqueVault(folder: folder, now: Self.now).prepare(at: Self.now + offset)
      }
      let states = try StateVault(folder: folder)
      for days in stride(from: Int64(60), through: 0, by: -1) { try states.prepare(at: Self.now + days * Self.day) }
      let end = Self.now + rules + 30 * Self.day
      let vault = try CliqueVault(folder: folder, now: Self.now)
      let box = try vault.seal([1, 2, 3], until: end, for: "a")
      let sealed = try states.seal([4, 5, 6], at: Self.now + rules)
      for name in [CliqueVault.name, StateVault.sealed] {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
        #expect(bytes.count < KeyFile.maximumBytes, "\(name)")
      }
      #expect(try CliqueVault(folder: folder, now: Self.now).open(box, until: end, for: "a") == [1, 2, 3])
      #expect(try StateVault(folder: folder).open(sealed) == [4, 5, 6])
    }
  }
}
