import Foundation
import TestSupport

/// The file of a master key, which brokers of several partitions need.
enum MasterKeyFile {
  /// Writes one that its owner alone may read.
  ///
  /// - Returns: its path.
  static func make(in folder: URL) throws -> String {
    let path = folder.appendingPathComponent("master.key").path
    let isMade = FileManager.default.createFile(
      atPath: path, contents: Data((String(repeating: "0f", count: 32) + "\n").utf8),
      attributes: [.posixPermissions: 0o600])
    if !isMade { throw Failure("\(path) cannot be written") }
    return path
  }
}
