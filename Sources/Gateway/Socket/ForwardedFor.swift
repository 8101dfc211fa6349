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
      for entry in header.split(separator: ",", omittingEmptySubsequences: false).reversed() {
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
    var text = entry
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { return nil }
      let after = text[text.index(after: end)...]
      guard after.isEmpty || isPort(after) else { return nil }
      return IPAddress(text[text.index(after: text.startIndex)..<end])
    }
    if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
      return isPort(text[colon...]) ? IPAddress(text[..<colon]) : nil
    }
    return IPAddress(text)
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.first == ":" && (2...6).contains(text.utf8.count)
      && text.dropFirst().utf8.allSatisfy { (48...57).contains($0) }
  }
}
