extension Settings.Server {
  /// Whether only this machine reaches the port for clients.
  public var isOnLoopback: Bool { ZeroMQEndpoint.isLoopback(host[...]) }
}

extension Settings.Admin {
  /// Whether only programs of this machine reach the port.
  public var isOnLoopback: Bool { ZeroMQEndpoint.isLoopback(host[...]) }
}

extension Settings.Backbone {
  /// Whether the endpoint is one that nobody but this very process reaches.
  public var isInProcess: Bool { ZeroMQEndpoint(endpoint)?.isInProcess ?? false }
}

/// A ZeroMQ endpoint that a configuration may name.
struct ZeroMQEndpoint {
  /// Longest path of a Unix socket that systems take, in bytes.
  static let maximumPathBytes = 107

  /// Whether only this machine reaches the endpoint.
  let isLocal: Bool
  /// Whether nobody but this very process reaches the endpoint.
  private(set) var isInProcess = false

  /// - Returns: nil where the text is no endpoint.
  init?(_ text: String) {
    if text.hasPrefix("ipc://") {
      let path = text.dropFirst(6)
      guard !path.isEmpty, path.utf8.count <= Self.maximumPathBytes else { return nil }
      self.isLocal = true
    } else if text.hasPrefix("tcp://") {
      let address = text.dropFirst(6)
      guard let colon = address.lastIndex(of: ":") else { return nil }
      let host = address[..<colon]
      let port = address[address.index(after: colon)...]
      guard !host.isEmpty, port == "*" || Self.isPort(port) else { return nil }
      self.isLocal = Self.isLoopback(host)
    } else if text.hasPrefix("inproc://"), text.utf8.count > 9 {
      self.isLocal = true
      isInProcess = true
    } else {
      return nil
    }
  }

  static func advice(_ text: String) -> String {
    "is \(SettingKey.quote(text)); write tcp://address:port or ipc://file (a path of at most \(maximumPathBytes) bytes)"
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int(text).map { (1...65535).contains($0) } == true
  }

  /// Whether a host is this machine: `localhost`, `::1`, and all of 127.0.0.0/8, but no name that only begins like it.
  static func isLoopback(_ host: Substring) -> Bool {
    if host == "localhost" || host == "[::1]" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127"
      && parts.allSatisfy { part in part.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(part) != nil }
  }
}
