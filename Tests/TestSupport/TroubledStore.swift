public import Log
public import Wire

/// A store that stands before another and delays its questions, so that they reach it later and in another order. Each
/// question is answered as things stand when it arrives, as by a store whose readers are busy.
public final class TroubledStore: LogStore {
  public let inner: any LogStore
  private var random: SeededGenerator
  /// Questions on their way, and after how many more calls of ``takeNews()`` each arrives.
  private var underWay: [(question: LogQuestion, looks: Int)] = []

  public init(_ inner: any LogStore, seed: UInt64) {
    self.inner = inner
    random = SeededGenerator(seed: seed)
  }

  public func ask(_ question: LogQuestion) -> LogAnswer? {
    underWay.append((question, Int.random(in: 0...4, using: &random)))
    return nil
  }

  public func takeNews() -> [LogNews] {
    var news: [LogNews] = []
    for index in underWay.indices { underWay[index].looks -= 1 }
    let arrived = underWay.filter { $0.looks < 0 }.map(\.question).shuffled(using: &random)
    underWay.removeAll { $0.looks < 0 }
    for question in arrived {
      if let answer = inner.ask(question) { news.append(.answered(question, answer)) }
    }
    // The inner store's news comes first, as it is older: what became of a channel must come in order.
    return inner.takeNews() + news
  }

  public func append(_ batch: LogBatch) -> AppendOutcome { inner.append(batch) }
  public func release(_ channel: ChannelName) { inner.release(channel) }
  public func sweep(now: Int64) { inner.sweep(now: now) }
  public func scrub() { inner.scrub() }
  public var bytesWaiting: Int { inner.bytesWaiting }
  public var isRefusing: Bool { inner.isRefusing }
  public func close() { inner.close() }
}
