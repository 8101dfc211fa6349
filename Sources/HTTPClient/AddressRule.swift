/// Which addresses may be called.
///
/// It prevents that a URL which somebody else chose, or the name in it, leads into the network in which the server
/// stands: to a database, or to the service that tells a cloud's machines their credentials. The rule is asked about
/// the address of a socket that is about to be opened, never about a name: a name that was harmless when it was looked
/// up may stand for another address when it is called.
///
/// The ranges are those of IANA's registries of special-purpose addresses (RFC 6890), and those for multicast. Of IPv6
/// only global unicast addresses (2000::/3, RFC 4291) may be called, so that what is assigned later is refused until
/// somebody decides. An address that holds an IPv4 address, and that a translator or the kernel would turn into it, is
/// judged by that one.
struct AddressRule: Sendable {
  /// Whether all addresses may be called.
  let allowsPrivate: Bool

  /// Why an address may not be called; nil where it may.
  ///
  /// - Parameter address: the 4 or 16 bytes in network order. Another number of bytes is no address, and refused even
  ///   where all are allowed.
  func refusal(of address: [UInt8]) -> String? {
    let kind: String?
    switch address.count {
    case 4: kind = Self.kind(ofIPv4: address)
    case 16: kind = Self.kind(ofIPv6: address)
    default: return "which is neither IPv4 nor IPv6"
    }
    return allowsPrivate ? nil : kind
  }

  private typealias Range = (bytes: [UInt8], bits: Int, kind: String)

  private static let rangesOfIPv4: [Range] = [
    ([0, 0, 0, 0], 8, "unspecified"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "reserved"),
    ([192, 0, 2, 0], 24, "for documentation"),
    ([192, 88, 99, 0], 24, "reserved"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "for benchmarks"),
    ([198, 51, 100, 0], 24, "for documentation"),
    ([203, 0, 113, 0], 24, "for documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
  ]

  /// The ranges that are no global unicast, for a better word than "reserved", and those within it that are special.
  private static let rangesOfIPv6: [Range] = [
    ([0xFC], 7, "private"),
    ([0xFE, 0x80], 10, "link-local"),
    ([0xFE, 0xC0], 10, "private"),
    ([0xFF], 8, "multicast"),
    ([0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01], 48, "private"),
    ([0x20, 0x01, 0x00], 23, "reserved"),
    ([0x20, 0x01, 0x0D, 0xB8], 32, "for documentation"),
    ([0x3F, 0xFF, 0x00], 20, "for documentation"),
  ]

  /// Where an IPv4 address stands in an IPv6 address.
  private static let embeddings: [(bytes: [UInt8], bits: Int, at: Int)] = [
    // Mapped (RFC 4291): the kernel connects to the IPv4 address.
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96, 12),
    // Translated (RFC 2765), and with the well-known prefix of NAT64 (RFC 6052).
    ([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0], 96, 12),
    ([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96, 12),
    // 6to4 (RFC 3056).
    ([0x20, 0x02], 16, 2),
  ]

  private static func kind(ofIPv4 address: [UInt8]) -> String? {
    rangesOfIPv4.first { begins(address, with: $0.bytes, bits: $0.bits) }?.kind
  }

  private static func kind(ofIPv6 address: [UInt8]) -> String? {
    if address.dropLast().allSatisfy({ $0 == 0 }) {
      if address[15] == 0 { return "unspecified" }
      if address[15] == 1 { return "loopback" }
    }
    if let embedding = embeddings.first(where: { begins(address, with: $0.bytes, bits: $0.bits) }) {
      return kind(ofIPv4: Array(address[embedding.at..<embedding.at + 4]))
    }
    if let range = rangesOfIPv6.first(where: { begins(address, with: $0.bytes, bits: $0.bits) }) { return range.kind }
    return begins(address, with: [0x20], bits: 3) ? nil : "reserved"
  }

  /// Whether the first `bits` bits are the same. `range` has at least as many, or ends in bits that are all zero.
  private static func begins(_ address: [UInt8], with range: [UInt8], bits: Int) -> Bool {
    for index in 0..<(bits + 7) / 8 {
      let left = bits - index * 8
      let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
      let wanted = index < range.count ? range[index] : 0
      if address[index] & mask != wanted & mask { return false }
    }
    return true
  }
}

/// An address as people write it: `10.0.0.7`, `fe80:0:0:0:0:0:0:1`.
func addressText(_ address: [UInt8]) -> String {
  if address.count == 4 { return address.map { String($0) }.joined(separator: ".") }
  let groups = stride(from: 0, to: address.count - address.count % 2, by: 2).map {
    String(UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]), radix: 16)
  }
  return groups.joined(separator: ":")
}
