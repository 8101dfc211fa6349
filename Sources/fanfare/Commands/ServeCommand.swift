import ArgumentParser
import Settings

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run broker and gateway in one process.",
    discussion: "Everything a small installation needs. The same code runs apart as 'broker' and 'gateway'.")

  @OptionGroup var options: SettingsOptions

  @Flag(
    help: """
      Speak TLS with a certificate for localhost that is made here and that nobody trusts by itself: for development, not \
      for people.
      """)
  var devTls = false

  func run() async throws {
    var settings = try options.load()
    if devTls { settings = try options.load(adding: try DevelopmentTLS.prepare(for: settings)) }
    guard settings.cluster.partitions == 1 else {
      throw Complaint(
        "cluster.partitions is \(settings.cluster.partitions), and 'fanfare serve' has one broker for all channels; run "
          + "'fanfare broker' and 'fanfare gateway' apart (docs/SCALING.md), or set it to 1")
    }
    try await ServerProcess.run(.serve, settings: settings)
  }
}

struct BrokerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "broker",
    abstract: "Run the broker alone; gateways connect to its backbone endpoint.",
    discussion: """
      Where cluster.partitions is more than 1, it starts a broker for each partition and keeps all of them running. Each \
      has its own log in the database, its own folder partition-P in data.directory, and the endpoint that follows the \
      configured one.
      """)

  @OptionGroup var options: SettingsOptions

  @Option(
    help: ArgumentHelp(
      "Run the broker of one partition alone, from 0, for a supervisor that keeps each of them running itself.",
      valueName: "number"))
  var partition: Int?

  @Flag(name: .customLong(PartitionProcesses.childFlag), help: .hidden)
  var endsWithParent = false

  func run() async throws {
    let settings = try options.load()
    let count = settings.cluster.partitions
    switch partition {
    case nil where count == 1: try await ServerProcess.run(.broker, settings: settings)
    case nil: try await PartitionProcesses.run(settings)
    case let partition?:
      guard count > 1 else {
        throw Complaint(
          "--partition \(partition): cluster.partitions is 1, so that one broker has all channels; leave --partition out"
        )
      }
      guard (0..<count).contains(partition) else {
        throw Complaint("--partition \(partition): cluster.partitions is \(count), so write 0 to \(count - 1)")
      }
      try await PartitionProcesses.runBroker(of: partition, settings, endsWithParent: endsWithParent)
    }
  }
}

struct GatewayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Run a gateway alone; it connects to the broker's backbone endpoint.")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await ServerProcess.run(.gateway, settings: try options.load())
  }
}
