import Testing
import Wire

@testable import Gateway

@Suite("X-Forwarded-For")
struct ForwardedForTests {
  private func client(_ headers: String..., trusting ranges: [String] = ["10.0.0.0/8"]) -> String? {
    let ranges = ranges.compactMap { AddressRange($0) }
    return ForwardedFor.client(in: headers) { address in ranges.contains { $0.contains(address) } }?.description
  }

  @Test("The rightmost address counts that is no trusted proxy")
  func rightmost() {
    #expect(client("192.0.2.1") == "192.0.2.1")
    #expect(client("192.0.2.1, 10.0.0.1") == "192.0.2.1")
    #expect(client("192.0.2.1,10.0.0.1 , 10.2.3.4") == "192.0.2.1")
    #expect(client("192.0.2.1", "10.0.0.1") == "192.0.2.1")
    #expect(client("192.0.2.1\t,\t \t10.0.0.1") == "192.0.2.1")
    // A mark that joins the comma as one character is one more byte that belongs to no address, not an end of the comma.
    #expect(client("192.0.2.1,\u{301},10.0.0.1") == "10.0.0.1")
    #expect(client("10.0.0.9, 10.0.0.1") == "10.0.0.9")
  }

  @Test("What a client wrote before it counts for nothing")
  func forged() {
    #expect(client("198.51.100.7, 192.0.2.1") == "192.0.2.1")
    #expect(client("198.51.100.7", "192.0.2.1, 10.0.0.1") == "192.0.2.1")
    #expect(client("127.0.0.1, 10.0.0.8, 192.0.2.1") == "192.0.2.1")
  }

  @Test("Ports and brackets are left away")
  func forms() {
    #expect(client("192.0.2.1:4711") == "192.0.2.1")
    #expect(client("[2001:db8::1]:443") == "2001:db8::1")
    #expect(client("[2001:db8::1]") == "2001:db8::1")
    #expect(client(" 2001:db8::1 ") == "2001:db8::1")
  }

  @Test(
    "Behind what is no address nothing is believed",
    arguments: ["unknown", "", "_hidden", "1.2.3.4:x", "[::1", "[::1]x"])
  func nonsense(_ text: String) {
    #expect(client(text) == nil)
    #expect(client("192.0.2.1, \(text)") == nil)
    #expect(client("192.0.2.1, \(text), 10.0.0.1") == "10.0.0.1")
  }

  @Test("A list without end is read for some hops only")
  func endless() {
    #expect(client((0..<5000).map { _ in "10.0.0.1" }.joined(separator: ",")) == "10.0.0.1")
    #expect(client("192.0.2.1," + (0..<16).map { _ in "10.0.0.1" }.joined(separator: ",")) == "10.0.0.1")
    #expect(client() == nil)
  }
}
