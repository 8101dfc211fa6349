import Log
import Wire

/// Publications that backends have committed to the outbox of the log's database, and that the broker publishes like
/// those of a service; and what apps have sent from other partitions, which goes on beside them.
struct OutboxPostings {
  /// What came while the broker was starting. Bounded by what the store hands out.
  fileprivate var held: [OutboxMessage] = []
  /// The round in which one could not be published for now: those of the round that come after it wait for the next one,
  /// as they must not overtake it.
  fileprivate var failedRound: Int?
  var relays = RelayQueue()

  fileprivate var isEmpty: Bool { held.isEmpty && relays.isEmpty }

  /// - Throws: where another message of the round has failed before.
  func check(_ message: OutboxMessage.ID) throws(ClientError) {
    if failedRound == message.round {
      throw .internalError.saying("what came before this has to be tried again first")
    }
  }
}

extension BrokerCore {
  func publish(_ messages: [OutboxMessage], in turn: inout Turn) {
    postings.held += messages
    goOnPublishing(in: &turn)
  }

  /// Publishes what has come, in that order, once the broker has started.
  func goOnPublishing(in turn: inout Turn) {
    if postings.isEmpty || isStarting { return }
    let messages = postings.held
    postings.held = []
    for message in messages {
      if message.app != nil {
        postings.relays.add(message)
        continue
      }
      do throws(ClientError) {
        handle(try Self.request(of: message), for: .outbox(message.id), in: &turn)
      } catch {
        conclude(message.id, .failed(error))
      }
    }
    takeInRelays(in: &turn)
  }

  private static func request(of message: OutboxMessage) throws(ClientError) -> BrokerRequest {
    let fields = try JSONArguments(message.options, called: "the options")
    return try ServiceRequest.read("publish", fields, channel: message.channel, payload: message.data)
  }

  /// Tells the store what became of a message.
  func conclude(_ message: OutboxMessage.ID, _ response: BrokerResponse) {
    guard case .failed(let error) = response else {
      // Only an app that has taken a relay in answers with a result.
      if case .result = response { tally.counters.relaysReceived += 1 }
      return stores.disk.conclude(message, .published)
    }
    if error.temporary { postings.failedRound = message.round }
    stores.disk.conclude(message, error.temporary ? .failed(error) : .refused(error))
  }
}
