import Foundation
import Logging
import Synchronization
import Testing

@testable import Vault

@Suite("The keeper of the clock")
struct ClockKeeperTests {
  private final class Machine: Sendable {
    let clocks = Mutex(TestMachine())

    func pass(_ milliseconds: Int64) { clocks.withLock { $0.pass(milliseconds) } }
    func step(_ milliseconds: Int64) { clocks.withLock { $0.wall += milliseconds } }
    var wall: Int64 { clocks.withLock(\.wall) }
  }

  /// What was logged, as text.
  private final class Lines: LogHandler, @unchecked Sendable {  // Changed under its lock alone.
    let lines = Mutex<[String]>([])
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }

    func log(event: LogEvent) { lines.withLock { $0.append("\(event.level): \(event.message)") } }

    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  private static let day: Int64 = 24 * 3_600_000

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("clock-" + UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private func keeper(
    _ folder: String, _ machine: Machine, boot: String = "one", synchronized: Bool = false
  ) -> (ClockKeeper, Lines) {
    let lines = Lines()
    var logger = Logger(label: "test") { _ in lines }
    logger.logLevel = .trace
    let keeper = ClockKeeper(
      files: ClockFiles(folder: folder), rules: .init(), logger: logger, bootID: boot,
      machine: { machine.clocks.withLock(\.reading) }, synchronized: { synchronized })
    return (keeper, lines)
  }

  @Test("a jump is told with what to do, once and then now and again, and so is its end")
  func tells() throws {
    try inFolder { folder in
      let machine = Machine()
      let (keeper, lines) = keeper(folder, machine)
      keeper.look()
      #expect(lines.take() == [])
      machine.step(Self.day)
      keeper.look()
      let said = lines.take()
      #expect(said.count == 1 && said[0].hasPrefix("warning: ") && said[0].contains("fanfare clock confirm"))
      #expect(said[0].contains(ClockText.moment(machine.wall)) && said[0].contains(ClockText.moment(keeper.wall())))
      keeper.look()
      #expect(lines.take() == [])
      machine.pass(600_000)
      keeper.look()
      #expect(lines.take().count == 1)
      machine.step(-Self.day)
      keeper.look()
      #expect(lines.take() == ["notice: the machine's clock counts again"])
    }
  }

  @Test("what a person confirms is taken while the server runs, and when it starts")
  func confirmation() throws {
    try inFolder { folder in
      let machine = Machine()
      let (keeper, lines) = keeper(folder, machine)
      keeper.look()
      machine.step(Self.day)
      #expect(keeper.now().ahead == Self.day)
      try keeper.files.confirm(machine.wall)
      machine.pass(2000)
      keeper.look()
      #expect(keeper.now().ahead == 0 && !keeper.files.isConfirmationWaiting)
      #expect(lines.take().contains { $0.contains("somebody has confirmed") })

      keeper.look()
      machine.step(Self.day)
      let (next, _) = self.keeper(folder, machine)
      #expect(next.now().ahead == Self.day)
      try next.files.confirm(machine.wall)
      next.look()
      #expect(next.now().ahead == 0)
    }
  }

  @Test("a word that was said of another time is none")
  func staleConfirmation() throws {
    try inFolder { folder in
      let machine = Machine()
      let (keeper, lines) = keeper(folder, machine)
      try keeper.files.confirm(machine.wall)
      machine.step(Self.day)
      keeper.look()
      #expect(keeper.now().ahead == Self.day && !keeper.files.isConfirmationWaiting)
      #expect(lines.take().contains { $0.contains("when it said another time") })
      for nonsense in ["", "soon", "99999999999999999999", "\(Int64.min)"] {
        _ = FileManager.default.createFile(
          atPath: folder + "/clock.confirmed", contents: Data(nonsense.utf8), attributes: [.posixPermissions: 0o600])
        keeper.look()
        #expect(keeper.now().ahead == Self.day && !keeper.files.isConfirmationWaiting)
      }
    }
  }

  @Test("the last time seen is on the disk, for the next process")
  func restart() throws {
    try inFolder { folder in
      let machine = Machine()
      let (keeper, _) = keeper(folder, machine)
      keeper.look()
      machine.pass(30 * Self.day)
      #expect(self.keeper(folder, machine).0.now().ahead == 0, "the same start of the machine: it was that long")
      #expect(self.keeper(folder, machine, boot: "two").0.now().ahead == 30 * Self.day)
      #expect(self.keeper(folder, machine, boot: "two", synchronized: true).0.now().ahead == 0)
      keeper.stop()
      #expect(self.keeper(folder, machine, boot: "two").0.now().ahead == 0)
      // A mark that cannot be read is said to be one, and stops nobody.
      try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/clock.seen"))
      let (other, lines) = self.keeper(folder, machine, boot: "two")
      #expect(other.now().ahead == 0)
      #expect(lines.take().contains { $0.hasPrefix("error: ") })
    }
  }

  @Test("the machine's own clocks can be read")
  func machine() {
    let (first, second) = (ClockKeeper.readMachine(), ClockKeeper.readMachine())
    #expect(first.wall > 1_600_000_000_000 && first.boot > 0 && second.boot >= first.boot)
  }
}
