import Foundation

/// The files of the trusted clock in the data folder: the last time seen, and a person's confirmation.
///
///     clock.seen       {"wall": …, "boot": …, "bootID": …, "isWaiting": …}
///     clock.confirmed  what the machine's clock said when it was confirmed, in milliseconds since 1970
public struct ClockFiles: Sendable {
  public let folder: String
  let seen: String
  let confirmed: String

  /// - Parameter name: what the files' names begin with. Processes that share the folder have different ones.
  public init(folder: String, name: String = "clock") {
    self.folder = folder
    seen = name + ".seen"
    confirmed = name + ".confirmed"
  }

  /// The last time that a process before this one has seen; nil: the file does not exist.
  ///
  /// - Throws: ``VaultFault`` where the file cannot be read or is damaged.
  public func mark() throws -> TrustedClock.Mark? {
    guard let bytes = try KeyFile(folder: folder, name: seen).read() else { return nil }
    do { return try JSONDecoder().decode(TrustedClock.Mark.self, from: Data(bytes)) } catch {
      throw VaultFault.damaged(path: folder + "/" + seen)
    }
  }

  func save(_ mark: TrustedClock.Mark) throws {
    try KeyFile(folder: folder, name: seen).replace(with: Array(try JSONEncoder().encode(mark)))
  }

  /// Writes down that a person says that the machine's clock is right.
  ///
  /// - Parameter wall: what the machine's clock says now, in milliseconds since 1970.
  public func confirm(_ wall: Int64) throws {
    try KeyFile(folder: folder, name: confirmed).replace(with: Array("\(wall)\n".utf8))
  }

  public var isConfirmationWaiting: Bool { FileManager.default.fileExists(atPath: folder + "/" + confirmed) }

  /// Takes a confirmation that was made since the last call: what the machine's clock said then, in milliseconds since
  /// 1970.
  func takeConfirmation() -> Int64? {
    guard isConfirmationWaiting else { return nil }
    let bytes = try? KeyFile(folder: folder, name: confirmed).read()
    try? FileManager.default.removeItem(atPath: folder + "/" + confirmed)
    return bytes.flatMap { Int64(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)) }
  }
}

/// Writes times for people to read.
public enum ClockText {
  /// `2026-11-22 14:05:00 UTC`.
  public static func moment(_ milliseconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    return date.ISO8601Format(.iso8601(timeZone: .gmt, dateTimeSeparator: .space)).replacing("Z", with: " UTC")
  }
}
