public import Log
public import Wire

/// Answers to searches. The index of messages searches on a thread of its own.
extension BrokerCore {
  /// - Parameters:
  ///   - found: the messages, newest first; nil where this broker has no index.
  ///   - user: who searched, for the operator's log where too many searches wait; "" for a service.
  public func searched(
    _ found: Result<[FoundMessage], LogError>?, of user: String = "", for requester: Requester,
    in turn: inout Turn
  ) {
    if case .failure(.backlog) = found { tally.limited(.searches, from: user.isEmpty ? "a service" : user) }
    let response: BrokerResponse =
      switch found {
      case .success(let found): .result(Self.json(of: found))
      case .failure(.backlog): .failed(.tooManyRequests.saying("too many searches wait; try again in a moment"))
      case .failure(.closed):
        .failed(.internalError.saying("the server is shutting down; search again on the next connection"))
      case .failure: .failed(.internalError.saying("the search failed on the server; try again later"))
      case nil:
        .failed(.notAvailable.saying("this server keeps no index of messages; ask whoever runs it to look at its log"))
      }
    answerAndRemember(requester, response, in: &turn)
  }

  /// The answer to a search. It has no tags, because they would tell from whom a message is kept.
  private static func json(of found: [FoundMessage]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.list("messages") { writer in
        for found in found {
          if writer.bytes.count > MessageSearch.answerBytes { return }
          let publication = found.publication
          writer.object { writer in
            writer.write("channel", found.channel.string)
            writer.write("offset", publication.offset)
            writer.write("time", publication.time)
            if let user = publication.info?.user, !user.isEmpty { writer.write("user", user) }
            writer.write("data", raw: publication.data)
          }
        }
      }
    }
    return writer.bytes
  }
}
