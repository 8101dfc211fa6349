import Auth
import Wire

/// Puts the broker's answers together as Centrifugo's clients expect them.
struct APIReplies {
  let plan: APIPlan
  /// The answers to all requests of the plan, in their order.
  let responses: [BrokerResponse]
  /// Whether a channel's payloads are shown as base64.
  let isBinary: (ChannelName?) -> Bool
  /// Whether the client may hear of a channel.
  let mayRead: (ChannelName) -> Bool

  var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 64 * (responses.count + 1))
    writer.object { writer in
      guard plan.isBatch else {
        if let command = plan.commands.first { write(command, alone: true, &writer) }
        return
      }
      writer.list("replies") { writer in
        for command in plan.commands { writer.object { write(command, alone: false, &$0) } }
      }
    }
    return writer.bytes
  }

  /// - Parameter alone: the answer stands under `result`; in a batch it stands under the method's name.
  private func write(_ command: APIPlan.Command, alone: Bool, _ writer: inout JSONWriter) {
    if let failure = command.failure { return write(failure, &writer) }
    guard let method = command.method else { return write(ClientError.methodNotFound, &writer) }
    let name = alone ? "result" : method.rawValue
    if method == .broadcast {
      return writer.object(named: name) { writer in
        writer.list("responses") { writer in
          for part in command.parts { writer.object { write(part, "result", &$0) } }
        }
      }
    }
    if let part = command.parts.first { write(part, name, &writer) }
  }

  private func write(_ part: APIPlan.Part, _ name: String, _ writer: inout JSONWriter) {
    switch part {
    case .refused(let error): write(error, &writer)
    case .asked(let place, let request):
      guard responses.indices.contains(place) else { return write(ClientError.internalError, &writer) }
      if case .failed(let error) = responses[place] { return write(error, &writer) }
      let response = responses[place]
      // What is answered to inspections and about webhooks is JSON already.
      if case .result(let json) = response { return writer.write(named: name, raw: json) }
      writer.object(named: name) { write(response, to: request, &$0) }
    }
  }

  private func write(_ error: ClientError, _ writer: inout JSONWriter) {
    writer.object("error") { writer in
      writer.write("code", error.code)
      writer.write("message", error.message)
      if error.temporary { writer.write("temporary", true) }
    }
  }

  private func write(_ response: BrokerResponse, to request: BrokerRequest, _ writer: inout JSONWriter) {
    switch response {
    case .published(let position): write(position, &writer)
    case .history(let page):
      writer.list("publications") { writer in
        let binary = isBinary(request.channel)
        for publication in page.publications { writer.object { $0.write(publication, binary: binary) } }
      }
      write(page.position, &writer)
    case .presence(let members, let isPartial):
      writer.object("presence") { writer in
        for member in members { writer.object(named: member.client) { $0.write(member) } }
      }
      if isPartial { writer.write("partial", true) }
    case .presenceStats(let clients, let users):
      writer.write("num_clients", clients)
      writer.write("num_users", users)
    case .channels(let channels):
      writer.object("channels") { writer in
        for channel in channels where mayRead(channel) { writer.object(named: channel.string) { _ in } }
      }
    case .channelCounts(let counts, let unanswered):
      let allowed = counts.filtered(mayRead)
      writer.object("channels") { writer in
        for entry in allowed.entries {
          writer.object(named: entry.channel.string) { $0.write("num_clients", entry.clients) }
        }
      }
      if allowed.hasMore || unanswered > 0 { writer.write("partial", true) }
    case .info(let info): writer.write(info)
    case .mapPage(let page):
      write(page.position, &writer)
      writer.list("entries") { writer in
        let binary = isBinary(request.channel)
        for entry in page.entries { writer.object { $0.write(entry, binary: binary) } }
      }
      if !page.cursor.isEmpty { writer.write("cursor", page.cursor) }
    case .done, .subscribed, .tooLarge, .unread, .result, .failed: break
    }
  }

  private func write(_ position: StreamPosition, _ writer: inout JSONWriter) {
    writer.write("offset", position.offset)
    writer.write("epoch", position.epoch)
  }
}
