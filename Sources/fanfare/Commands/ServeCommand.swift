import ArgumentParser

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run broker and gateway in one process.",
    discussion: "Everything a small installation needs. The same code runs apart as 'broker' and 'gateway'.")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await ServerProcess.run(.serve, settings: try options.load())
  }
}

struct BrokerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "broker",
    abstract: "Run the broker alone; gateways connect to its backbone endpoint.")

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await ServerProcess.run(.broker, settings: try options.load())
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
