import Wire

/// Questions: those that memory can answer are answered at once, the others by the threads that read.
extension TailedStore {
  public final func ask(_ question: LogQuestion) -> LogAnswer? {
    if isClosed { return .failed(.closed) }
    applyOutcomes()
    if isFenced { return .failed(.fenced) }
    asked.insert(question)
    let answer = answerNow(question)
    if answer != nil { asked.remove(question) }
    return answer
  }

  /// Nil where the answer comes later.
  private final func answerNow(_ question: LogQuestion) -> LogAnswer? {
    switch question {
    case .open(let name, _, let withEntries, _):
      loading.insert(name)
      upkeep.opened(name)
      read(.channel(name, now: turn.now(), withEntries: withEntries), for: .answer(question))
      return nil
    case .page(let name, let range): return page(of: name, range, question)
    case .entry(let name, let key): read(.entry(name, key), for: .answer(question))
    case .ending(let name, let score, let limit):
      read(.ending(name, score: score, limit: limit), for: .answer(question))
    case .kept(let account):
      if let amount = shares.amount(of: account) { return .kept(amount) }
      shares.look(for: account)
      read(.kept(account), for: .answer(question))
    case .erasure(let question): return erase(question)
    case .removeHistory(let name, let most):
      guard let channel = hot[name] else { return .removed }
      if !inbox.ask(.remove(channel.writer, through: most, question)) { return .failed(.closed) }
    }
    return nil
  }

  public final func takeNews() -> [LogNews] {
    if isClosed { return [] }
    applyOutcomes()
    defer { news = [] }
    return news
  }

  /// Takes what a reader found. An answer that does not hold any more is asked for again.
  final func receive(_ found: ReadJob.Found, for request: ReadRequest) {
    // The question was answered when the channels were lost, and nothing that was read before is true any more.
    if request.terms != terms { return }
    if case .failed(let error) = found { readFailed(error) }
    switch request.purpose {
    case .refresh(let place): if case .channel(let disk) = found { refresh(place, from: disk) }
    case .answer(let question):
      guard let answer = answer(question, found, to: request) else { return }
      tell(answer, to: question)
    }
  }

  /// The answer to a question, from what a reader found; nil where the question was asked anew.
  private final func answer(_ question: LogQuestion, _ found: ReadJob.Found, to request: ReadRequest) -> LogAnswer? {
    switch (question, found) {
    case (.open(let name, let durability, let withEntries, let ifExists), .channel(let disk)):
      // Rows were deleted while the channel was read: its own may be one of them, or its name's generation has risen.
      if request.deletions != upkeep.deletions || isOvertaken(disk, of: name, readFor: request) {
        read(.channel(name, now: turn.now(), withEntries: withEntries), for: .answer(question))
        return nil
      }
      loading.remove(name)
      return .opened(open(name, durability, disk, ifExists: ifExists))
    case (.page(let name, let range), .page(let stored, let warm)):
      guard let channel = hot[name] else { return .page([]) }
      if let warm { hot.use(channel) { channel.warm(warm) } }
      return pageCame(stored, of: channel, range, through: request.job.end, question)
    case (.entry(let name, _), .entry(let entry, let disk)):
      return .entry(entry, at: request.deletions == upkeep.deletions ? position(of: name, disk) : nil)
    case (.ending, .ending(let keys)): return .ending(keys)
    case (.erasure, .traced(let page)): return .erasure(.page(page))
    case (.kept(let account), .kept(let amount)): return .kept(shares.learn(amount, of: account))
    case (let question, .failed(let error)):
      failed(question)
      return .failed(error)
    default: preconditionFailure("a reader answers what it was asked")
    }
  }

  private final func failed(_ question: LogQuestion) {
    switch question {
    case .open(let name, _, _, _): loading.remove(name)
    case .page(let name, _): hot[name]?.readEnded()
    case .kept(let account): shares.lookFailed(for: account)
    case .entry, .ending, .removeHistory, .erasure: break
    }
  }

  final func removed(_ result: Result<UInt64, LogError>, _ question: LogQuestion) {
    switch result {
    case .success(let offset):
      if case .removeHistory(let name, _) = question, let channel = hot[name] {
        hot.counting(channel) {
          channel.floor = max(channel.floor, offset)
          channel.trimTail()
        }
      }
      tell(.removed, to: question)
    case .failure(let error): tell(.failed(error), to: question)
    }
  }

