import CLinuxIO

/// Where a URL leads: scheme, host, port, path, and the socket address that the host's name gave.
struct ServerAddress: Sendable, Equatable {
  var url: String
  var isSecure: Bool
  var isWebSocket: Bool
  var host: String
  var port: UInt16
  /// From the slash on, with the query.
  var path: String
  /// A `sockaddr`, as bytes.
  var socketAddress: [UInt8]

  /// Reads the URL and looks up the name.
  init(_ url: String) throws(BenchError) {
    self.url = url
    let schemes: [String: (secure: Bool, webSocket: Bool, port: UInt16)] = [
      "ws": (false, true, 80), "wss": (true, true, 443), "http": (false, true, 80), "https": (true, true, 443),
      "tcp": (false, false, 0), "tls": (true, false, 0),
    ]
    guard let colon = url.firstRange(of: "://"), let scheme = schemes[url[..<colon.lowerBound].lowercased()] else {
      throw BenchError("\(url) is not an address: it has to begin with ws://, wss://, tcp:// or tls://")
    }
    (isSecure, isWebSocket) = (scheme.secure, scheme.webSocket)
    let rest = url[colon.upperBound...]
    let slash = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    path = rest[slash...].hasPrefix("/") ? String(rest[slash...]) : "/" + rest[slash...]
    var authority = rest[..<slash]
    var port = scheme.port
    if let mark = authority.lastIndex(of: ":"), !authority[mark...].contains("]") {
      guard let number = UInt16(authority[authority.index(after: mark)...]) else {
        throw BenchError("\(url) has no valid port")
      }
      port = number
      authority = authority[..<mark]
    }
    host = String(authority.drop { $0 == "[" }.prefix { $0 != "]" })
    guard !host.isEmpty, port != 0 else { throw BenchError("\(url) lacks a host or a port") }
    self.port = port
    let (name, number) = (host, String(port))
    var bytes = [UInt8](repeating: 0, count: 28)
    let length = unsafe bytes.withUnsafeMutableBytes {
      unsafe linuxio_resolve(name, number, $0.baseAddress, Int32($0.count))
    }
    guard length > 0 else { throw BenchError("\(host) has no address: is the name right, and does DNS work here?") }
    socketAddress = Array(bytes.prefix(Int(length)))
  }

  /// On this machine, over IPv4, where 127.0.0.0/8 holds addresses enough to connect from.
  var isLoopback: Bool { socketAddress.count == 16 && socketAddress[4] == 127 }
}

extension StringProtocol {
  fileprivate func firstRange(of text: String) -> Range<Index>? {
    var place = startIndex
    while place < endIndex {
      if self[place...].hasPrefix(text) { return place..<index(place, offsetBy: text.count) }
      place = index(after: place)
    }
    return nil
  }
}
