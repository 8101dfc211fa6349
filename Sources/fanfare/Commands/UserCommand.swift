import ArgumentParser
import Foundation
import Wire

/// What the server keeps of one user: shown, handed out, deleted.
struct UserCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Show, export or delete what the server keeps of a user; suspend a user.",
    discussion: "docs/PRIVACY.md says what is kept where, and what a deletion does to it.",
    subcommands: [
      UserDataCommand.self, UserExportCommand.self, UserDeleteCommand.self, UserSuspendCommand.self,
      UserUnsuspendCommand.self, UserSuspensionsCommand.self,
    ])
}

struct UserDataCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "data", abstract: "Print what is kept of a user, counted by kind.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The user's id.")
  var user: String

  func run() async throws { print(try services.answer("user_data", user: user)) }
}

struct UserExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Hand out what a user wrote, what the user's lists show, and the pictures.",
    discussion: """
      Prints a line of JSON for each page, pictures in base64. With --folder it makes a folder of items.jsonl and the \
      pictures as files.
      """)

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The user's id.")
  var user: String

  @Option(name: .long, help: "A folder to make, in place of printing.")
  var folder: String?

  func run() async throws {
    let folder = try folder.map { try ExportFolder($0) }
    var cursor: String?
    repeat {
      let page = try services.answer("user_export", user: user) { writer in
        if let cursor { writer.write("cursor", cursor) }
      }
      if let folder {
        cursor = try folder.add(page)
      } else {
        print(page)
        let fields = (try? JSONValue(parsing: Array(page.utf8), levels: ExportFolder.levels))?.object
        cursor = fields?["cursor"]?.string
      }
    } while cursor != nil
    if let folder { print("pictures: \(folder.pictureCount)") }
  }
}

struct UserDeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete everything that is kept of a user, and wait until it is done.",
    discussion: """
      The deletion is written down first and goes on after a restart, whether this command waits or not. There is no \
      way back.
      """)

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The user's id.")
  var user: String

  @Option(name: .long, help: "A channel that is the user's alone, deleted as a whole. May stand several times.")
  var channel: [String] = []

  @Flag(name: .long, help: "Keep the user's tokens revoked, which keeps the id for as long.")
  var ban = false

  @Flag(name: .long, help: "Ask only how far a deletion is.")
  var status = false

  @Flag(name: .long, help: "Do not wait until it is done.")
  var noWait = false

  func run() async throws {
    if status { return print(try services.answer("user_delete_status", user: user)) }
    let channels = channel
    var answer = try services.answer("user_delete", user: user) { writer in
      writer.list("channels") { writer in for channel in channels { writer.write(element: channel) } }
      if ban { writer.write("ban", true) }
    }
    while !noWait, Self.state(answer) != "done" {
      try await Task.sleep(for: .milliseconds(200))
      answer = try services.answer("user_delete_status", user: user)
      guard ["waiting", "deleting", "done"].contains(Self.state(answer)) else {
        throw Complaint("the server knows nothing of this deletion any more: \(answer)")
      }
    }
    print(answer)
  }

  private static func state(_ answer: String) -> String? {
    (try? JSONValue(parsing: Array(answer.utf8)))?.object?["state"]?.string
  }
}