  // MARK: Pages

  private final func page(of name: ChannelName, _ range: LogRange, _ question: LogQuestion) -> LogAnswer? {
    guard let channel = hot[name], let span = range.span(above: channel.floor, through: channel.top) else {
      return .page([])
    }
    channel.lastUse = hot.clock
    if channel.covers(span) {
      var found = FoundPublications(range)
      hot.use(channel) { channel.tail.read(span, into: &found) }
      return .page(found.publications)
    }
    channel.readBegan()
    readPage(of: channel, range, span, question)
    return nil
  }

  private final func readPage(
    of channel: HotChannel, _ range: LogRange, _ span: ClosedRange<UInt64>, _ question: LogQuestion
  ) {
    coldReadCount += 1
    let end = min(span.upperBound, channel.committed)
    let cold = span.lowerBound <= end ? span.lowerBound...end : nil
    read(.page(channel.name, range, span: cold, warmth: channel.takeWarmth()), for: .answer(question))
  }

  /// Takes the part of a page that was on disk. The rest is in the tail; where it has left that, the page is asked for
  /// again.
  ///
  /// - Parameter end: the newest offset that was on disk when the page was asked for.
  private final func pageCame(
    _ stored: [Publication], of channel: HotChannel, _ range: LogRange, through end: UInt64, _ question: LogQuestion
  ) -> LogAnswer? {
    var found = FoundPublications(range)
    if let span = range.span(above: channel.floor, through: channel.top) {
      let rest = span.upperBound > end ? max(span.lowerBound, end + 1)...span.upperBound : nil
      if !channel.add(stored, and: rest, to: &found) {
        readPage(of: channel, range, span, question)
        return nil
      }
    }
    channel.readEnded()
    return .page(found.publications)
  }

  // MARK: Channels

  /// Whether a commit overtook the reading of a channel that is being opened: the disk was read before it, and the store
  /// heard of it, and dropped what memory had of it, before it got the answer. Neither of the two knows then what those
  /// publications brought: keys and origins, without which a repeat is published twice, and entries of a map.
  ///
  /// Such a channel is read again, and that ends: only a commit that was told of after the reading was asked for makes
  /// it void, and the next reading is asked for with that commit known. So there are at most as many readings more as
  /// commits of what was under way, since nobody appends to a channel that is being opened. That a row once read has all
  /// commits told of before is true of both engines (what SQLite's journal holds counts: ``ChannelReader/row(of:)``), and
  /// is not relied on: a row that lags without such a commit is taken as it is. Rows that leave make none: a channel that
  /// is opened meanwhile begins at 0, and its first commit is told of after the end of the deletion.
  private final func isOvertaken(
    _ disk: ReadJob.ChannelOnDisk, of name: ChannelName, readFor request: ReadRequest
  ) -> Bool {
    guard let channel = hot[name], channel.committed > request.committed else { return false }
    return disk.top(in: channel.writer.storedEpoch) < channel.committed
  }

  private final func open(
    _ name: ChannelName, _ durability: Durability, _ disk: ReadJob.ChannelOnDisk, ifExists: Bool
  ) -> OpenedChannel {
    let row = disk.row.flatMap { upkeep.isLeaving($0.id, name) ? nil : $0 }
    if let known = hot[name], known.isDurable != (durability == .durable), known.isSettled { hot.remove(known) }
    let exists = hot[name] != nil || row?.durability == durability.rawValue
    if ifExists, !exists {
      let epoch = withSuffix(epochWithoutRow(of: name, durability, disk.generation), durability)
      return OpenedChannel(position: StreamPosition(epoch: epoch, offset: 0), exists: false)
    }
    let channel = hot[name] ?? add(name, durability: durability, row: row, generation: disk.generation)
    channel.isHeld = true
    channel.lastUse = hot.clock
    // The reading saw a commit that the store has not been told of: the channel stands where its keys and entries do. The
    // top of a relaxed channel is ahead of the disk anyway.
    let top = row == nil ? 0 : disk.top(in: channel.writer.storedEpoch)
    if channel.isDurable, top > channel.committed {
      hot.counting(channel) { channel.advance(top: top, floor: 0, count: 0) }
    }
    let now = turn.now()
    var (keys, origins) = channel.changes.traces(at: now)
    if row != nil {
      keys = (disk.keys + keys).newestPerKey()
      origins.merge(disk.origins) { max($0, $1) }
    }
    var opened = OpenedChannel(
      position: channel.position, exists: exists, idempotencyKeys: keys, recentOrigins: origins)
    if row != nil { opened.entries = disk.entries }
    return opened
  }

