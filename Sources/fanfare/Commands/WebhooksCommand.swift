import ArgumentParser
import Settings
import Wire

struct WebhooksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webhooks", abstract: "See how webhooks are doing, and send again what was given up.",
    subcommands: [List.self, GivenUp.self, Resend.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Show each webhook: what waits, since when requests fail, and why.")

    @OptionGroup var services: ServiceOptions

    func run() async throws { try services.printAnswer(to: "webhooks_list", Array("{}".utf8)) }
  }

  struct GivenUp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "given-up", abstract: "Show the events of a webhook that were given up, the oldest first.")

    @OptionGroup var services: ServiceOptions

    @Argument(help: "The webhook's name.")
    var name: String

    @Option(name: .long, help: "Begin after this position, as the page before showed it.")
    var position: UInt64 = 0

    @Option(name: .long, help: "Most events to show, up to 1000.")
    var limit: UInt32 = 100

    func run() async throws {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("name", name)
        writer.write("position", position)
        writer.write("limit", limit)
      }
      try services.printAnswer(to: "webhook_given_up", writer.bytes)
    }
  }

  struct Resend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resend", abstract: "Send events of a webhook again that were given up, the oldest first.",
      discussion: "They go behind what waits already, with the ids that they had. The answer says how many are left.")

    @OptionGroup var services: ServiceOptions

    @Argument(help: "The webhook's name.")
    var name: String

    @Option(name: .long, help: "Most events to send again, up to 1000.")
    var limit: UInt32 = 1000

    func run() async throws {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("name", name)
        writer.write("limit", limit)
      }
      try services.printAnswer(to: "webhook_resend", writer.bytes)
    }
  }
}
