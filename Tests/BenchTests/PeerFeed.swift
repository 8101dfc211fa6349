import Foundation
@testable import Bench

/// Feeds a dialect as the event loop does, in pieces of any size, and gathers what comes out.
struct PeerFeed<D: Dialect> {
  let dialect: D
  var state: DialectState
  var out = Outgoing()
  private(set) var confirmed = 0
  private(set) var acknowledged = 0
  private(set) var refused = 0
  private(set) var delivered: [String] = []
  private var rest: [UInt8] = []

  init(_ role: Role, _ channels: [String] = ["a:b-1"], url: String = "ws://127.0.0.1:4000/") throws {
    dialect = try D(target: .loopback("any", url), scenario: .forPeers())
    state = DialectState(role: role, client: 7, channels: role == .subscriber ? channels : [])
    dialect.open(&state, into: &out)
  }

  /// What was said since the last time, as text of Latin-1.
  mutating func said() -> [UInt8] {
    defer { out.removeAll() }
    return out.bytes
  }

  mutating func take(_ bytes: [UInt8], pieces: Int = .max) throws {
    var place = 0
    while place < bytes.count {
      let count = min(pieces, bytes.count - place)
      rest += bytes[place..<(place + count)]
      place += count
      var sink = Sink()
      let used = try receive(&sink)
      rest.removeFirst(used)
      confirmed += sink.confirmed
      acknowledged += sink.acknowledged
      refused += sink.refused
      delivered += sink.captured.map { String(decoding: $0, as: UTF8.self) }
    }
  }

  mutating func take(_ text: String, pieces: Int = .max) throws {
    try take(Array(text.utf8), pieces: pieces)
  }

  mutating func publish(_ content: String, to channel: String) {
    Array(content.utf8).withUnsafeBytes { dialect.publish($0, to: channel, &state, into: &out) }
  }

  private mutating func receive(_ sink: inout Sink) throws(BenchError) -> Int {
    // A copy of exactly that size: reading beyond it would be found by a sanitizer.
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: rest.count, alignment: 1)
    defer { bytes.deallocate() }
    bytes.copyBytes(from: rest)
    return try dialect.receive(UnsafeRawBufferPointer(bytes), &state, &sink, into: &out)
  }
}

extension Scenario {
  /// One group without anything special.
  static func forPeers(
    group: String = "b", namespace: String = "", settings: [String] = []
  ) throws -> Scenario {
    let text = """
      {"name": "test", "about": "Nothing.", "measure": "delivery", "warmup": 0, "duration": 1, "format": "json",
       "turns": 1, "workers": 1, "peers": [], "settings": \(settings),
       "groups": [{"name": "\(group)", "channels": 1, "subscribers": 1, "rate": 1, "payload": 128, "burst": 1,
                   "publishers": 1, "slow": 0, "namespace": "\(namespace)"}]}
      """
    return try JSONDecoder().decode(Scenario.self, from: Data(text.utf8))
  }
}

/// All sizes of pieces that matter for a short exchange.
let pieceSizes = [1, 2, 3, 5, 7, 64, Int.max]
