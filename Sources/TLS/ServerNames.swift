/// Which certificate of several is for the name that a client asks for (SNI), by the rules of browsers (RFC 6125,
/// section 6.4, and RFC 9525): case does not count, and `*` is one whole label, the leftmost.
///
/// `*.example.com` is for `a.example.com`, and neither for `example.com` nor for `a.b.example.com`. A name of its own
/// goes before a wildcard, and the earlier certificate before the later one.
package struct ServerNames: Sendable {
  /// Of names of their own, in lower case.
  private var exact: [String: Int] = [:]
  /// Of wildcards: what follows `*.`, in lower case.
  private var wildcards: [String: Int] = [:]

  package init() {}

  /// Adds what a certificate is for. A name that no client could mean is left out, such as `w*.example.com`.
  ///
  /// - Returns: whether any of the names counts.
  @discardableResult
  package mutating func add(_ names: [String], certificate index: Int) -> Bool {
    var counts = false
    for name in names {
      let name = name.lowercased()
      let isWildcard = name.hasPrefix("*.")
      let rest = isWildcard ? String(name.dropFirst(2)) : name
      // Of a wildcard for a whole top-level domain, browsers think nothing.
      guard Self.isName(rest), !isWildcard || rest.contains(".") else { continue }
      counts = true
      if isWildcard {
        if wildcards[rest] == nil { wildcards[rest] = index }
      } else if exact[rest] == nil {
        exact[rest] = index
      }
    }
    return counts
  }

  /// The certificate for the name; nil where none is.
  package func certificate(for name: String) -> Int? {
    var name = name.lowercased()
    // A client may write the name as absolute, though SNI wants no dot at its end.
    if name.hasSuffix(".") { name.removeLast() }
    guard Self.isName(name) else { return nil }
    if let index = exact[name] { return index }
    guard let dot = name.firstIndex(of: ".") else { return nil }
    return wildcards[String(name[name.index(after: dot)...])]
  }

  /// Labels of letters, digits, hyphens and underscores, none of them empty.
  private static func isName(_ name: String) -> Bool {
    guard name.utf8.count <= 253 else { return false }
    return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
      (1...63).contains(label.count)
        && label.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
          default: false
          }
        }
    }
  }
}
