import ArgumentParser
import Console
import Foundation
import Settings
import Wire

struct WhyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "why", abstract: "Say whether a publication reached a user, to which connection, and why not.",
    discussion: """
      The publication is named by its channel and its offset, as history and clients show it:

        fanfare why --user 42 chat:7 4711

      Gateways remember for a day which offsets each subscription stood for (the settings under why). "Delivered" means \
      that it was written to the connection's socket: whether the client did something with it, the server does not know.
      """)

  @OptionGroup var services: ServiceOptions

  @Option(name: .long, help: "The user.")
  var user: String

  @Argument(help: "The channel.")
  var channel: String

  @Argument(help: "The publication's offset.")
  var offset: UInt64

  @Option(name: .long, help: "The epoch of the offset; the channel's present one where it is left out.")
  var epoch: String?

  @Flag(name: .long, help: "Print the answer as JSON, in one line.")
  var json = false

  func run() async throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("user", user)
      writer.write("channel", channel)
      writer.write("offset", offset)
      if let epoch { writer.write("epoch", epoch) }
    }
    let answer = try services.answer(to: "why", writer.bytes)
    print(try json ? String(decoding: answer, as: UTF8.self) : Self.text(answer))
  }

  /// The answer for people: the sentence, then one line for each subscription, for what became of notifications, and for
  /// each note.
  private static func text(_ answer: [UInt8]) throws -> String {
    guard let fields = (try? JSONValue(parsing: answer))?.object, let sentence = fields["sentence"]?.string else {
      throw Complaint("the broker's answer cannot be read; is it of the same version as this command?")
    }
    var lines = [sentence]
    for subscription in fields["subscriptions"]?.array ?? [] {
      guard let sentence = subscription.object?["sentence"]?.string else { continue }
      lines.append("  - \(sentence)")
    }
    if let notifications = fields["notifications"]?.object { lines += Self.lines(notifications) }
    for note in fields["notes"]?.array ?? [] {
      if let sentence = note.string { lines.append("  (\(sentence))") }
    }
    return lines.map(\.visible).joined(separator: "\n")
  }

  /// What became of the user's notifications about the channel.
  private static func lines(_ fields: JSONObject) -> [String] {
    func time(_ value: JSONValue?) -> String {
      let milliseconds = value.flatMap { Int64($0.text) } ?? 0
      return Date(timeIntervalSince1970: TimeInterval(milliseconds / 1000)).ISO8601Format()
    }
    var lines: [String] = []
    if fields["devices"]?.array?.isEmpty ?? true { lines.append("  * the user has no device that is notified") }
    for line in fields["lines"]?.array?.compactMap(\.object) ?? [] {
      let devices = line["devices"]?.array?.compactMap(\.string) ?? []
      let which = devices.isEmpty ? "" : " (\(devices.joined(separator: ", ")))"
      let until = line["until"].map { ", until \(time($0))" } ?? ""
      lines.append("  * notification, \(time(line["time"])): \(line["text"]?.string ?? "")\(until)\(which)")
    }
    for subject in fields["subjects"]?.array?.compactMap(\.object) ?? [] {
      let due = subject["due"].map { ", looked at again at \(time($0))" } ?? ""
      lines.append("  * notification now: \(subject["state"]?.string ?? "")\(due)")
    }
    return lines
  }
}
