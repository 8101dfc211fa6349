import Foundation

/// A folder that is deleted when nothing refers to it any more.
final class TemporaryFolder: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("fanfare-micro-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: url) }
}
