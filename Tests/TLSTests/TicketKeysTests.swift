import COpenSSL
import Synchronization
import Testing

@testable import TLS

@Suite("Keys of tickets")
struct TicketKeysTests {
  private final class Clock: Sendable {
    let now = Atomic<Int64>(1_000)
    func pass(_ seconds: Int64) { now.add(seconds, ordering: .relaxed) }
  }

  private func make() -> (TicketKeys, Clock) {
    let clock = Clock()
    return (TicketKeys { clock.now.load(ordering: .relaxed) }, clock)
  }

  /// The name that the key writes into a ticket.
  private func name(of key: TicketKey) throws -> [UInt8] {
    var name = [UInt8](repeating: 0, count: TicketKey.nameBytes)
    var iv = [UInt8](repeating: 0, count: TicketKey.ivBytes)
    let cipher = try #require(unsafe EVP_CIPHER_CTX_new())
    defer { unsafe EVP_CIPHER_CTX_free(cipher) }
    let algorithm = try #require(unsafe EVP_MAC_fetch(nil, "HMAC", nil))
    defer { unsafe EVP_MAC_free(algorithm) }
    let mac = try #require(unsafe EVP_MAC_CTX_new(algorithm))
    defer { unsafe EVP_MAC_CTX_free(mac) }
    #expect(unsafe key.seal(&name, &iv, cipher, mac))
    #expect(iv.contains { $0 != 0 })
    return name
  }

  @Test("a key seals for an hour, opens until its last ticket has ended, and is forgotten then")
  func turnOver() throws {
    let (keys, clock) = make()
    let first = try name(of: try #require(keys.sealing()))
    clock.pass(TicketKeys.sealingSeconds - 1)
    #expect(try name(of: try #require(keys.sealing())) == first)
    #expect(unsafe keys.opening(first)?.isSealing == true)
    clock.pass(1)
    #expect(unsafe keys.opening(first)?.isSealing == false)
    let second = try name(of: try #require(keys.sealing()))
    #expect(second != first && keys.count == 2)
    clock.pass(TicketKeys.lifetimeSeconds - 1)
    #expect(unsafe keys.opening(first)?.isSealing == false)
    clock.pass(1)
    #expect(unsafe keys.opening(first) == nil)
    #expect(unsafe keys.opening(second)?.isSealing == false)
  }

  @Test("there are no more keys than hours that tickets last, and none where nobody comes for that long")
  func bounded() {
    let (keys, clock) = make()
    for _ in 0..<100 {
      #expect(keys.sealing() != nil)
      #expect(keys.count <= 3)
      clock.pass(TicketKeys.sealingSeconds)
    }
    clock.pass(TicketKeys.lifetimeSeconds)
    keys.forgetOld()
    #expect(keys.count == 0)
  }

  @Test("a ticket of another server is nobody's here")
  func foreign() throws {
    let (ours, _) = make()
    let (theirs, _) = make()
    #expect(ours.sealing() != nil)
    #expect(unsafe ours.opening(try name(of: try #require(theirs.sealing()))) == nil)
  }
}
