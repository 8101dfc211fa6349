import ArgumentParser
import Foundation
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

  @Option(name: .long, help: "An existing folder, into which the pictures are written that are kept with the report.")
  var pictures: String?

  func run() async throws {
    var writer = JSONWriter()
    writer.object { $0.write("report", number) }
    let report = try services.answer(to: "clique_report", writer.bytes)
    print(String(decoding: report, as: UTF8.self))
    guard let pictures else { return }
    let object = (try? JSONValue(parsing: report))?.object
    for picture in object?["pictures"]?.array ?? [] {
      guard let id = picture.object?["id"]?.string, let type = picture.object?["type"]?.string else { continue }
      // The id was checked by whoever took the picture in; a name that leads elsewhere is not written to.
      guard StatePictureID.isValid(id) else { continue }
      let path = "\(pictures)/\(id).\(type.split(separator: "/").last ?? "picture")"
      let bytes = try bytes(of: id)
      guard FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
      else { throw ValidationError("\(path) cannot be written; name an existing folder with --pictures") }
      print("\(path): \(bytes.count) bytes")
    }
  }

  /// All parts of a picture that is kept with the report.
  private func bytes(of id: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var cursor: String?
    repeat {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("report", number)
        writer.write("picture", id)
        if let cursor { writer.write("cursor", cursor) }
      }
      let part = (try? JSONValue(parsing: try services.answer(to: "clique_report_picture", writer.bytes)))?.object
      let picture = part?["picture"]?.object
      if let lost = picture?["lost"]?.string { throw ValidationError("\(id): \(lost)") }
      guard let text = picture?["b64data"]?.string, let data = Base64.standard.bytes(text) else {
        throw ValidationError("the server's answer has no picture; are both of one version?")
      }
      bytes += data
      cursor = part?["cursor"]?.string
    } while cursor != nil
    return bytes
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
