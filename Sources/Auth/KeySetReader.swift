import Foundation
import HTTPClient

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

  /// Fetches a key set over HTTP.
  ///
  /// - Parameter client: one of ``client(for:)``'s.
  static func url(_ address: String, by client: HTTPClient, timeout: Duration) async throws(Fault) -> [UInt8] {
    let call = HTTPCall(
      method: "GET", url: address, headers: [(name: "Accept", value: "application/json")],
      timeoutMilliseconds: Int(min(timeout / .milliseconds(1), 86_400_000).rounded(.up)))
    let result = await withCheckedContinuation { waiting in client.send(call) { waiting.resume(returning: $0) } }
    switch result {
    case .success(let reply) where reply.status == 200: return reply.body
    case .success(let reply): throw .status(reply.status)
    case .failure(.tooLarge): throw .tooLarge
    case .failure(.timedOut): throw .timedOut
    // No error says the address, whose query may hold a secret.
    case .failure(let error): throw .unreadable(error.description)
    }
  }

  /// What fetches so many key sets. The operator named their addresses, so private ones are called too.
  static func client(for sources: Int) -> HTTPClient {
    HTTPClient(
      HTTPClient.Limits(
        connections: sources, connectionsPerHost: sources, waiting: sources, replyBytes: KeySetSource.maximumBytes,
        allowsPrivateAddresses: true),
      name: "key sets", userAgent: "Fanfare")
  }

  /// The address as it is called; nil where a key set must not be fetched from it.
  static func acceptable(_ address: String) -> String? {
    guard let url = URL(string: address), let host = url.host, !host.isEmpty, url.user == nil else { return nil }
    switch url.scheme?.lowercased() {
    case "https": return url.absoluteString
    case "http": return ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) ? url.absoluteString : nil
    default: return nil
    }
  }
}
