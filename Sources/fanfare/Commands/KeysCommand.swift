import ArgumentParser
import Auth
import Foundation
import Settings
import Wire

/// The keys of the server API, in the data folder: while the server runs, or before it starts.
struct KeysCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "Make, list and delete keys of the server API.",
    discussion: """
      Each backend gets a key of its own, which may do what it says and no more. The server keeps no key, only its \
      digest. Run this on the server's machine, with the server's configuration and as its user; a server that runs \
      takes what has changed within a second.
      """,
    subcommands: [Create.self, List.self, Delete.self])

  /// Runs what may fail with a sentence about keys or their file.
  private static func complaining<Result>(_ body: () throws(APIKeyFault) -> Result) throws -> Result {
    do throws(APIKeyFault) { return try body() } catch { throw Complaint("\(error)") }
  }

  private static func note(_ sentence: String) {
    FileHandle.standardError.write(Data("\(sentence)\n".utf8))
  }

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a key: it alone goes to standard output, and is shown this once.",
      discussion: """
        For example: fanfare keys create --name billing --allow publish,presence --channels 'chat:*'

        Methods are those of the server API. Of the groups, \(groups); all is all of them.
        """)

    private static var groups: String {
      APIMethod.Group.allCases.filter { $0 != .all }.map { group in
        "\(group.rawValue) is \(group.methods.map(\.rawValue).joined(separator: ", "))"
      }.joined(separator: "; ")
    }

    @OptionGroup var options: SettingsOptions

    @Option(name: .long, help: "The key's name: 1 to 64 ASCII characters without spaces.")
    var name: String

    @Option(
      name: .long,
      help: """
        What it may do: methods, or the groups read, write, control, inspect, webhooks, privacy, support, push, all; with \
        commas, or given more than once.
        """)
    var allow: [String]

    @Option(
      name: .long,
      help: ArgumentHelp(
        "On which channels: names, or beginnings and *; with commas (but for names with #), or given more than once.",
        discussion: "* means all but the apps' channels, which have to be named: clique.*"))
    var channels: [String] = []

    func validate() throws {
      let grant = try grant()
      if grant.allow.isEmpty { throw ValidationError("say what the key may do: --allow publish,presence") }
      if grant.needsChannels && grant.channels.isEmpty {
        throw ValidationError("say on which channels: --channels 'chat:*', or --channels '*' for all but the apps'")
      }
    }

    func run() async throws {
      let folder = try options.load().data.directory
      let grant = try grant()
      try DataFolderSetup.create(folder)
      let now = Int64(Date().timeIntervalSince1970)
      let text = try KeysCommand.complaining { () throws(APIKeyFault) in
        try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
          try keys.create(name: name, grant: grant, at: now)
        }
      }
      print(text)
      KeysCommand.note("made the key \(name), which is shown this once: keep it where your backend keeps its secrets")
    }

    private func grant() throws -> APIGrant {
      let words = allow.flatMap(KeysCommand.listed)
      // A channel that is limited to users has commas in its name: dm:x#42,43.
      let patterns = channels.flatMap { $0.contains("#") ? [$0] : KeysCommand.listed($0) }
      do throws(APIGrant.Invalid) { return try APIGrant(allow: words, channels: patterns) } catch {
        throw ValidationError("\(error)")
      }
    }
  }

  /// The parts of a list with commas.
  private static func listed(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Say which keys there are, what each may do, and when it was made.")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      let folder = try options.load().data.directory
      let keys = try KeysCommand.complaining { () throws(APIKeyFault) in try APIKeys.load(from: folder).keys }
      for key in keys {
        let (allow, channels) = (key.grant.allow, key.grant.channels)
        var line = "\(key.name): \(allow.isEmpty ? "nothing" : allow.joined(separator: ","))"
        if !channels.isEmpty { line += " on \(channels.map(\.description).joined(separator: ","))" }
        print("\(line), made \(key.createdAt ?? "at an unknown time")")
      }
      if keys.isEmpty { KeysCommand.note("there are no keys in \(folder) yet; make one with: fanfare keys create") }
    }
  }

  struct Delete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete a key: a server that runs refuses it within a second.")

    @OptionGroup var options: SettingsOptions

    @Argument(help: "The key's name, as it was given to 'keys create'.")
    var name: String

    func run() async throws {
      let folder = try options.load().data.directory
      try KeysCommand.complaining { () throws(APIKeyFault) in
        try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in try keys.delete(name) }
      }
      print("deleted the key \(name)")
    }
  }
}
