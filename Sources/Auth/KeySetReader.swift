import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Reads the bytes of a key set, bounded in size and time.
enum KeySetReader {
  enum Fault: Error, Equatable, CustomStringConvertible {
    case tooLarge
    case timedOut
    case status(Int)
    case unreadable(String)

    var description: String {
      switch self {
      case .tooLarge: "the key set is larger than \(KeySetSource.maximumBytes) bytes"
      case .timedOut: "the key set's address did not answer in time"
      case .status(let code): "the key set's address answered with status \(code) instead of 200"
      case .unreadable(let detail): "the key set cannot be read: \(detail)"
      }
    }
  }

  static func file(_ path: String) throws(Fault) -> [UInt8] {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw .unreadable("the file does not exist or may not be read")
    }
    defer { try? handle.close() }
    do {
      let data = try handle.read(upToCount: KeySetSource.maximumBytes + 1) ?? Data()
      guard data.count <= KeySetSource.maximumBytes else { throw Fault.tooLarge }
      return Array(data)
    } catch let fault as Fault {
      throw fault
    } catch {
      throw .unreadable("reading the file failed")
    }
  }

  static func url(_ url: URL, timeout: Duration) async throws -> [UInt8] {
    let download = BoundedDownload(limit: KeySetSource.maximumBytes)
    return try await withThrowingTaskGroup(of: [UInt8].self) { group in
      group.addTask { try await download.run(url, timeout: timeout) }
      // URLSession's own timeouts count from the last byte: a source that sends one byte at a time would never reach
      // them.
      group.addTask {
        try await Task.sleep(for: timeout)
        throw Fault.timedOut
      }
      defer { group.cancelAll() }
      guard let bytes = try await group.next() else { throw Fault.timedOut }
      return bytes
    }
  }

  /// The address as a URL; nil where a key set must not be fetched from it.
  static func acceptable(_ address: String) -> URL? {
    guard let url = URL(string: address), let host = url.host, !host.isEmpty, url.user == nil else { return nil }
    switch url.scheme?.lowercased() {
    case "https": return url
    case "http": return ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) ? url : nil
    default: return nil
    }
  }
}
