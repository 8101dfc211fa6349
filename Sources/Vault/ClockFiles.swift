import Foundation

/// What the trusted clock keeps in the data folder: the last time seen, and what a person has confirmed.
///
///     clock.seen       {"wall": …, "boot": …, "bootID": …, "isWaiting": …}
///     clock.confirmed  what the machine's clock said when it was confirmed, in milliseconds since 1970
public struct ClockFiles: Sendable {
  public let folder: String
  let seen: String
  let confirmed: String

  /// - Parameter name: a process that shares the folder with others has one of its own.
  public init(folder: String, name: String = "clock") {
    self.folder = folder
    seen = name + ".seen"
    confirmed = name + ".confirmed"
  }

  /// Nil where there is none.
  public func mark() throws -> TrustedClock.Mark? {
    guard let bytes = try KeyFile(folder: folder, name: seen).read() else { return nil }
    do { return try JSONDecoder().decode(TrustedClock.Mark.self, from: Data(bytes)) } catch {
      throw VaultFault.damaged(path: folder + "/" + seen)
    }
  }

  func save(_ mark: TrustedClock.Mark) throws {
    try KeyFile(folder: folder, name: seen).replace(with: Array(try JSONEncoder().encode(mark)))
  }

  /// A person says that the machine's clock is right, which says this now.
  public func confirm(_ wall: Int64) throws {
    try KeyFile(folder: folder, name: confirmed).replace(with: Array("\(wall)\n".utf8))
  }

  public var isConfirmationWaiting: Bool { FileManager.default.fileExists(atPath: folder + "/" + confirmed) }

  /// What was confirmed since it was asked for last.
  func takeConfirmation() -> Int64? {
    guard isConfirmationWaiting else { return nil }
    let bytes = try? KeyFile(folder: folder, name: confirmed).read()
    try? FileManager.default.removeItem(atPath: folder + "/" + confirmed)
    return bytes.flatMap { Int64(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)) }
  }
}

/// Times for people.
public enum ClockText {
  /// `2026-11-22 14:05:00 UTC`.
  public static func moment(_ milliseconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    return date.ISO8601Format(.iso8601(timeZone: .gmt, dateTimeSeparator: .space)).replacing("Z", with: " UTC")
  }
}
