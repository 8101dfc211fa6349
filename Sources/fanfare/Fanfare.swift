import ArgumentParser

/// The command line: what runs the server, and what tries it out.
@main
struct Fanfare: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "fanfare",
    abstract: "A realtime pub/sub server: a ZeroMQ broker and a WebSocket gateway.",
    discussion: """
      Start the server, then follow a channel in one terminal and publish on it in another:

        fanfare serve
        fanfare subscribe news
        fanfare publish news '{"hello":"world"}'
      """,
    version: version,
    subcommands: [
      ServeCommand.self, BrokerCommand.self, GatewayCommand.self, PublishCommand.self, SubscribeCommand.self,
      HistoryCommand.self, DisconnectCommand.self, UnsubscribeCommand.self, RevokeCommand.self,
      SubscribeUserCommand.self, RefreshCommand.self, InspectCommand.self, ExplainCommand.self, WhyCommand.self,
      TopCommand.self, UserCommand.self, TokenCommand.self, KeysCommand.self, WebhooksCommand.self, PushCommand.self,
      ConfigCommand.self, ConsoleCommand.self, ClockCommand.self, ReportCommand.self, ClusterCommand.self,
    ])
}
