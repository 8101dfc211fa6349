import Gateway
import Wire

/// A subscriber as an SDK is one: remembers its position, recovers, and would notice a gap.
final class SimulatedClient {
  enum State: Equatable {
    case idle
    /// Asked; the position it asked from.
    case subscribing(tag: UInt64, since: StreamPosition?)
    case live
  }

  let name: String
  let channel: ChannelName
  let format: WireFormat
  let loop: Int
  var gateway: Int
  /// Changes with every connection: answers to an older one are not its own.
  var connection: UInt64
  var state = State.idle
  /// Where it stands; nil until the first answer.
  var position: StreamPosition?
  /// Whether its next subscribe may be tried with a small answer.
  var triesSmall = true
  /// Publications under way, by tag.
  var publishing: [UInt64: [UInt8]] = [:]

  init(name: String, channel: ChannelName, format: WireFormat, loop: Int, gateway: Int, connection: UInt64) {
    self.name = name
    self.channel = channel
    self.format = format
    self.loop = loop
    self.gateway = gateway
    self.connection = connection
  }

  var info: ClientInfo { ClientInfo(user: name, client: "\(name)-\(connection)") }

  /// - Returns: a sentence where the broker or the gateway broke a promise.
  func subscribed(_ answer: BrokerResponse.Subscribed, since: StreamPosition?) -> String? {
    state = .live
    defer { position = answer.position }
    guard answer.recovered else {
      return answer.publications.isEmpty ? nil : "\(name): publications in a recovery that is not whole"
    }
    guard let since else { return "\(name): recovered without asking" }
    guard since.epoch == answer.position.epoch else { return "\(name): recovered over a change of epoch" }
    var expected = since.offset
    for publication in answer.publications {
      expected += 1
      if publication.offset != expected { return "\(name): recovery has \(publication.offset) instead of \(expected)" }
    }
    return expected == answer.position.offset
      ? nil : "\(name): a recovery called whole ends at \(expected), the top is \(answer.position.offset)"
  }

  func received(_ publication: Publication) -> String? {
    guard state == .live, let current = position else { return nil }
    position?.offset = publication.offset
    return publication.offset == current.offset + 1
      ? nil : "\(name): live publication \(publication.offset) after \(current.offset)"
  }
}
