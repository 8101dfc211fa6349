/// An IP address by value, in the one form in which limits and lists compare them: an IPv4 address that came mapped
/// into IPv6 (`::ffff:192.0.2.1`, as a socket that listens for both gives it) is the IPv4 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The upper half of 128 bits, in the order of the text; IPv4 is mapped into IPv6.
  let high: UInt64
  let low: UInt64

  private static let mapped: UInt64 = 0xFFFF

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public init(v4: UInt32) { self.init(high: 0, low: Self.mapped << 32 | UInt64(v4)) }

  /// An address from its bytes; nil where there are neither 4 nor 16 of them.
  public init?(networkBytes bytes: some Collection<UInt8>) {
    switch bytes.count {
    case 4: self.init(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    case 16:
      self.init(
        high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
        low: bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) })
    default: return nil
    }
  }

  public var isIPv4: Bool { high == 0 && low >> 32 == Self.mapped }

  /// Whether the address is in 127.0.0.0/8, or ::1.
  public var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

  /// The address by which limits count: an IPv4 address itself, and of an IPv6 address its /64, all of which one
  /// household or one rented machine may use as it likes.
  public var limited: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }

  // MARK: Text

  /// Reads `192.0.2.1` or `2001:db8::1`; nil where anything stands around it.
  public init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    guard bytes.count <= 45 else { return nil }
    if !bytes.contains(UInt8(ascii: ":")) {
      guard let v4 = Self.parseIPv4(bytes[...]) else { return nil }
      self.init(v4: v4)
    } else {
      guard let groups = Self.parseIPv6(bytes) else { return nil }
      self.init(
        high: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) }, low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) })
    }
  }

  private static func parseIPv4(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var address: UInt32 = 0
    for part in parts {
      // No leading zeros: some readers take them for octal, and then two readers of one text mean two addresses.
      guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
      var value: UInt32 = 0
      for byte in part {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        value = value * 10 + UInt32(byte - UInt8(ascii: "0"))
      }
      guard value <= 255 else { return nil }
      address = address << 8 | value
    }
    return address
  }

  /// The eight groups of a text, with those that `::` leaves out filled in (RFC 4291, section 2.2).
  private static func parseIPv6(_ bytes: [UInt8]) -> [UInt16]? {
    let colon = UInt8(ascii: ":")
    let gap = bytes.indices.dropLast().first { bytes[$0] == colon && bytes[$0 + 1] == colon }
    guard let gap else {
      guard let groups = parseGroups(bytes[...]), groups.count == 8 else { return nil }
      return groups
    }
    // An IPv4 tail is at the end alone, so not before the gap.
    guard let head = parseGroups(bytes[..<gap], allowsIPv4Tail: false), let tail = parseGroups(bytes[(gap + 2)...]),
      head.count + tail.count <= 7
    else { return nil }
    return head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
  }

  private static func parseGroups(_ bytes: ArraySlice<UInt8>, allowsIPv4Tail: Bool = true) -> [UInt16]? {
    if bytes.isEmpty { return [] }
    let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count <= 8 else { return nil }
    var groups: [UInt16] = []
    for (index, part) in parts.enumerated() {
      if allowsIPv4Tail, index == parts.count - 1, part.contains(UInt8(ascii: ".")) {
        guard let v4 = parseIPv4(part) else { return nil }
        groups += [UInt16(truncatingIfNeeded: v4 >> 16), UInt16(truncatingIfNeeded: v4)]
      } else {
        guard (1...4).contains(part.count), let group = UInt16(String(decoding: part, as: UTF8.self), radix: 16),
          part.first != UInt8(ascii: "+"), part.first != UInt8(ascii: "-")
        else { return nil }
        groups.append(group)
      }
    }
    return groups
  }

  /// The text for log lines: IPv6 in eight groups, with the longest row of zeros as `::` (RFC 5952).
  public var description: String {
    if isIPv4 { return [24, 16, 8, 0].map { String(low >> $0 & 0xFF) }.joined(separator: ".") }
    let groups = [48, 32, 16, 0].map { high >> $0 & 0xFFFF } + [48, 32, 16, 0].map { low >> $0 & 0xFFFF }
    var longest = 0..<0
    var start = 0
    while start < 8 {
      var end = start
      while end < 8, groups[end] == 0 { end += 1 }
      if end - start > max(longest.count, 1) { longest = start..<end }
      start = max(end, start + 1)
    }
    func text(_ part: ArraySlice<UInt64>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
    if longest.isEmpty { return text(groups[...]) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }
}

/// Addresses with the same beginning: `10.0.0.0/8`, `2001:db8::/32`, or one address.
public struct AddressRange: Sendable, Hashable {
  private let first: IPAddress
  /// Bits of 128 that are the same.
  private let prefix: Int

  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
    var bits = address.isIPv4 ? 32 : 128
    if parts.count == 2 {
      guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
        let given = Int(parts[1]), given <= bits
      else { return nil }
      bits = given
    }
    prefix = address.isIPv4 ? bits + 96 : bits
    first = Self.cut(address, to: prefix)
  }

  public func contains(_ address: IPAddress) -> Bool { Self.cut(address, to: prefix) == first }

  private static func cut(_ address: IPAddress, to prefix: Int) -> IPAddress {
    IPAddress(high: address.high & mask(prefix), low: address.low & mask(prefix - 64))
  }

  /// 64 bits of which the highest `bits` are ones.
  private static func mask(_ bits: Int) -> UInt64 {
    if bits <= 0 { return 0 }
    return bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
  }
}
