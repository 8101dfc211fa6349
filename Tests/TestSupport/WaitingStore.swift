public import Log
public import Wire

/// Questions to a store that wait for the answer, which tests have the time for.
extension LogStore {
  public func answer(to question: LogQuestion) throws(LogError) -> LogAnswer {
    var answer = ask(question)
    let hasCome = blocksUntil(within: .seconds(300)) {
      if answer == nil { step(for: question) }
      for case .answered(question, let later) in answer == nil ? takeNews() : [] { answer = later }
      return answer != nil
    }
    guard hasCome, let answer else { throw .failed("the store did not answer \(question) within five minutes") }
    if case .failed(let error) = answer { throw error }
    return answer
  }

  /// Lets a store without threads do the work for a question.
  private func step(for question: LogQuestion) {
    guard let store = sqlite, store.options.isStepped else { return }
    switch question {
    case .removeHistory, .erasure: store.step()
    default: break
    }
    store.stepReaders()
  }

  public func open(
    _ channel: ChannelName, durability: Durability, withEntries: Bool = false, ifExists: Bool = false
  ) throws(LogError) -> OpenedChannel {
    let question = LogQuestion.open(channel, durability, withEntries: withEntries, ifExists: ifExists)
    guard case .opened(let opened) = try answer(to: question) else {
      throw .failed("another answer than was asked for")
    }
    return opened
  }

  /// What the store knows of a channel, which is left open or closed as it was.
  public func look(for channel: ChannelName, durability: Durability) throws(LogError) -> OpenedChannel {
    let isOpen = isOpen(channel)
    let found = try open(channel, durability: durability, ifExists: true)
    if !isOpen { release(channel) }
    return found
  }

  private var sqlite: SQLiteStore? { tailed as? SQLiteStore }
  private var tailed: TailedStore? { ((self as? TroubledStore)?.inner ?? self) as? TailedStore }

  private func isOpen(_ channel: ChannelName) -> Bool {
    guard let store = tailed else { return true }
    return store.isHeld(channel)
  }

  /// Asks about a channel of any durability, which is left open or closed as it was.
  private func visit(_ channel: ChannelName, _ question: LogQuestion) throws(LogError) -> LogAnswer {
    let isOpen = isOpen(channel)
    if !isOpen, try !open(channel, durability: .durable, ifExists: true).exists {
      _ = try open(channel, durability: .relaxed, ifExists: true)
    }
    defer { if !isOpen { release(channel) } }
    return try answer(to: question)
  }

  public func read(_ channel: ChannelName, _ range: LogRange) throws(LogError) -> [Publication] {
    guard case .page(let page) = try visit(channel, .page(channel, range)) else { throw .failed("not a page") }
    return page
  }

  public func removeHistory(of channel: ChannelName) throws(LogError) {
    _ = try visit(channel, .removeHistory(channel, through: .max))
  }

  public func entries(of channel: ChannelName) throws(LogError) -> [Publication] {
    let isOpen = isOpen(channel)
    defer { if !isOpen { release(channel) } }
    return try open(channel, durability: .durable, withEntries: true, ifExists: true).entries
  }

  public func entry(_ key: String, of channel: ChannelName) throws(LogError) -> Publication? {
    guard case .entry(let entry, _) = try answer(to: .entry(channel, IdentifierKey(key))) else {
      throw .failed("not an entry")
    }
    return entry
  }

  public func keys(
    of channel: ChannelName, score: Int64, expiringBy time: Int64, limit: Int
  ) throws(LogError) -> [ExpiringKey] {
    guard case .ending(let keys) = try answer(to: .ending(channel, score: score, limit: limit)) else {
      throw .failed("not the keys that end")
    }
    return keys.filter { $0.expires <= time }
  }

  public func kept(by account: QuotaAccount) throws(LogError) -> KeptAmount {
    guard case .kept(let amount) = try answer(to: .kept(account)) else { throw .failed("not an amount") }
    return amount
  }

  public func takeDueMaps() -> [ChannelName] {
    takeNews().flatMap { news -> [ChannelName] in
      if case .due(let names) = news { return names }
      return []
    }
  }

  public func append(_ entry: LogEntry) -> AppendOutcome { append(.one(entry)) }
  public func append(_ transaction: [LogEntry]) -> AppendOutcome { append(.together(transaction)) }
}
