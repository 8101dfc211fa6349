import Wire

/// What gateways and brokers say to each other: the two frames behind a peer's identity, as ZeroMQ carries them.
enum LinkTargets {
  /// The first 17 bytes are the header, of which most inputs have the kind alone that they choose.
  static func message(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    let head = Array(input.prefix(LinkHeader.length))
    guard let header = try? LinkHeader(bytes: head) else { return false }
    try require(header.bytes == head, "a header is not written as it was read")
    let message = LinkMessage(header: header, bytes: Array(input.dropFirst(LinkHeader.length)))
    try require(message.header == header, "a message has another header than its own")
    try require(message.cost >= 0, "a message costs less than nothing")
    if case .unreadable = message.body { return false }
    let again = LinkMessage(header: header, bytes: message.body.bytes)
    try require(again == message, "\(message) is read as \(again) when it is written again")
    return true
  }

  /// What a client or a service may ask for, the broker can read: a message that it cannot read would end the link, for
  /// all of the gateway's clients.
  static func checkRequest(_ request: BrokerRequest) throws(BrokenProperty) {
    let message = LinkRequest(id: 1, oldestPending: 1, request: request)
    let again = try? LinkRequest(bytes: message.bytes)
    try require(again == message, "\(message) is read as \(String(describing: again)) on the link")
  }
}
