import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bench

/// Real exchanges with the servers that are installed here; plain libzmq always is.
@Suite("Exchanges with peers that are installed", .serialized, .ownThread)
struct PeerExchangeTests {
  static let installed = ["libzmq", "nats", "nchan", "mosquitto", "redis", "uwebsockets"].filter { name in
    name == "libzmq"
      || runsUnlessLacking(.peers, isThere: (try? PeerCatalogue.peer(named: name).describe()) != nil)
  }

  @Test("What is published arrives whole and in order", arguments: installed)
  func exchange(name: String) async throws {
    try exchangeWith(name)
  }

  private func exchangeWith(_ name: String) throws {
    let peer: any Peer =
      name == "libzmq" ? LibzmqPeer(executable: try benchExecutable()) : try PeerCatalogue.peer(named: name)
    let running = try peer.start(.forPeers(), cores: [])
    defer { running.stop() }
    switch running.target.dialect {
    case "nats": try exchange(NATSDialect.self, running.target)
    case "mqtt": try exchange(MQTTDialect.self, running.target)
    case "nchan": try exchange(NchanDialect.self, running.target)
    case "redis": try exchange(RedisDialect.self, running.target)
    case "zmtp": try exchange(ZMTPDialect.self, running.target)
    case TemplateDialect.name: try exchange(TemplateDialect.self, running.target)
    default: Issue.record("\(running.target.dialect) is no dialect of a peer")
    }
  }

  private func exchange<D: Dialect>(_ kind: D.Type, _ target: Target) throws {
    let dialect = try D(target: target, scenario: .forPeers())
    let channel = "b-run-0"
    let subscriber = try PeerConnection(dialect, .subscriber, [channel], target.url)
    let publisher = try PeerConnection(dialect, .publisher, [], target.publishURL ?? target.url)
    try subscriber.run { $0.confirmed == 1 }
    try publisher.run { $0.confirmed == 1 }
    let contents = (0..<200).map { "\($0) " + String(repeating: "x", count: $0 * 3) }
    for content in contents { publisher.publish(content, to: channel) }
    try publisher.flush()
    try subscriber.run { $0.delivered.count >= contents.count }
    #expect(subscriber.delivered == contents)
  }
}

/// A blocking connection that speaks a dialect, over WebSocket where the dialect's framing says so.
private final class PeerConnection<D: Dialect> {
  struct Failure: Error, CustomStringConvertible { var description: String }

  private let dialect: D
  private let descriptor: Int32
  private var state: DialectState
  private var out = Outgoing()
  private var isWebSocket = false
  /// Bytes of the socket, and of the dialect, that are not done with.
  private var raw: [UInt8] = []
  private var payload: [UInt8] = []
  /// Messages that are not done with, of dialects whose messages are whole each and no stream.
  private var messages: [[UInt8]] = []
  private static var hasMessages: Bool { D.self == NchanDialect.self || D.self == TemplateDialect.self }
  private(set) var confirmed = 0
  private(set) var delivered: [String] = []

  init(_ dialect: D, _ role: Role, _ channels: [String], _ url: String) throws {
    self.dialect = dialect
    state = DialectState(role: role, client: 0, channels: channels)
    let authority = url.components(separatedBy: "://")[1].prefix { $0 != "/" }
    guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw Failure(description: "\(url) has no port")
    }
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: 300, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure(description: "\(url): errno \(errno)") }
    if case .webSocket(let path, let subprotocol, _) = dialect.framing(role) {
      try upgrade(dialect.path(state) ?? path, subprotocol)
    }
    dialect.open(&state, into: &out)
    if state.isConfirmed { confirmed = 1 }
    try flush()
  }

  deinit { close(descriptor) }

  private func upgrade(_ path: String, _ subprotocol: String?) throws {
    let protocolLine = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
    try send(
      Array(
        ("GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(protocolLine)"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").utf8))
    var head = ""
    while !head.hasSuffix("\r\n\r\n") {
      var byte: UInt8 = 0
      guard recv(descriptor, &byte, 1, 0) == 1 else { throw Failure(description: "no answer to the upgrade") }
      head.unicodeScalars.append(Unicode.Scalar(byte))
    }
    guard head.hasPrefix("HTTP/1.1 101") else { throw Failure(description: head) }
    isWebSocket = true
  }

  func publish(_ content: String, to channel: String) {
    Array(content.utf8).withUnsafeBytes { dialect.publish($0, to: channel, &state, into: &out) }
  }

  func flush() throws {
    guard !out.isEmpty else { return }
    var place = 0
    if isWebSocket {
      for end in out.ends {
        let message = Array(out.bytes[place..<end])
        // Masked with zeros.
        try send(
          [0x82, 0xFE, UInt8(message.count >> 8), UInt8(message.count & 0xFF), 0, 0, 0, 0] + message)
        place = end
      }
    }
    try send(Array(out.bytes[place...]))
    out.removeAll()
  }

  private func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(description: "sending failed: errno \(errno)") }
      sent += count
    }
  }

  func run(until isDone: (PeerConnection) -> Bool) throws {
    while !isDone(self) {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Failure(description: "nothing more came; \(delivered.count) until then") }
      raw += buffer[..<count]
      if isWebSocket { unframe() } else { (payload, raw) = (payload + raw, []) }
      for message in messages {
        var sink = Sink()
        _ = try message.withUnsafeBytes { try dialect.receive($0, &state, &sink, into: &out) }
        collect(sink)
      }
      messages = []
      var sink = Sink()
      if !isWebSocket || !Self.hasMessages {
        let used = try payload.withUnsafeBytes { try dialect.receive($0, &state, &sink, into: &out) }
        payload.removeFirst(used)
        collect(sink)
      }
      try flush()
    }
  }

  private func unframe() {
    while raw.count >= 2 {
      var (start, length) = (2, Int(raw[1]))
      if length == 126 {
        guard raw.count >= 4 else { return }
        (start, length) = (4, Int(raw[2]) << 8 | Int(raw[3]))
      } else if length == 127 {
        guard raw.count >= 10 else { return }
        (start, length) = (10, raw[2..<10].reduce(0) { $0 << 8 | Int($1) })
      }
      guard raw.count >= start + length else { return }
      if Self.hasMessages {
        messages.append(Array(raw[start..<(start + length)]))
      } else {
        payload += raw[start..<(start + length)]
      }
      raw.removeFirst(start + length)
    }
  }

  private func collect(_ sink: Sink) {
    confirmed += sink.confirmed
    delivered += sink.captured.map { String(decoding: $0, as: UTF8.self) }
  }
}
