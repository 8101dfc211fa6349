import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import fanfare

/// Each `fanfare …` that README.md and the pages of docs/ show is one that the program understands, and those that say
/// everything are run against a server.
@Suite("The commands in the documents", .ownThread)
struct ShownCommandTests {
  @Test("Each is understood: its command, its flags and its arguments")
  func understood() throws {
    var count = 0
    for document in try ShownCommand.documents() {
      for command in ShownCommand.all(in: try ShownCommand.text(document)) {
        count += 1
        #expect(command.fault == nil, "\(document): fanfare \(command.line): \(command.fault ?? "")")
      }
    }
    #expect(count >= 40)
  }

  @Test("A command or a flag that does not exist is found, in code of every kind; other words are not taken for one")
  func checker() {
    let text = """
      `fanfare serve` and `fanfare srve`, while fanfare itself is not code, nor is `the fanfare runs`.

          .build/release/fanfare publish news '{"a": "b c"}'   # says nothing
          KEY=$(fanfare keys create --nam billing --allow all --channels '*')

      ```sh
      fanfare history news --limit 3 | head
      fanfare history news --limit three
      ```
      | `fanfare disconnect` | x |
      """
    let commands = ShownCommand.all(in: text)
    #expect(
      commands.filter { $0.fault == nil }.map(\.words) == [
        ["serve"], ["publish", "news", #"{"a": "b c"}"#], ["history", "news", "--limit", "3"], ["disconnect"],
      ])
    #expect(
      commands.filter { $0.fault != nil }.map { $0.words.prefix(2).joined(separator: " ") } == [
        "srve", "keys create", "history news",
      ])
  }

  @Test("Those that say everything do what they say, in the server's folder, while it runs")
  func run() async throws {
    let configuration = try ShownCommand.text("config/fanfare.json")
    try await withTemporaryFolder { folder in
      let server = try await ServerProcess(
        in: folder.appendingPathComponent("data"), configuration: configuration)
      let outcome = try await Self.runAll(in: folder)
      let status = await server.terminate()
      #expect(status == 0, "\(server.errorOutput)")
      #expect(outcome >= 15)
    }
  }

  private static func runAll(in folder: URL) async throws -> Int {
    var done: Set<String> = []
    let program = try ServerProcess.executable().path
    for document in try ShownCommand.documents() {
      for command in ShownCommand.all(in: try ShownCommand.text(document)) where command.canBeRun {
        guard done.insert(command.words.joined(separator: " ")).inserted else { continue }
        let words = command.words.map { "'" + $0.replacingOccurrences(of: "'", with: #"'\''"#) + "'" }
        let line = "cd '\(folder.path)' && exec '\(program)' \(words.joined(separator: " ")) < /dev/null"
        let outcome = try await Command(named: "sh", ["-c", line]).run(deadline: .seconds(120))
        #expect(outcome.status == 0, "\(document): fanfare \(command.line): \(outcome.output)")
      }
    }
    return done.count
  }
}

/// A command of the program that a document shows.
struct ShownCommand {
  /// What follows `fanfare`, without quotation marks.
  let words: [String]

  var line: String { words.joined(separator: " ") }

  static func documents() throws -> [String] {
    ["README.md"]
      + (try ["docs", "docs/tutorials"].flatMap { folder in
        let path = ServerProcess.repository.appendingPathComponent(folder).path
        let pages = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".md") }
        return pages.sorted().map { "\(folder)/\($0)" }
      })
  }

  static func text(_ file: String) throws -> String {
    try String(contentsOf: ServerProcess.repository.appendingPathComponent(file), encoding: .utf8)
  }

  /// Commands in code spans, in fenced blocks and in indented lines.
  static func all(in text: String) -> [ShownCommand] {
    var commands: [ShownCommand] = []
    var prose = ""
    var isFenced = false
    func takeProse() {
      for (index, piece) in prose.components(separatedBy: "`").enumerated() where index % 2 == 1 {
        // A span may be wrapped over two lines.
        let span = piece.replacingOccurrences(of: "\n", with: " ")
        if span.hasPrefix("fanfare "), let command = ShownCommand(after: span.dropFirst(8)) { commands.append(command) }
      }
      prose = ""
    }
    for line in text.components(separatedBy: "\n") {
      if line.trimmingCharacters(in: .whitespaces).hasPrefix("```") {
        isFenced.toggle()
        takeProse()
      } else if isFenced || line.hasPrefix("    ") {
        takeProse()
        commands += inCode(line)
      } else {
        prose += line + "\n"
      }
    }
    takeProse()
    return commands
  }

  /// A command stands at the beginning of a line, perhaps with the folder of the build, or within `$(…)`.
  private static func inCode(_ line: String) -> [ShownCommand] {
    let line = line.trimmingCharacters(in: .whitespaces)
    let starts = ["fanfare ", ".build/release/fanfare ", "/usr/local/bin/fanfare "]
    if let start = starts.first(where: line.hasPrefix) {
      return [ShownCommand(after: line.dropFirst(start.count))].compactMap { $0 }
    }
    return starts.flatMap { line.components(separatedBy: "$(" + $0).dropFirst() }
      .compactMap { ShownCommand(after: $0[...]) }
  }

  /// Takes words up to what ends a command in a shell. Nil where it is none: `fanfare …`.
  private init?(after text: Substring) {
    var (words, word) = ([String](), "")
    var quote: Character?
    var isWord = false
    func end() {
      if isWord { words.append(word) }
      (word, isWord) = ("", false)
    }
    scan: for character in text {
      switch character {
      case quote: quote = nil
      case _ where quote != nil: word.append(character)
      case "'", "\"": (quote, isWord) = (character, true)
      case " ": end()
      case "|", ";", "&", ")", ">", "<": break scan
      case "#" where !isWord: break scan
      default:
        word.append(character)
        isWord = true
      }
    }
    end()
    guard let first = words.first, first.utf8.allSatisfy({ (0x61...0x7A).contains($0) }), first != "runs" else {
      return nil
    }
    self.words = words
  }

  /// Why the program does not understand it; nil where it does. Words that stand for others (`CHANNEL…`) are taken as they
  /// are, and a command that is only named need not say what it is to do.
  var fault: String? {
    guard let error = Self.error(of: words) else { return nil }
    // "--help" makes everything valid, what is no command too.
    if let first = words.first, Self.error(of: [first])?.contains("'\(first)'") == true { return error }
    if words.allSatisfy({ !$0.hasPrefix("-") }), Self.error(of: words + ["--help"]) == nil { return nil }
    return error
  }

  private static func error(of words: [String]) -> String? {
    do {
      _ = try Fanfare.parseAsRoot(words)
      return nil
    } catch {
      return Fanfare.exitCode(for: error).isSuccess ? nil : Fanfare.message(for: error)
    }
  }

  /// What runs until it is ended, what asks the internal port of a server for somebody who is there, and what needs a log
  /// in PostgreSQL.
  private static let notRun: Set<String> = [
    "serve", "broker", "gateway", "subscribe", "help", "top", "inspect", "explain", "why", "user", "webhooks",
    "cluster",
  ]

  /// Whether it can be run beside a server in its folder: it names nothing that is to be put in, nothing elsewhere, and
  /// ends by itself.
  var canBeRun: Bool {
    guard let first = words.first, !Self.notRun.contains(first) else { return false }
    if words.contains(where: { ["--config", "--endpoint", "--url"].contains($0) }) { return false }
    if ["keys", "config"].contains(first), words.count < 2 { return false }
    let isWhole = (try? Fanfare.parseAsRoot(words)) != nil
    // FILE, CHANNEL… and [DATA] stand for something; so do names that are written in capitals.
    return isWhole
      && !words.contains { word in
        word.contains("…") || word.contains("[")
          || word.count > 1 && word.utf8.allSatisfy { (0x41...0x5A).contains($0) }
      }
  }
}