  private final func refresh(_ place: HotPlace, from disk: ReadJob.ChannelOnDisk) {
    // A channel with more entries under way by now is read again when they are back.
    guard let channel = hot[place], channel.isStale, channel.isSettled else { return }
    let row = disk.row.flatMap { upkeep.isLeaving($0.id, channel.name) ? nil : $0 }
    // More has got to the disk since it was read.
    if row?.top ?? 0 < channel.committed { return refresh(channel) }
    hot.remove(channel)
    let standing = Standing(storedEpoch: channel.writer.storedEpoch, top: channel.committed)
    let renewed = add(
      channel.name, durability: .durable, row: row, generation: disk.generation, standing: standing)
    renewed.isHeld = true
    renewed.takeReads(of: channel)
  }

  /// Reads from disk where the channel stands.
  final func refresh(_ channel: HotChannel) {
    read(.channel(channel.name, now: turn.now(), withEntries: false), for: .refresh(channel.place))
  }

  /// Where the broker has seen a channel stand that has no row.
  private struct Standing {
    var storedEpoch: String?
    var top: UInt64
  }

  /// - Parameter standing: where the broker has seen the channel stand; nil where it was never opened.
  private final func add(
    _ name: ChannelName, durability: Durability, row: ChannelReader.Row?, generation: Int64, standing: Standing? = nil
  ) -> HotChannel {
    // A channel of durability `memory` that is opened here is kept as a relaxed one rather than refused.
    let durability: Durability = durability == .durable ? .durable : .relaxed
    // A channel whose durability has changed gets a new epoch: with the old one, only the suffixes would tell the two
    // apart.
    let isRenewed = row.map { $0.durability != durability.rawValue } ?? false
    var stored = isRenewed ? nil : row?.epoch
    if stored == nil { stored = standing?.storedEpoch }
    if stored == nil, row != nil { stored = Epoch.random(using: &randomness) }
    let storedEpoch = stored ?? epochWithoutRow(of: name, durability, generation)
    let state = WriterChannel.State(id: row?.id, top: row?.top ?? standing?.top ?? 0, isRenewed: isRenewed)
    let channel = HotChannel(
      writer: WriterChannel(
        name: name, place: hot.nextPlace, storedEpoch: storedEpoch, durability: durability, state: state,
        quota: QuotaScope(of: name, in: turn.quotaNamespaces)),
      epoch: withSuffix(storedEpoch, durability), clock: hot.clock)
    channel.ttl = row?.ttl ?? 0
    hot.insert(channel)
    upkeep.opened(name)
    return channel
  }

  /// Where a durable channel stands, without opening it; nil: opening it would change that.
  private final func position(of name: ChannelName, _ disk: ReadJob.ChannelOnDisk) -> StreamPosition? {
    if let channel = hot[name] { return channel.isDurable ? channel.position : nil }
    guard let row = disk.row else {
      let epoch = epochWithoutRow(of: name, .durable, disk.generation)
      return upkeep.isDeleting ? nil : StreamPosition(epoch: withSuffix(epoch, .durable), offset: 0)
    }
    guard !upkeep.isLeaving(row.id, name), row.durability == Durability.durable.rawValue else { return nil }
    return StreamPosition(epoch: withSuffix(row.epoch, .durable), offset: row.top)
  }

  /// The epoch as the broker sees it: it ends with the era or the run, which change for all channels of a durability.
  private final func withSuffix(_ epoch: String, _ durability: Durability) -> String {
    let suffix = durability == .durable ? epochs.era : epochs.run
    return suffix.isEmpty ? epoch : epoch + "." + suffix
  }

  /// The epoch of a channel that has no row. No offset but 0 was ever given out in it, or the row would be there: so it
  /// still holds.
  private final func epochWithoutRow(of name: ChannelName, _ durability: Durability, _ generation: Int64) -> String {
    // Rows are about to be deleted, and the generations of their names have not risen yet.
    if upkeep.isDeleting { return Epoch.random(using: &randomness) }
    return Epoch.derived(from: epochs.seed, generation: generation, durability: durability, name: name)
  }
}
