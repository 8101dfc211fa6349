import ArgumentParser
import Wire

/// What people have reported of others in Clique, for moderators.
struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "List, show and settle what people have reported of others in Clique.",
    discussion: "Each use has a line in the server's audit. docs/API.md says what a report holds.",
    subcommands: [ReportListCommand.self, ReportShowCommand.self, ReportSettleCommand.self])
}

struct ReportListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Print reports, a line of JSON for each page.")

  @OptionGroup var services: ServiceOptions

  @Option(name: .long, help: "open, settled or all.")
  var state = "open"

  @Option(name: .long, help: "Only reports about this user.")
  var user: String?

  func run() async throws {
    var cursor: String?
    repeat {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("state", state)
        if let user { writer.write("user", user) }
        if let cursor { writer.write("cursor", cursor) }
      }
      let page = try services.answer(to: "clique_reports", writer.bytes)
      print(String(decoding: page, as: UTF8.self))
      cursor = (try? JSONValue(parsing: page))?.object?["cursor"]?.string
    } while cursor != nil
  }
}

struct ReportShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print one report with the messages that were reported.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The report's number, as 'fanfare report list' prints it.")
  var number: UInt64

  func run() async throws {
    var writer = JSONWriter()
    writer.object { $0.write("report", number) }
    try services.printAnswer(to: "clique_report", writer.bytes)
  }
}

struct ReportSettleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settle", abstract: "Say what was found about a report. It does nothing to anybody by itself.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The report's number.")
  var number: UInt64

  @Option(name: .long, help: "dismissed, warned, suspended or other.")
  var outcome: String

  @Option(name: .long, help: "A note for other moderators.")
  var note: String?

  func run() async throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("report", number)
      writer.write("outcome", outcome)
      if let note { writer.write("note", note) }
    }
    _ = try services.answer(to: "clique_report_settle", writer.bytes)
    print("settled: report \(number), \(outcome)")
  }
}
