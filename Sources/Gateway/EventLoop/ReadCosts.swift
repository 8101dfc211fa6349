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

  /// Bytes; nil: the answer is small whatever there is.
  func most(for request: BrokerRequest) -> Int? {
    if case .call(let call) = request { return call.command.isSearch ? Self.searchBytes : nil }
    guard request.answerLimit != nil else { return nil }
    return comesInPages(request) ? pageBytes : wholeBytes
  }

  /// A page that ends early is asked for again from there; other answers are whole, or none at all.
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

  /// What an app finds for somebody: what it answers with ends there, and its last message goes beyond.
  private static let searchBytes = 320 << 10
}
