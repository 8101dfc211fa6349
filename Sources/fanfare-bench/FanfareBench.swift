import ArgumentParser

@main
struct FanfareBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanfare-bench", abstract: "Measures realtime servers: fan-out, latency, connections, recovery.",
    subcommands: [MicroCommand.self, WorkerCommand.self, FloorCommand.self, ZeroMQPeerCommand.self])
}
