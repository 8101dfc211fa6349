import ArgumentParser
import Settings

struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Check a configuration file, or print the defaults.",
    subcommands: [Check.self, Defaults.self])

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say what is wrong with a file, line by line.")

    @Argument(help: "The configuration file.")
    var file: String

    func run() throws {
      do { try Settings.check(file) } catch { throw Complaint("\(error)") }
      print("\(file) is fine.")
    }
  }

  struct Defaults: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print every key with its default, as JSON.")

    func run() { print(Settings.defaultsJSON()) }
  }
}
