import ArgumentParser

/// What brokers that share a log in PostgreSQL do, and are to do.
struct ClusterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster", abstract: "Look at brokers that share a log in PostgreSQL, and have one hand it over.",
    subcommands: [Status.self, Drain.self])
}
