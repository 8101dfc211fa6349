import Testing
import Wire

@testable import Gateway

@Suite("The PROXY protocol's header, version 2")
struct ProxyHeaderTests {
  static func header(_ command: UInt8 = 0x21, _ family: UInt8 = 0x11, _ rest: [UInt8]) -> [UInt8] {
    ProxyHeader.signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 255)] + rest
  }

  static let v4Rest: [UInt8] = [192, 0, 2, 1, 10, 0, 0, 1, 0x30, 0x39, 0x1F, 0x40]
  static let v6Rest: [UInt8] =
    [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [7] + Array(repeating: 9, count: 16) + [1, 2, 3, 4]

  /// What comes of the bytes, one after another, and how many were taken.
  private func read(_ bytes: [UInt8]) throws(ProxyHeader.Malformed) -> (client: IPAddress?, taken: Int)? {
    var header = ProxyHeader()
    for (index, byte) in bytes.enumerated() {
      if case .whole(let client) = try header.read(byte) { return (client, index + 1) }
    }
    return nil
  }

  @Test("A client's address is read, over IPv4 and IPv6, and the first byte behind the header is left")
  func addresses() throws {
    let v4 = Self.header(0x21, 0x11, Self.v4Rest)
    #expect(try read(v4 + [1, 2, 3])?.client == IPAddress("192.0.2.1"))
    #expect(try read(v4 + [1, 2, 3])?.taken == v4.count)
    #expect(try read(Self.header(0x21, 0x21, Self.v6Rest))?.client == IPAddress("2001:db8::7"))
  }

  @Test("What stands behind the addresses is skipped")
  func tail() throws {
    let long = Self.header(0x21, 0x11, Self.v4Rest + Array(repeating: 0xEE, count: 3000))
    let found = try read(long + [1])
    #expect(found?.client == IPAddress("192.0.2.1"))
    #expect(found?.taken == long.count)
  }

  @Test("A proxy that speaks for itself, or for somebody without an IP address, names no client")
  func local() throws {
    for bytes in [
      Self.header(0x20, 0x00, []), Self.header(0x20, 0x11, Self.v4Rest), Self.header(0x20, 0x11, []),
      Self.header(0x21, 0x00, []), Self.header(0x21, 0x31, Array(repeating: 1, count: 216)),
    ] {
      let found = try #require(try read(bytes))
      #expect(found.client == nil)
      #expect(found.taken == bytes.count)
    }
  }

  @Test("Until the last byte is there, nothing is said")
  func drip() throws {
    for whole in [Self.header(0x21, 0x11, Self.v4Rest), Self.header(0x21, 0x21, Self.v6Rest + [1, 2, 3])] {
      for count in whole.indices { #expect(try read(Array(whole[..<count])) == nil) }
      #expect(try read(whole) != nil)
    }
  }

  @Test("A wrong byte is found where it stands")
  func malformed() {
    func fault(_ bytes: [UInt8]) -> ProxyHeader.Malformed? {
      do throws(ProxyHeader.Malformed) { _ = try read(bytes) } catch { return error }
      return nil
    }
    #expect(fault(Array("GET / HTTP/1.1\r\n".utf8)) == .noSignature)
    #expect(fault(Array("PROXY TCP4 192.0.2.1 10.0.0.1 1 2\r\n".utf8)) == .noSignature)
    #expect(fault([0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0B]) == .noSignature)
    for command: UInt8 in [0x00, 0x11, 0x22, 0x2F, 0x31, 0xFF] {
      #expect(fault(ProxyHeader.signature + [command]) == .unknownVersionOrCommand)
    }
    for family: UInt8 in [0x10, 0x12, 0x13, 0x22, 0x32, 0x41, 0xFF] {
      #expect(fault(ProxyHeader.signature + [0x21, family]) == .unknownFamily)
    }
    #expect(fault(Self.header(0x21, 0x11, Array(repeating: 0, count: 11))) == .wrongLength)
    #expect(fault(Self.header(0x21, 0x21, Array(repeating: 0, count: 35))) == .wrongLength)
    #expect(fault(ProxyHeader.signature + [0x21, 0x11, 0xFF, 0xFF]) == .wrongLength)
    #expect(fault(ProxyHeader.signature + [0x20, 0x00, 0x10, 0x01]) == .wrongLength)
  }

  @Test("Whatever comes ends: with a header, or with a fault", arguments: 0..<20)
  func fuzz(_ seed: UInt64) {
    var random = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
    for _ in 0..<2000 {
      var bytes = Self.header(0x21, random.next() & 1 == 0 ? 0x11 : 0x21, Self.v6Rest)
      for _ in 0..<Int(random.next() % 4) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      var header = ProxyHeader()
      var taken = 0
      // Behind the longest header there is none that still wants more.
      let all = bytes + Array(repeating: 0, count: ProxyHeader.longestRest)
      var isOver = false
      while !isOver {
        do throws(ProxyHeader.Malformed) {
          if case .whole = try header.read(all[taken]) { isOver = true }
        } catch {
          isOver = true
        }
        taken += 1
        guard isOver || taken < all.count else {
          Issue.record("seed \(seed): \(bytes) never ends")
          return
        }
      }
    }
  }

  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }
}
