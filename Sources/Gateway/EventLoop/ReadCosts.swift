import Wire

/// The most that a client's read may be answered with.
struct ReadCosts {
  let pageBytes: Int
  let wholeBytes: Int
  let namespaces: NamespaceTable

  init(_ rules: SessionRules) {
    pageBytes = rules.configuration.historyBytes
    wholeBytes = rules.configuration.recoveryBytes
    namespaces = rules.namespaces
  }

  /// The most bytes that the request may be answered with; nil: the answer is small, whatever is stored.
  func most(for request: BrokerRequest) -> Int? {
    if case .call(let call) = request { return call.command.isSearch ? Self.searchBytes : nil }
    guard request.answerLimit != nil else { return nil }
    return comesInPages(request) ? pageBytes : wholeBytes
  }

  /// Whether the answer may be a page that ends early, and the client asks again from there; other answers are whole,
  /// or none at all.
  private func comesInPages(_ request: BrokerRequest) -> Bool {
    switch request {
    case .history: true
    case .readMap(let read): !isEphemeral(read.channel)
    case .subscribe(let subscribe): subscribe.map != nil && !isEphemeral(subscribe.channel)
    default: false
    }
  }

  private func isEphemeral(_ channel: ChannelName) -> Bool {
    namespaces.options(for: channel)?.mapMode == .ephemeral
  }

  /// What a search may be answered with: the broker ends such an answer at 256 KiB, and the last message that it finds
  /// may go beyond that by its own size.
  private static let searchBytes = 320 << 10
}
