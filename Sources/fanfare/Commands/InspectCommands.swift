import ArgumentParser
import Console
import Foundation
import Settings
import Wire

struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Say what the server knows of a channel, a user or a client.",
    discussion: """
      The broker tells what it holds, and every gateway what its clients have; a gateway that does not answer within two \
      seconds is counted under 'unanswered'.
      """,
    subcommands: [Channel.self, User.self, Client.self])

  struct Channel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "A channel: its kind, position, history, subscribers, and what is under way.")

    @OptionGroup var question: Question

    @Argument(help: "The channel.")
    var name: String

    func run() async throws { try question.ask("inspect_channel") { $0.write("channel", name) } }
  }

  struct User: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "A user: connections with their addresses and subscriptions, revocations, quotas.")

    @OptionGroup var question: Question

    @Argument(help: "The user's id: the sub of their tokens.")
    var name: String

    func run() async throws { try question.ask("inspect_user") { $0.write("user", name) } }
  }

  struct Client: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "One connection: its subscriptions, how far each has come, and what waits for it.")

    @OptionGroup var question: Question

    @Argument(help: "The client id, as presence and publications show it.")
    var name: String

    func run() async throws { try question.ask("inspect_client") { $0.write("client", name) } }
  }
}

struct ExplainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Say why a user may or may not do something with a channel.",
    discussion: """
      For example: fanfare explain --user 42 --publish chat:7

      Each gateway decides as it does for a client, and says which setting decided and where it stands; the broker adds \
      what an app, a quota or a revocation has to say.
      """)

  @OptionGroup var question: Question

  @Option(name: .long, help: "The user's id; an anonymous client where it is left out.")
  var user = ""

  @Option(name: .long, help: "May the user subscribe to this channel?")
  var subscribe: String?

  @Option(name: .long, help: "May the user publish on this channel?")
  var publish: String?

  @Option(name: .long, help: "May the user read this channel's history?")
  var history: String?

  @Option(name: .long, help: "May the user see who is on this channel?")
  var presence: String?

  private var asked: [(action: ChannelAction, channel: String)] {
    let all: [(ChannelAction, String?)] = [
      (.subscribe, subscribe), (.publish, publish), (.history, history), (.presence, presence),
    ]
    return all.compactMap { action, channel in channel.map { (action, $0) } }
  }

  func validate() throws {
    if asked.count != 1 {
      throw ValidationError("say one thing to explain, for example: fanfare explain --user 42 --publish chat:7")
    }
  }

  func run() async throws {
    guard let (action, channel) = asked.first else { return }
    try question.ask("explain") { writer in
      writer.write("user", user)
      writer.write("action", action.rawValue)
      writer.write("channel", channel)
    }
  }
}

/// A question to the server whose answer is shown.
struct Question: ParsableArguments {
  @OptionGroup var services: ServiceOptions

  @Flag(name: .long, help: "Print the answer as the server gives it: JSON.")
  var json = false

  func ask(_ method: String, _ parameters: (inout JSONWriter) -> Void) throws {
    var writer = JSONWriter()
    writer.object(nil, parameters)
    let answer = try services.answer(to: method, writer.bytes)
    guard !json, let value = try? JSONValue(parsing: answer) else {
      return FileHandle.standardOutput.write(Data(answer + [0x0A]))
    }
    for line in Outline.lines(of: value) { print(line) }
  }
}
