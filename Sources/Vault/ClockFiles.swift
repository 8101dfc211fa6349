import Foundation

/// The files of the trusted clock in the data folder: the last time seen, a person's confirmation, and the mark of a test
/// server's clock.
///
///     clock.seen       {"wall": …, "boot": …, "bootID": …, "isWaiting": …}
///     clock.confirmed  what the machine's clock said when it was confirmed, in milliseconds since 1970
///     clock.moved      the latest time that was counted by a clock that can be moved, in milliseconds since 1970
public struct ClockFiles: Sendable {
  public let folder: String
  let seen: String
  let confirmed: String
  let moved: String

  /// - Parameter name: what the files' names begin with. Processes that share the folder have different ones.
  public init(folder: String, name: String = "clock") {
    self.folder = folder
    seen = name + ".seen"
    confirmed = name + ".confirmed"
    moved = name + ".moved"
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

  // MARK: A clock that can be moved

  /// The latest time that a clock which can be moved has counted in this folder, in milliseconds since 1970; nil: there is
  /// no such mark (``MovedClock/Start``).
  ///
  /// - Throws: ``VaultFault`` where the file cannot be read.
  public func latestMoved() throws(VaultFault) -> Int64? {
    guard let bytes = try KeyFile(folder: folder, name: moved).read() else { return nil }
    // A mark that names no time is one all the same: the folder is a test server's.
    return Int64(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
  }

  /// Marks the folder as one of a clock that can be moved. The mark never goes back: what an earlier process made may bear
  /// times up to it.
  ///
  /// - Parameter latest: the time that is counted, in milliseconds since 1970.
  /// - Throws: ``VaultFault`` where the file cannot be read or written. The mark is as it was then.
  public func markMoved(_ latest: Int64) throws(VaultFault) {
    if let known = try latestMoved(), known >= latest { return }
    try KeyFile(folder: folder, name: moved).replace(with: Array("\(latest)\n".utf8))
  }

  public func removeMovedMark() { try? FileManager.default.removeItem(atPath: folder + "/" + moved) }
}

/// Writes times for people to read.
public enum ClockText {
  /// `2026-11-22 14:05:00 UTC`.
  public static func moment(_ milliseconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    return date.ISO8601Format(.iso8601(timeZone: .gmt, dateTimeSeparator: .space)).replacing("Z", with: " UTC")
  }
}
