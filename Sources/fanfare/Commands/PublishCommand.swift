import ArgumentParser
import Foundation
import Settings
import Wire

struct PublishCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Publish on a channel, over ZeroMQ.",
    discussion: """
      Without DATA each line of standard input is one publication. Returns when the broker has acknowledged all of \
      them: on a durable channel they are on disk then.
      """)

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The channel.")
  var channel: String

  @Argument(help: "The payload: a JSON value, unless the channel's namespace takes any bytes.")
  var data: String?

  @Option(
    name: .long,
    help: "The same key publishes once within broker.idempotency_window; with standard input, line numbers are added.")
  var idempotencyKey: String?

  @Option(name: .long, help: ArgumentHelp("A tag; may be given more than once.", valueName: "key=value"))
  var tag: [String] = []

  @Flag(name: .shortAndLong, help: "Do not print the position of each publication.")
  var quiet = false

  func run() async throws {
    let client = try services.connect()
    let tags = try parsedTags()
    if let data {
      try publish([UInt8](data.utf8), key: idempotencyKey, tags: tags, with: client)
      try client.drain(report)
      return
    }
    var number = 0
    while let line = readLine(strippingNewline: true) {
      number += 1
      if line.isEmpty { continue }
      try publish([UInt8](line.utf8), key: idempotencyKey.map { "\($0)-\(number)" }, tags: tags, with: client)
      try client.takeAnswers(report)
    }
    try client.drain(report)
  }

  private func publish(_ data: [UInt8], key: String?, tags: [String: String], with client: ServiceClient) throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("channel", channel)
      if let key { writer.write("idempotency_key", key) }
      if !tags.isEmpty {
        writer.object("tags") { writer in
          for (name, value) in tags.sorted(by: { $0.key < $1.key }) { writer.write(named: name, value) }
        }
      }
    }
    try client.send("publish", writer.bytes, payload: data, report)
  }

  private func report(_ answer: [UInt8]) {
    if !quiet { print(String(decoding: answer, as: UTF8.self)) }
  }

  private func parsedTags() throws -> [String: String] {
    var tags: [String: String] = [:]
    for entry in tag {
      guard let equals = entry.firstIndex(of: "="), equals != entry.startIndex else {
        throw ValidationError("--tag \(entry): write key=value")
      }
      tags[String(entry[..<equals])] = String(entry[entry.index(after: equals)...])
    }
    return tags
  }
}

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Print what a channel keeps, one JSON line for each publication, over ZeroMQ.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The channel.")
  var channel: String

  @Option(name: .shortAndLong, help: "Most publications.")
  var limit: UInt32 = 100

  @Flag(name: .shortAndLong, help: "Newest first.")
  var reverse = false

  @Option(name: .long, help: ArgumentHelp("Begin after this position.", valueName: "epoch:offset"))
  var since: String?

  func run() async throws {
    let client = try services.connect()
    let position = try since.map(SincePosition.parse)
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("channel", channel)
      writer.write("limit", limit)
      writer.write("reverse", reverse)
      if let position {
        writer.object("since") { writer in
          writer.write("epoch", position.epoch)
          writer.write("offset", position.offset)
        }
      }
    }
    try client.send("history", writer.bytes, payload: nil, printPublications)
    try client.drain(printPublications)
  }

  /// The publications stand in the answer as JSON objects; each goes out as it came.
  private func printPublications(_ answer: [UInt8]) {
    for publication in (try? JSONValue(parsing: answer, levels: 3))?.object?["publications"]?.array ?? [] {
      print(publication.text)
    }
  }
}

/// A position as people write it on a command line.
enum SincePosition {
  static func parse(_ text: String) throws -> StreamPosition {
    guard let colon = text.lastIndex(of: ":"), let offset = UInt64(text[text.index(after: colon)...]) else {
      throw ValidationError("--since \(text): write epoch:offset, as a subscription prints them")
    }
    return StreamPosition(epoch: String(text[..<colon]), offset: offset)
  }
}
