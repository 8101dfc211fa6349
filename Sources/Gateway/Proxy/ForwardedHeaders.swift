import NIOHTTP1

/// What is kept of a client's upgrade request for the backend: listed headers alone, no more than some bytes.
enum ForwardedHeaders {
  /// Bytes of names and values of one client. What does not fit is left out, and the backend, which sees no session, says
  /// no.
  static let mostBytes = 8192

  /// - Parameter names: in lower case.
  static func chosen(_ names: [String], from headers: HTTPHeaders) -> [BackendHeader] {
    var chosen: [BackendHeader] = []
    var bytes = 0
    for name in names {
      let values = headers[name].filter { $0.utf8.allSatisfy(isPlain) }
      guard !values.isEmpty else { continue }
      // Several lines of one name are one list (RFC 9110, section 5.3); cookies have a separator of their own.
      let value = values.joined(separator: name == "cookie" ? "; " : ", ")
      let size = name.utf8.count + value.utf8.count
      guard bytes + size <= mostBytes else { continue }
      bytes += size
      chosen.append(BackendHeader(name: name, value: value))
    }
    return chosen
  }

  /// Whether the byte may stand in a value that is sent on: no control character but the tab.
  private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }
}
