import Testing
import Wire

@Suite("IP addresses and ranges")
struct IPAddressTests {
  @Test(
    "An address is read and written in one form",
    arguments: [
      ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
      ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:c000:0201", "192.0.2.1"),
      ("2001:db8::1", "2001:db8::1"), ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"), ("::1", "::1"), ("::", "::"),
      ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:0:0:4:0:0:0:8", "1:0:0:4::8"), ("fe80::", "fe80::"),
      ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"),
    ])
  func form(_ text: String, _ written: String) {
    #expect(IPAddress(text)?.description == written)
  }

  @Test(
    "What is no address is none",
    arguments: [
      "", " ", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.+4", "1..2.3", "1.2.3.4 ", ":", ":::",
      "1::2::3",
      "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "g::", "+1::", "1.2.3.4::", "::1.2.3",
      "::%eth0",
      "localhost", "::1:", ":1::", String(repeating: "1", count: 5000),
    ])
  func none(_ text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test("Bytes of a socket and of a proxy's header are the same address as its text")
  func bytes() {
    #expect(IPAddress(networkBytes: [192, 0, 2, 1]) == IPAddress("192.0.2.1"))
    let mapped: [UInt8] = Array(repeating: 0, count: 10) + [255, 255, 192, 0, 2, 1]
    #expect(IPAddress(networkBytes: mapped) == IPAddress("192.0.2.1"))
    #expect(IPAddress(networkBytes: [1, 2, 3]) == nil)
  }

  @Test("Limits count IPv4 by the address and IPv6 by the /64")
  func limited() {
    #expect(IPAddress("192.0.2.1")?.limited == IPAddress("192.0.2.1"))
    #expect(IPAddress("2001:db8:1:2::1")?.limited == IPAddress("2001:db8:1:2:ffff::9")?.limited)
    #expect(IPAddress("2001:db8:1:2::1")?.limited != IPAddress("2001:db8:1:3::1")?.limited)
  }

  @Test("Loopback is all of 127.0.0.0/8, mapped too, and ::1")
  func loopback() {
    for text in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] { #expect(IPAddress(text)?.isLoopback == true) }
    for text in ["128.0.0.1", "::2", "::", "0.0.0.0", "2001:db8::1"] { #expect(IPAddress(text)?.isLoopback == false) }
  }

  @Test("A range holds what begins as it does")
  func ranges() throws {
    func contains(_ range: String, _ address: String) throws -> Bool {
      try #require(AddressRange(range)).contains(try #require(IPAddress(address)))
    }
    #expect(try contains("10.0.0.0/8", "10.255.0.1"))
    #expect(try contains("10.9.9.9/8", "10.0.0.1"))
    #expect(try !contains("10.0.0.0/8", "11.0.0.1"))
    #expect(try contains("192.0.2.7", "192.0.2.7"))
    #expect(try !contains("192.0.2.7", "192.0.2.8"))
    #expect(try contains("0.0.0.0/0", "203.0.113.5"))
    #expect(try !contains("0.0.0.0/0", "2001:db8::1"))
    #expect(try contains("::/0", "2001:db8::1"))
    #expect(try contains("2001:db8::/33", "2001:db8:7fff::1"))
    #expect(try !contains("2001:db8::/33", "2001:db8:8000::1"))
    #expect(try contains("2001:db8:1:2:8000::/65", "2001:db8:1:2:8000::1"))
    #expect(try !contains("2001:db8:1:2:8000::/65", "2001:db8:1:2::1"))
    for text in ["", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "10.0.0.0/+8", "x/8"] {
      #expect(AddressRange(text) == nil, "\(text)")
    }
  }
}
