import ArgumentParser

@main
struct FanfareBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanfare-bench", abstract: "Measures realtime servers: fan-out, latency, connections, recovery.",
    discussion: """
      An open-loop load generator: publications go out on a schedule, latency runs from the time at which each was due, \
      and it says when it was itself the bottleneck. Servers are measured in turns, each with a fresh process on cores \
      of its own. Nothing may be lost, doubled or out of order.

      fanfare-bench scenarios
      fanfare-bench run fanout
      fanfare-bench run fanout --peers fanfare,floor,nats --json fanout.json --html fanout.html
      fanfare-bench compare before.json after.json

      benchmarks/README.md says what is measured and how to read it.
      """,
    subcommands: [
      RunCommand.self, CompareCommand.self, ReportCommand.self, ScenariosCommand.self, MicroCommand.self,
      WorkerCommand.self, FloorCommand.self, ZeroMQPeerCommand.self,
    ])
}
