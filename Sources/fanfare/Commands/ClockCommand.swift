import ArgumentParser
import Foundation
import Settings
import Vault

/// What a person says of the machine's clock, through the data folder: while the server runs, or before it starts.
struct ClockCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clock",
    abstract: "Show what time Fanfare counts by, or confirm the machine's clock after it jumped.",
    discussion: """
      A clock that jumps would destroy what people wait for. So a jump of more than clock.max_step is not followed \
      before the clock is set right or you confirm it (docs/OPERATIONS.md). Run this on the server's machine, with the \
      server's configuration and as its user.
      """,
    subcommands: [Show.self, Confirm.self], defaultSubcommand: Show.self)

  /// The clocks of the processes that may use a data folder, by what they are.
  static func files(in settings: Settings) -> [(name: String, files: ClockFiles)] {
    let folder = settings.data.directory
    // The home partition's has the place of a broker that has all channels.
    let partitions = (1..<settings.cluster.partitions).map { partition in
      ("partition \(partition)", ClockFiles(folder: Settings.Data.directory(ofPartition: partition, in: folder)))
    }
    return [("broker", ClockFiles(folder: folder))] + partitions
      + [("gateway", ClockFiles(folder: folder, name: "gateway-clock"))]
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show what time Fanfare counts by.")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      print("the machine's clock says \(ClockText.moment(ClockKeeper.readMachine().wall))")
      var isKnown = false
      for (name, files) in ClockCommand.files(in: try options.load()) {
        guard let mark = try ClockCommand.mark(in: files) else { continue }
        isKnown = true
        let state = mark.isWaiting ? "waits; if the machine's clock is right, run: fanfare clock confirm" : "agrees"
        print("\(name): counted \(ClockText.moment(mark.wall)) when it last wrote it down, and \(state)")
      }
      if !isKnown { print("no server has run in this data folder yet") }
    }
  }

  struct Confirm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say that the machine's clock is right.")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      let wall = ClockKeeper.readMachine().wall
      var waiting: [ClockFiles] = []
      for (_, files) in ClockCommand.files(in: try options.load()) where try ClockCommand.mark(in: files) != nil {
        do { try files.confirm(wall) } catch { throw Complaint("\(error)") }
        waiting.append(files)
      }
      guard !waiting.isEmpty else {
        throw Complaint(
          "no server has run in this data folder yet: there is nothing to confirm (--config, --set data.directory=…)")
      }
      print("confirmed: the machine's clock is right, it says \(ClockText.moment(wall))")
      for _ in 0..<50 where waiting.contains(where: \.isConfirmationWaiting) {
        try await Task.sleep(for: .milliseconds(100))
      }
      if waiting.contains(where: \.isConfirmationWaiting) {
        print("no server has taken it yet: one that is started within clock.max_step does")
      }
    }
  }

  private static func mark(in files: ClockFiles) throws -> TrustedClock.Mark? {
    do { return try files.mark() } catch { throw Complaint("\(error)") }
  }
}
