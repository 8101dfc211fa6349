import Glibc
import Testing

@testable import HTTPClient

@Suite("Which addresses may be called")
struct AddressRuleTests {
  /// The first and the last of each range, and what stands before and after it.
  static let refused: [(String, String)] = [
    ("0.0.0.0", "unspecified"), ("0.255.255.255", "unspecified"), ("10.0.0.0", "private"),
    ("10.255.255.255", "private"), ("100.64.0.0", "shared"), ("100.127.255.255", "shared"),
    ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("169.254.0.0", "link-local"),
    ("169.254.169.254", "link-local"), ("172.16.0.0", "private"), ("172.31.255.255", "private"),
    ("192.0.0.0", "reserved"), ("192.0.0.255", "reserved"), ("192.0.2.1", "for documentation"),
    ("192.88.99.1", "reserved"), ("192.168.0.0", "private"), ("192.168.255.255", "private"),
    ("198.18.0.0", "for benchmarks"), ("198.19.255.255", "for benchmarks"), ("198.51.100.7", "for documentation"),
    ("203.0.113.7", "for documentation"), ("224.0.0.0", "multicast"), ("239.255.255.255", "multicast"),
    ("240.0.0.0", "reserved"), ("255.255.255.255", "reserved"),
    ("::", "unspecified"), ("::1", "loopback"), ("::2", "reserved"), ("::7f00:1", "reserved"),
    ("::ffff:127.0.0.1", "loopback"), ("::ffff:10.1.2.3", "private"), ("::ffff:0:10.1.2.3", "private"),
    ("64:ff9b::192.168.1.1", "private"), ("64:ff9b::169.254.169.254", "link-local"), ("64:ff9b:1::1", "private"),
    ("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "private"), ("64:ff9b:2::1", "reserved"), ("100::1", "reserved"),
    ("2001::1", "reserved"), ("2001:1ff:ffff::1", "reserved"), ("2001:db8::1", "for documentation"),
    ("2001:db8:ffff:ffff::1", "for documentation"), ("2002:7f00:1::1", "loopback"), ("2002:c0a8:101::1", "private"),
    ("3fff::1", "for documentation"), ("3fff:fff:ffff::1", "for documentation"), ("4000::1", "reserved"),
    ("5f00::1", "reserved"), ("fc00::1", "private"), ("fdff:ffff::1", "private"), ("fe00::1", "reserved"),
    ("fe80::1", "link-local"), ("febf:ffff::1", "link-local"), ("fec0::1", "private"), ("feff:ffff::1", "private"),
    ("ff00::1", "multicast"), ("ff02::1", "multicast"), ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
  ]

  static let allowed = [
    "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
    "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
    "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "93.184.216.34",
    "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2606:2800:220:1::1", "2000::1", "3ffe:ffff::1",
    "3fff:1000::1", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2002:5db8:d822::1",
  ]

  @Test("A special address is refused, and what it is is said", arguments: refused)
  func special(address: String, kind: String) throws {
    #expect(AddressRule(allowsPrivate: false).refusal(of: try bytes(address)) == kind)
    #expect(AddressRule(allowsPrivate: true).refusal(of: try bytes(address)) == nil)
  }

  @Test("A public address is allowed", arguments: allowed)
  func publicAddress(address: String) throws {
    #expect(AddressRule(allowsPrivate: false).refusal(of: try bytes(address)) == nil)
  }

  @Test("What is no address is refused even where all are allowed", arguments: [0, 3, 5, 15, 17])
  func noAddress(count: Int) {
    let bytes = [UInt8](repeating: 0x20, count: count)
    #expect(AddressRule(allowsPrivate: true).refusal(of: bytes) != nil)
    #expect(AddressRule(allowsPrivate: false).refusal(of: bytes) != nil)
  }

  @Test("Each mapped and translated address is judged as the IPv4 address within", arguments: 0...255)
  func embedded(first: Int) {
    let rule = AddressRule(allowsPrivate: false)
    for second in stride(from: 0, through: 255, by: 3) {
      let plain = [UInt8(first), UInt8(second), 0, 1]
      let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + plain
      let translated = [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + plain
      #expect(rule.refusal(of: mapped) == rule.refusal(of: plain))
      #expect(rule.refusal(of: translated) == rule.refusal(of: plain))
    }
  }

  @Test("An address is written as people write it")
  func text() throws {
    #expect(addressText([10, 0, 0, 7]) == "10.0.0.7")
    #expect(addressText(try bytes("fe80::1")) == "fe80:0:0:0:0:0:0:1")
  }

  private func bytes(_ address: String) throws -> [UInt8] {
    let isIPv6 = address.contains(":")
    var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
    try #require(inet_pton(isIPv6 ? AF_INET6 : AF_INET, address, &bytes) == 1, "\(address)")
    return bytes
  }
}
