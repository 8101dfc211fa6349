import ArgumentParser
import Foundation
import Log
import Wire

extension ClusterCommand {
  struct Partition: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Share the log out in another number of partitions, while no broker runs.",
      discussion: """
        Moves all channels with what is kept of them, in one transaction: it is done wholly, or nothing is changed. Stop \
        all brokers first, set cluster.partitions to the new number for brokers and gateways, and start them afterwards. \
        Where channels go is told by the namespaces of the settings, so run it with the brokers' own. The number that \
        there is moves what is not in its place, as after a namespace was given a quota. Backends that publish in \
        transactions wait for the last of it. Exit code 1 where it was not done.
        """)

    @OptionGroup var settings: SettingsOptions

    @Argument(help: "How many partitions, 1 to \(Partitioning.most).")
    var count: Int

    @Flag(help: "Do not ask whether to do it.")
    var yes = false

    func validate() throws {
      guard (1...Partitioning.most).contains(count) else {
        throw ValidationError("A log has 1 to \(Partitioning.most) partitions.")
      }
    }

    func run() throws {
      let settings = try settings.load()
      guard yes || isConfirmed(LogSetup.place(of: settings)) else {
        throw Complaint("nothing was done; pass --yes where nobody can be asked")
      }
      do {
        print(try LogSetup.partition(for: settings, in: count).sentence)
      } catch let error as PostgresStartError {
        throw Complaint("\(error)")
      } catch let error as ClusterPartitioning.Fault {
        throw Complaint("\(error)")
      }
    }

    private func isConfirmed(_ place: String) -> Bool {
      print(
        "Share the log in \(place) out in \(count) \(count == 1 ? "partition" : "partitions")? All brokers must be stopped. [y/N] ",
        terminator: "")
      fflush(nil)
      return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
  }
}

extension ClusterPartitioning.Outcome {
  fileprivate var sentence: String {
    let number = "\(to) \(to == 1 ? "partition" : "partitions")"
    let change = from == to ? "in \(number) as before" : "in \(number) now, and was in \(from)"
    var parts = [
      "the log is shared \(change)",
      "channels that were moved: \(movedChannels); publications of backends that wait: \(movedMessages)",
    ]
    if restingEvents > 0 {
      parts.append(
        "events of webhooks that rest in partitions that there are no more, until there are again: \(restingEvents)")
    }
    return parts.joined(separator: "; ")
  }
}
