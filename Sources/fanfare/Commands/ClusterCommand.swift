import ArgumentParser

/// What brokers that share a log in PostgreSQL do, and are to do.
struct ClusterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster",
    abstract: "Look at brokers that share a log in PostgreSQL, have one hand it over, and share it in partitions.",
    subcommands: [Status.self, Drain.self, Partition.self])
}
