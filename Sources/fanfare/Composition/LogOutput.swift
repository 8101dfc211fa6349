import Foundation
import Logging
import Settings
import Wire

/// Log lines on standard error, as text for people or as JSON for machines.
enum LogOutput {
  static func logger(for settings: Settings.Log) -> Logger {
    var logger = Logger(label: "fanfare") { _ in LineHandler(asJSON: settings.format == .json) }
    logger.logLevel = Logger.Level(rawValue: settings.level) ?? .info
    return logger
  }

  private struct LineHandler: LogHandler {
    let asJSON: Bool
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
      let time = Date().ISO8601Format(.iso8601(timeZone: .gmt, includingFractionalSeconds: true))
      var writer = JSONWriter()
      if asJSON {
        writer.object { writer in
          writer.write("time", time)
          writer.write("level", event.level.rawValue)
          writer.write("message", event.message.description)
          for (key, value) in all { writer.write(named: key, value.description) }
        }
        return Self.write(String(decoding: writer.bytes, as: UTF8.self))
      }
      let fields = all.map { " \($0.key)=\(Self.quoted($0.value.description))" }.joined()
      Self.write("\(time) \(event.level.rawValue) \(Self.escaped(event.message.description))\(fields)")
    }

    private static func quoted(_ value: String) -> String {
      let needsQuotes = value.isEmpty || value.contains { $0 == " " || $0 == "\"" || $0 == "=" }
      return needsQuotes ? "\"\(escaped(value).replacing("\"", with: "\\\""))\"" : escaped(value)
    }

    /// The text with control characters escaped: a client's string must not forge a line or steer a terminal.
    private static func escaped(_ text: String) -> String {
      guard
        text.unicodeScalars.contains(where: {
          $0.value < 0x20 || $0.value == 0x7F || $0.properties.generalCategory == .format
        })
      else { return text }
      return text.unicodeScalars.map { scalar in
        scalar.value < 0x20 || scalar.value == 0x7F || scalar.properties.generalCategory == .format
          ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
      }.joined()
    }

    private static func write(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }
  }
}
