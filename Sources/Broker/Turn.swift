import Log

/// One turn of the broker: its time, the effects of its inputs, and what the input under way needs of a store.
///
/// **An input never waits for a store.** Where it needs something that is not in memory, it is given up before it has
/// changed anything (``ClientError/waits``), parked with its questions (``WaitingRoom``), and run again from its
/// beginning when they are answered. So an input asks all its questions before it changes anything.
public struct Turn {
  public var time: BrokerTime
  public var effects: [BrokerEffect] = []
  /// Questions for which the input under way was given up before, with their answers.
  var known: [StoreReply] = []
  /// Questions without an answer, for which the input under way is given up now.
  var missing: [LogQuestion] = []

  public init(at time: BrokerTime) { self.time = time }

  func answer(to question: LogQuestion) -> LogAnswer? {
    known.isEmpty ? nil : known.first { $0.question == question }?.answer
  }
}

struct StoreReply {
  var question: LogQuestion
  var answer: LogAnswer
}
