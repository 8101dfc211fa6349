import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("The door", .ownThread)
struct ListenerLimitTests {
  private static func limits(
    connections: Int = .max, unsigned: Int = .max, handshakes: Int = .max, rate: RateLimit = .unlimited
  ) -> AdmissionLimits {
    AdmissionLimits(
      all: AdmissionLimits.none.all,
      address: .init(connections: connections, unsigned: unsigned, handshakes: handshakes), newConnections: rate,
      countsLoopback: true)
  }

  private let attacker = "127.0.0.66"
  private let honest = "127.0.0.7"

  private func isServed(_ harness: ListenerHarness, from source: String) throws -> Bool {
    try ListenerRawClient(port: harness.port, from: source).upgrade().hasPrefix("HTTP/1.1 101 ")
  }

  private func refusal(_ harness: ListenerHarness, from source: String) throws -> String {
    String(decoding: try ListenerRawClient(port: harness.port, from: source).readToEnd(), as: UTF8.self)
  }

  @Test("One address that takes all the places it gets leaves the others' alone: all honest clients are served")
  func connections() throws {
    try withListener({
      $0.maxConnections = 64
      $0.admission = Self.limits(connections: 16)
    }) { harness throws in
      var held: [ListenerRawClient] = []
      for _ in 0..<16 { held.append(try ListenerRawClient(port: harness.port, from: attacker)) }
      for _ in 0..<10 { #expect(try refusal(harness, from: attacker).hasPrefix("HTTP/1.1 429 ")) }
      for _ in 0..<34 { #expect(try isServed(harness, from: honest)) }
      #expect(harness.listener.counters.refusedConnections == 10)
      #expect(held.count == 16)
    }
  }

  @Test("Who holds a handshake open has few places; who has upgraded has left them")
  func handshakes() throws {
    try withListener({ $0.admission = Self.limits(handshakes: 2) }) { harness throws in
      let held = try (0..<2).map { _ in try ListenerRawClient(port: harness.port, from: attacker) }
      #expect(try harness.wait { harness.listener.counters.openConnections == 2 })
      #expect(try refusal(harness, from: attacker).hasPrefix("HTTP/1.1 429 "))
      for client in held { #expect(try client.upgrade().hasPrefix("HTTP/1.1 101 ")) }
      #expect(try isServed(harness, from: attacker))
    }
  }

  @Test("Who does not sign in has few places, and who has signed in has left them")
  func unsigned() throws {
    try withListener({ $0.admission = Self.limits(unsigned: 2) }) { harness throws in
      let held = try (0..<2).map { _ in try ListenerRawClient(port: harness.port, from: attacker) }
      for client in held { #expect(try client.upgrade().hasPrefix("HTTP/1.1 101 ")) }
      #expect(try refusal(harness, from: attacker).hasPrefix("HTTP/1.1 429 "))
      #expect(try isServed(harness, from: honest))
      for index in 0..<2 { try harness.onLoop(index) { $0.connection.signedIn() } }
      #expect(harness.listener.counters.signedInConnections == 2)
      #expect(harness.listener.counters.signIns == 2)
      #expect(try isServed(harness, from: attacker))
    }
  }

  @Test("Connections too fast after one another are refused, and another address's are not")
  func rate() throws {
    try withListener({ $0.admission = Self.limits(rate: RateLimit(perSecond: 1, burst: 3)) }) { harness throws in
      // However slow this machine is: three pass, and one a second after them.
      let start = ContinuousClock.now
      var served = 0
      for _ in 0..<50 where try isServedOrRefused(harness) { served += 1 }
      let seconds = Int((ContinuousClock.now - start).components.seconds)
      #expect(served >= 3 && served <= 3 + seconds + 1)
      #expect(try isServed(harness, from: honest))
    }
  }

  private func isServedOrRefused(_ harness: ListenerHarness) throws -> Bool {
    let client = try ListenerRawClient(port: harness.port, from: attacker)
    // A connection that is refused at once may be closed before the request is sent.
    try? client.send(ListenerRawClient.upgradeRequest())
    return ((try? client.readHead()) ?? "").hasPrefix("HTTP/1.1 101 ")
  }

  // MARK: Proxies

  private static let proxy = "127.0.0.99"
  private static func behindProxy(_ configuration: inout ListenerConfiguration) {
    configuration.trustedProxies = [AddressRange(proxy)].compactMap(\.self)
    configuration.admission = limits(connections: 1)
  }

  private func request(forwardedFor: String) -> String {
    ListenerRawClient.upgradeRequest().replacing(
      "Host:", with: "X-Forwarded-For: \(forwardedFor)\r\nHost:", maxReplacements: 1)
  }

  @Test("A listed proxy's X-Forwarded-For says whose connection it is")
  func forwarded() throws {
    try withListener(Self.behindProxy) { harness throws in
      let client = try ListenerRawClient(port: harness.port, from: Self.proxy)
      try client.send(request(forwardedFor: "203.0.113.9, 192.0.2.1"))
      #expect(try client.readHead().hasPrefix("HTTP/1.1 101 "))
      #expect(try harness.onLoop { $0.connection.remoteAddress } == "192.0.2.1")
      // The same client again is one too many; another one behind the same proxy is not.
      let second = try ListenerRawClient(port: harness.port, from: Self.proxy)
      try second.send(request(forwardedFor: "192.0.2.1"))
      #expect(try second.readHead().hasPrefix("HTTP/1.1 429 "))
      let third = try ListenerRawClient(port: harness.port, from: Self.proxy)
      try third.send(request(forwardedFor: "192.0.2.2"))
      #expect(try third.readHead().hasPrefix("HTTP/1.1 101 "))
    }
  }

  @Test("Nobody else's is believed")
  func forged() throws {
    try withListener(Self.behindProxy) { harness throws in
      let client = try ListenerRawClient(port: harness.port, from: attacker)
      try client.send(request(forwardedFor: "192.0.2.1"))
      #expect(try client.readHead().hasPrefix("HTTP/1.1 101 "))
      #expect(try harness.onLoop { $0.connection.remoteAddress } == attacker)
    }
  }

  private static func expectingHeader(_ configuration: inout ListenerConfiguration) {
    behindProxy(&configuration)
    configuration.expectsProxyHeader = true
  }

  @Test("A listed proxy's PROXY header says whose connection it is, byte by byte too", arguments: [false, true])
  func proxyHeader(_ drips: Bool) throws {
    try withListener(Self.expectingHeader) { harness throws in
      let client = try ListenerRawClient(port: harness.port, from: Self.proxy)
      let bytes = ProxyHeaderTests.header(0x21, 0x11, ProxyHeaderTests.v4Rest)
      let request = Array(ListenerRawClient.upgradeRequest().utf8)
      if drips { try client.drip(bytes + request) } else { try client.send(bytes + request) }
      #expect(try client.readHead().hasPrefix("HTTP/1.1 101 "))
      #expect(try harness.onLoop { $0.connection.remoteAddress } == "192.0.2.1")
      let second = try ListenerRawClient(port: harness.port, from: Self.proxy)
      try second.send(bytes)
      #expect(try second.readToEnd().isEmpty)
    }
  }

  @Test("Without it, or with a broken one, a listed proxy's connection is closed, and that is noted")
  func brokenProxyHeader() throws {
    try withListener(Self.expectingHeader) { harness throws in
      for bytes in [
        Array(ListenerRawClient.upgradeRequest().utf8),
        ProxyHeaderTests.header(0x21, 0x11, Array(repeating: 0, count: 5)),
      ] {
        let client = try ListenerRawClient(port: harness.port, from: Self.proxy)
        try client.send(bytes)
        let answer = (try? client.readToEnd()) ?? []
        #expect(answer.isEmpty)
      }
      #expect(try harness.wait { harness.refusals.count(.proxyHeader) == 2 })
      // Others say nothing of the kind, and are served as ever.
      #expect(try isServed(harness, from: honest))
    }
  }

  @Test("A refusal is told at once, and the many after it in one line a minute, with the address")
  func log() throws {
    let lines = LogLines()
    let refusals = Refusals(logger: Logger(label: "test") { _ in lines })
    for _ in 0..<100 { refusals.note(.addressRate, from: "192.0.2.66") }
    refusals.note(.addressRate, from: "192.0.2.1")
    #expect(lines.all == ["info \(RefusalCause.addressRate.sentence) cause=address_rate count=1 from=192.0.2.66"])
    refusals.tellMinute()
    #expect(
      lines.all.dropFirst() == [
        "info \(RefusalCause.addressRate.sentence) cause=address_rate count=100 from=192.0.2.66 from_count=99"
      ])
    #expect(refusals.count(.addressRate) == 101)
  }
}
