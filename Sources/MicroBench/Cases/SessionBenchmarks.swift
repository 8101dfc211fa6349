import Gateway
import Wire

extension MicroBenchmark {
  static let session = [
    MicroBenchmark(
      name: "session-publish", about: "a publish command in, its request out; the broker's answer in, the reply out"
    ) {
      let scene = try SessionScene()
      scene.publish(100)
      return { iterations in scene.publish(iterations) }
    }
  ]
}

/// A client that has connected without a token.
private final class SessionScene {
  private var session: Session
  private let time = SessionTime(monotonic: 1_000, wall: 1_700_000_000)
  private let answer = BrokerResponse.published(StreamPosition(epoch: "epoch", offset: 7))
  private var actions: [SessionAction] = []
  private let command: ClientCommand

  init() throws {
    session = Session(
      rules: SessionRules(.measured, namespaces: Samples.namespaces),
      identity: SessionIdentity(client: "c1", session: "s1"), format: .json, firstPingDelayMilliseconds: 10_000)
    guard let command = try ClientCodec.decode(Samples.jsonPublish, format: .json).first else {
      throw BrokenBenchmark("the sample holds no command")
    }
    self.command = command
    feed(.opened)
    feed(.command(ClientCommand(id: 1, body: .connect(ClientCommand.Connect()))))
    publish(1)
    guard actions.contains(where: { $0 == .send(.publish(id: 7)) }) else {
      throw BrokenBenchmark("the session does not publish")
    }
  }

  func publish(_ iterations: Int) {
    for _ in 0..<iterations {
      actions.removeAll(keepingCapacity: true)
      feed(.command(command))
      if case .request(let tag, _)? = actions.last { feed(.brokerAnswered(tag: tag, answer)) }
      keep(actions)
    }
  }

  private func feed(_ input: SessionInput) { session.handle(input, at: time, into: &actions) }
}
