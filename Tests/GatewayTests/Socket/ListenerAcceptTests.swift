import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Gateway

@Suite("Accepting", .ownThread)
struct ListenerAcceptTests {
  private func isServed(_ harness: ListenerHarness, ipv6: Bool = false) throws -> Bool {
    let client = try ListenerRawClient(port: harness.port, ipv6: ipv6)
    return try client.upgrade().hasPrefix("HTTP/1.1 101 ")
  }

  @Test("connections are spread over the event loops, and numbered")
  func roundRobin() throws {
    try withListener(loops: 2) { harness throws in
      var clients: [ListenerRawClient] = []
      for index in 0..<4 {
        let client = try ListenerRawClient(port: harness.port)
        try client.upgrade()
        clients.append(client)
        try harness.onLoop(index) { _ in }
      }
      let loops = try (0..<4).map { try harness.onLoop($0) { $0.connection.loopIndex } }
      #expect(loops == [0, 1, 0, 1])
      #expect(try Set((0..<4).map { try harness.onLoop($0) { $0.connection.id } }).count == 4)
      #expect(harness.listener.counters.openConnections == 4)
    }
  }

  @Test("one connection too many is answered 503, and there is room again when another leaves")
  func maxConnections() throws {
    try withListener({ $0.maxConnections = 1 }) { harness throws in
      var first: ListenerRawClient? = try ListenerRawClient(port: harness.port)
      try first?.upgrade()
      let second = try ListenerRawClient(port: harness.port)
      #expect(String(decoding: try second.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 503 "))
      #expect(harness.listener.counters.refusedConnections == 1)
      withExtendedLifetime(first) {}
      first = nil
      #expect(try harness.wait { harness.listener.counters.openConnections == 0 })
      #expect(try isServed(harness))
    }
  }

  @Test("IPv6 is served, and with it IPv4 on the same port")
  func ipv6() throws {
    try withListener({ $0.host = "::" }) { harness throws in
      let served = try (isServed(harness, ipv6: true), isServed(harness))
      #expect(served == (true, true))
    }
  }

  @Test("a port that is taken, a foreign address and a bad port are refused with a sentence")
  func errors() throws {
    try withListener { harness throws in
      let taken = harness.port
      #expect(throws: ListenerError.addressInUse(host: "127.0.0.1", port: taken)) {
        try ListenerHarness { $0.port = taken }
      }
      #expect(throws: ListenerError.addressNotAvailable(host: "192.0.2.1")) {
        try ListenerHarness { $0.host = "192.0.2.1" }
      }
      #expect(throws: ListenerError.invalidPort(70_000)) { try ListenerHarness { $0.port = 70_000 } }
    }
  }

  @Test("after stopAccepting nobody gets in, a request under way is sent elsewhere, and WebSockets live on")
  func stop() throws {
    try withListener { harness throws in
      let upgraded = try ListenerRawClient(port: harness.port)
      try upgraded.upgrade()
      let waiting = try ListenerRawClient(port: harness.port)
      #expect(try harness.wait { harness.listener.counters.openConnections == 2 })
      harness.listener.stopAccepting()
      harness.listener.stopAccepting()
      try waiting.send(ListenerRawClient.upgradeRequest())
      #expect(try waiting.readHead().hasPrefix("HTTP/1.1 503 "))
      try upgraded.send(ListenerRawClient.text("x"))
      #expect(try upgraded.readFrame()?.payload == [0x78])
      #expect(harness.listener.counters.acceptedConnections == 2)
    }
  }
}
