import Log
import Wire

/// Publications that backends have committed to the outbox of the log's database, and that the broker publishes like
/// those of a service.
struct OutboxPostings {
  /// What came while the broker was starting. Bounded by what the store hands out.
  fileprivate var held: [OutboxMessage] = []
  /// The round in which one could not be published for now: those of the round that come after it wait for the next one,
  /// as they must not overtake it.
  fileprivate var failedRound: Int?

  /// - Throws: where another message of the round has failed before.
  func check(_ message: OutboxMessage.ID) throws(ClientError) {
    if failedRound == message.round {
      throw .internalError.saying("a publication before this one has to be tried again first")
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
    if postings.held.isEmpty || isStarting { return }
    let messages = postings.held
    postings.held = []
    for message in messages {
      do throws(ClientError) {
        handle(try Self.request(of: message), for: .outbox(message.id), in: &turn)
      } catch {
        conclude(message.id, .failed(error))
      }
    }
  }

  private static func request(of message: OutboxMessage) throws(ClientError) -> BrokerRequest {
    let fields = try JSONArguments(message.options, called: "the options")
    return try ServiceRequest.read("publish", fields, channel: message.channel, payload: message.data)
  }

  /// Tells the store what became of a message.
  func conclude(_ message: OutboxMessage.ID, _ response: BrokerResponse) {
    guard case .failed(let error) = response else { return stores.disk.conclude(message, .published) }
    if error.temporary { postings.failedRound = message.round }
    stores.disk.conclude(message, error.temporary ? .failed(error) : .refused(error))
  }
}
