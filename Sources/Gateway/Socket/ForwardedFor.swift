import Wire

/// Whose request it is, by the `X-Forwarded-For` headers that proxies write.
///
/// Each proxy appends the address that it was asked from, so the list is to be read from its end: an address counts as
/// long as the proxy that wrote it is trusted, and the first that is no trusted proxy is the client's. What stands
/// before it came from the client, who may write anything.
enum ForwardedFor {
  /// Proxies in a row that are followed at most.
  private static let mostHops = 16

  /// Nil where the headers say nothing that can be believed.
  static func client(in headers: [String], trusts: (IPAddress) -> Bool) -> IPAddress? {
    var found: IPAddress?
    var hops = 0
    for header in headers.reversed() {
      // Entry by entry from the end, by bytes: the client chooses how many stand before those that count.
      var rest: Substring? = header[...]
      while let list = rest {
        let comma = list.utf8.lastIndex(of: UInt8(ascii: ","))
        let entry = comma.map { list[list.utf8.index(after: $0)...] } ?? list
        rest = comma.map { list[..<$0] }
        hops += 1
        guard hops <= mostHops, let address = address(entry) else { return found }
        found = address
        if !trusts(address) { return address }
      }
    }
    return found
  }

  /// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`, with spaces around.
  private static func address(_ entry: Substring) -> IPAddress? {
    let text = entry.trimmingSpaces()
    let bytes = text.utf8
    if bytes.first == UInt8(ascii: "[") {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      let after = text[bytes.index(after: end)...]
      guard after.isEmpty || isPort(after) else { return nil }
      return IPAddress(text[bytes.index(after: bytes.startIndex)..<end])
    }
    let mark = UInt8(ascii: ":")
    if let colon = bytes.firstIndex(of: mark), bytes.lastIndex(of: mark) == colon {
      return isPort(text[colon...]) ? IPAddress(text[..<colon]) : nil
    }
    return IPAddress(text)
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.utf8.first == UInt8(ascii: ":") && (2...6).contains(text.utf8.count)
      && text.utf8.dropFirst().allSatisfy { (48...57).contains($0) }
  }
}
