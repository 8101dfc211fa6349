import Log

/// One turn of the broker: its time, what is to be done upon its inputs, and what the input under way needs of a store.
///
/// **An input never waits for a store.** Where it needs something that is not in memory, it is given up before it has
/// changed anything (``ClientError/waits``), parked with its questions (``WaitingRoom``), and run again from its beginning
/// when they are answered. So everything that an input asks for, it asks for before it changes anything.
public struct Turn {
  public var time: BrokerTime
  public var effects: [BrokerEffect] = []
  /// What the input under way was given up for before, with the answers.
  var known: [StoreReply] = []
  /// What it is given up for now.
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
