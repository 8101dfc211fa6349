/// What is said to a server whose protocol is one text a message over WebSocket.
///
/// In each text `%C` stands for the channel, `%P` for the publication's payload and `%%` for a percent sign. The payload
/// begins with the bench's own ``Marker``, by which an arrival is known wherever it stands in a message.
public struct MessageTemplates: Codable, Sendable, Equatable {
  /// Sent by a subscriber after the upgrade, such as `S %C`; empty: it says nothing.
  public var sub: String
  /// Sent for each publication, such as `P %C %P`.
  public var pub: String
  /// Part of the message that confirms a subscription. Nil: a subscription counts as made once it was asked for.
  public var subAck: String?
  /// Part of the message that acknowledges a publication. Nil: the server acknowledges none.
  public var pubAck: String?

  public init(sub: String, pub: String, subAck: String? = nil, pubAck: String? = nil) {
    (self.sub, self.pub, self.subAck, self.pubAck) = (sub, pub, subAck, pubAck)
  }

  /// For the report: what is said, and what is taken for done where the server confirms nothing.
  var about: String {
    let subscribed =
      subAck.map { "confirmed by \($0.debugDescription)" }
      ?? "nothing confirms it: a subscription counts as made once it was sent"
    let published =
      pubAck.map { "acknowledged by \($0.debugDescription)" }
      ?? "nothing acknowledges it: a publication counts as made once the socket took it"
    // A text may hold the ends of lines.
    return "subscribes with \(sub.debugDescription) (\(subscribed)), publishes with \(pub.debugDescription) "
      + "(\(published))"
  }

  /// The four texts, ready for use.
  struct Compiled: Sendable, Equatable {
    var sub: MessageTemplate
    var pub: MessageTemplate
    var subAck: MessageTemplate?
    var pubAck: MessageTemplate?
  }

  /// - Parameter channels: how many the whole scenario has; with one alone, a text may leave its name out.
  /// - Throws: a sentence with what to write instead.
  func compiled(channels: Int) throws(BenchError) -> Compiled {
    let compiled = Compiled(
      sub: try MessageTemplate(sub, "sub"), pub: try MessageTemplate(pub, "pub"),
      subAck: try subAck.map { text throws(BenchError) in try MessageTemplate(text, "sub_ack") },
      pubAck: try pubAck.map { text throws(BenchError) in try MessageTemplate(text, "pub_ack") })
    guard compiled.pub.count(.payload) == 1 else {
      throw BenchError(
        "the template \"pub\" must have the payload once, not \(compiled.pub.count(.payload)) times: write %P where it "
          + "belongs, such as \"P %C %P\".")
    }
    for (template, name) in [(compiled.sub, "sub"), (compiled.pub, "pub")]
    where channels > 1 && template.count(.channel) == 0 {
      throw BenchError(
        "the template \"\(name)\" names no channel, and the scenario has \(channels): write %C where the channel's name "
          + "belongs.")
    }
    for (template, name) in [(compiled.sub, "sub"), (compiled.subAck, "sub_ack"), (compiled.pubAck, "pub_ack")]
    where (template?.count(.payload) ?? 0) > 0 {
      throw BenchError("the template \"\(name)\" has %P, but there is no payload there; leave it out.")
    }
    guard (compiled.pubAck?.count(.channel) ?? 0) == 0 else {
      throw BenchError(
        "the template \"pub_ack\" has %C, but answers come without it in mind; name what all of them have.")
    }
    for (template, name) in [(compiled.subAck, "sub_ack"), (compiled.pubAck, "pub_ack")]
    where template?.parts.isEmpty == true {
      throw BenchError(
        "the template \"\(name)\" is empty and would fit any message; leave it out, or say what it holds.")
    }
    return compiled
  }
}

/// A text with places in it.
struct MessageTemplate: Sendable, Equatable {
  enum Part: Sendable, Equatable {
    case text([UInt8])
    case channel
    case payload
  }

  let parts: [Part]

  /// - Parameter name: the template's, for the sentence of an error.
  init(_ text: String, _ name: String) throws(BenchError) {
    var parts: [Part] = []
    var literal: [UInt8] = []
    var rest = text.utf8[...]
    func close() {
      if !literal.isEmpty { parts.append(.text(literal)) }
      literal = []
    }
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        literal.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "%"): literal.append(byte)
      case UInt8(ascii: "C"):
        close()
        parts.append(.channel)
      case UInt8(ascii: "P"):
        close()
        parts.append(.payload)
      case let other:
        let found = other.map { $0 > 0x20 && $0 < 0x7F ? "%\(Unicode.Scalar($0))" : "a percent sign" }
        throw BenchError(
          "the template \"\(name)\" (\"\(text)\") has \(found ?? "a percent sign at its end"), which stands for nothing; "
            + "write %C for the channel, %P for the payload, %% for a percent sign.")
      }
    }
    close()
    self.parts = parts
    guard !text.contains(String(describing: Marker.magic)) else {
      throw BenchError("the template \"\(name)\" contains \(Marker.magic), by which arrivals are known; leave it out.")
    }
  }

  func count(_ part: Part) -> Int { parts.count { $0 == part } }

  /// - Parameter payload: nothing where the template has no place for it.
  @inline(__always)
  func write(_ channel: String, _ payload: UnsafeRawBufferPointer, into out: inout Outgoing) {
    for part in parts {
      switch part {
      case .text(let text): out.bytes.append(contentsOf: text)
      case .channel: out.append(channel)
      case .payload: unsafe out.append(payload)
      }
    }
  }

  /// For templates without a payload.
  func text(_ channel: String) -> [UInt8] {
    var out = Outgoing()
    unsafe write(channel, UnsafeRawBufferPointer(start: nil, count: 0), into: &out)
    return out.bytes
  }
}
