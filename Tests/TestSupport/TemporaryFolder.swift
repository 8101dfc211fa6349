public import Foundation

/// A new folder of a test's own, which is removed, with all that is in it, when the last reference goes.
///
/// Whoever keeps files beside a value holds one of these. Where the folder must outlast what is awaited, such as a server
/// that was started in it, ``withTemporaryFolder(_:)`` bounds its life instead.
public final class TemporaryFolder: Sendable {
  public let url: URL

  public var path: String { url.path }

  public init() throws {
    // The name is short, because an ipc:// path of more than 107 bytes cannot be bound.
    let name = "fanfare-\(UUID().uuidString.prefix(8))"
    url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    // The mode is the one that a server requires of its data folder. A folder that is there already is somebody else's.
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}

/// Calls `body` with a new folder, which is removed when it has returned or thrown.
public func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = try TemporaryFolder()
  defer { withExtendedLifetime(folder) {} }
  return try await body(folder.url)
}
