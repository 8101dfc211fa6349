import ArgumentParser
import Foundation
import Log

extension ClusterCommand {
  struct Drain: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Have the broker that has the log hand it over to the next in line, and end.",
      discussion: """
        Asks by way of the database, with the connection of the settings, so it runs on any machine. The broker writes \
        what it has taken, ends with exit code 0, and is in line again when its supervisor starts it. Clients of gateways \
        stay connected. Exit code 1 where nobody has taken over; then nothing is asked of the broker any more.

        Of a log that has several partitions, --partition or --broker says what is handed over. It stays where it goes \
        for five minutes; then a broker that is preferred may have it again.
        """)

    @OptionGroup var settings: SettingsOptions

    @Option(help: ArgumentHelp("The partition to hand over, by its number.", valueName: "number"))
    var partition: Int?

    @Option(
      help: ArgumentHelp("Hand over all that the broker of this name has, one after the other.", valueName: "name"))
    var broker: String?

    @Option(help: "How long it may take for each partition, in seconds.")
    var timeout = 30

    @Flag(help: "Also where nobody stands in line: afterwards nobody has the log.")
    var alone = false

    func validate() throws {
      guard (1...86_400).contains(timeout) else { throw ValidationError("--timeout takes 1 to 86400 seconds.") }
      if partition != nil, broker != nil { throw ValidationError("Pass --partition or --broker, not both.") }
      if broker?.isEmpty == true { throw ValidationError("--broker takes the name of a broker.") }
    }

    private var target: ClusterDrain.Target {
      if let partition { return .partition(partition) }
      return broker.map { .broker($0) } ?? .whole
    }

    func run() throws {
      do {
        try LogSetup.drain(for: try settings.load(), target, within: Int64(timeout) * 1000, alone: alone) { outcome in
          let part = outcome.partition.map { "partition \($0): " } ?? ""
          let (what, next) = (outcome.partition == nil ? "the log" : "it", outcome.next ?? "nobody")
          print("\(part)\(outcome.former) has handed \(what) over: \(next) has \(what) now")
        }
      } catch let error as PostgresStartError {
        throw Complaint("\(error)")
      } catch let error as ClusterDrain.Fault {
        throw Complaint("\(error)")
      }
    }
  }
}
