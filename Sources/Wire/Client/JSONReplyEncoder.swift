/// Writes replies as the JSON of the client protocol. Zero values are left out, except for the eight that SDKs read
/// without checking that they are there (``ClientInfo``, presence, its statistics, history).
enum JSONReplyEncoder {
  static func encode(_ reply: ClientReply, into bytes: inout [UInt8]) {
    // The array is taken out of the caller's variable: if it were in two while it grows, it would be copied for every
    // reply.
    var taken: [UInt8] = []
    swap(&taken, &bytes)
    var writer = JSONWriter(appendingTo: taken)
    taken = []
    writer.object { write(reply, &$0) }
    bytes = writer.bytes
  }

  private static func write(_ reply: ClientReply, _ writer: inout JSONWriter) {
    switch reply {
    case .serverPing: return
    case .push(let push): return writer.object("push") { write(push, &$0) }
    case .connect(let id, let result):
      writer.write("id", id)
      writer.object("connect") { write(result, &$0) }
    case .subscribe(let id, let result):
      writer.write("id", id)
      writer.object("subscribe") { write(result, &$0) }
    case .unsubscribe(let id): empty("unsubscribe", id, &writer)
    case .publish(let id): empty("publish", id, &writer)
    case .ping(let id): empty("ping", id, &writer)
    case .presence(let id, let members, let isPartial):
      writer.write("id", id)
      writer.object("presence") { writer in
        writer.object("presence") { writer in
          for info in members { writer.object(named: info.client) { $0.write(info) } }
        }
        if isPartial { writer.write("partial", true) }
      }
    case .presenceStats(let id, let clients, let users):
      writer.write("id", id)
      writer.object("presence_stats") { writer in
        writer.write("num_clients", clients)
        writer.write("num_users", users)
      }
    case .history(let id, let result):
      writer.write("id", id)
      writer.object("history") { writer in
        list("publications", result.publications, .init(isBinary: result.binaryData), &writer)
        writer.write("epoch", result.epoch)
        writer.write("offset", result.offset)
      }
    case .rpc(let id, let data):
      writer.write("id", id)
      writer.object("rpc") { if !data.isEmpty { $0.write("data", raw: data) } }
    case .refresh(let id, let result):
      writer.write("id", id)
      writer.object("refresh") { writer in
        if !result.client.isEmpty { writer.write("client", result.client) }
        if !result.version.isEmpty { writer.write("version", result.version) }
        expiry(result.expires, result.ttl, &writer)
      }
    case .subRefresh(let id, let expires, let ttl, let items):
      writer.write("id", id)
      writer.object("sub_refresh") { writer in
        expiry(expires, ttl, &writer)
        write("items", items, .value, &writer)
      }
    case .error(let id, let error):
      writer.write("id", id)
      writer.object("error") { writer in
        writer.write("code", error.code)
        writer.write("message", error.message)
        if error.temporary { writer.write("temporary", true) }
      }
    }
  }

  private static func empty(_ key: StaticString, _ id: UInt32, _ writer: inout JSONWriter) {
    writer.write("id", id)
    writer.object(key) { _ in }
  }

  private static func expiry(_ expires: Bool, _ ttl: UInt32, _ writer: inout JSONWriter) {
    if expires { writer.write("expires", true) }
    if ttl > 0 { writer.write("ttl", ttl) }
  }

  private static func write(_ result: ClientReply.ConnectResult, _ writer: inout JSONWriter) {
    writer.write("client", result.client)
    if !result.version.isEmpty { writer.write("version", result.version) }
    expiry(result.expires, result.ttl, &writer)
    if !result.data.isEmpty { writer.write("data", raw: result.data) }
    if !result.subs.isEmpty {
      writer.object("subs") { writer in
        for (channel, sub) in result.subs.sorted(by: { $0.key < $1.key }) {
          writer.object(named: channel) { write(sub, &$0) }
        }
      }
    }
    if result.ping > 0 { writer.write("ping", result.ping) }
    if result.pong { writer.write("pong", true) }
    if !result.session.isEmpty { writer.write("session", result.session) }
    if !result.node.isEmpty { writer.write("node", result.node) }
  }

  private static func write(_ result: ClientReply.SubscribeResult, _ writer: inout JSONWriter) {
    expiry(result.expires, result.ttl, &writer)
    if result.recoverable { writer.write("recoverable", true) }
    if !result.epoch.isEmpty { writer.write("epoch", result.epoch) }
    write("publications", result.publications, result.delta ? .text : .init(isBinary: result.binaryData), &writer)
    if result.recovered { writer.write("recovered", true) }
    if result.offset > 0 { writer.write("offset", result.offset) }
    if result.positioned { writer.write("positioned", true) }
    if !result.data.isEmpty { writer.write("data", raw: result.data) }
    if result.wasRecovering { writer.write("was_recovering", true) }
    if result.delta { writer.write("delta", true) }
    if result.type != 0 { writer.write("type", result.type) }
    if result.phase != 0 { writer.write("phase", result.phase) }
    if !result.cursor.isEmpty { writer.write("cursor", result.cursor) }
    write("state", result.state, .init(isBinary: result.binaryData), &writer)
    if result.publishDebounce > 0 { writer.write("publish_debounce", result.publishDebounce) }
    if let gap = result.gap { writer.object("gap") { write(gap, &$0) } }
  }

  private static func write(_ gap: RecoveryGap, _ writer: inout JSONWriter) {
    if let missing = gap.missing {
      writer.write("from", missing.lowerBound)
      writer.write("to", missing.upperBound)
    }
    writer.write("reason", gap.reason.rawValue)
  }

  private static func write(
    _ key: StaticString, _ publications: [Publication], _ payload: PublicationPush.PayloadForm,
    _ writer: inout JSONWriter
  ) {
    if !publications.isEmpty { list(key, publications, payload, &writer) }
  }

  private static func list(
    _ key: StaticString, _ publications: [Publication], _ payload: PublicationPush.PayloadForm,
    _ writer: inout JSONWriter
  ) {
    writer.list(key) { writer in
      for publication in publications { writer.object { $0.write(publication, payload) } }
    }
  }

  private static func write(_ push: ClientPush, _ writer: inout JSONWriter) {
    switch push {
    case .publication(let channel, let publication, let binary):
      writer.write("channel", channel)
      writer.object("pub") { $0.write(publication, binary: binary) }
    case .join(let channel, let info):
      writer.write("channel", channel)
      writer.object("join") { $0.object("info") { $0.write(info) } }
    case .leave(let channel, let info):
      writer.write("channel", channel)
      writer.object("leave") { $0.object("info") { $0.write(info) } }
    case .unsubscribe(let channel, let code):
      writer.write("channel", channel)
      writer.object("unsubscribe") { writer in
        writer.write("code", code.code)
        writer.write("reason", code.reason)
      }
    case .message(let data):
      writer.object("message") { if !data.isEmpty { $0.write("data", raw: data) } }
    case .subscribe(let channel, let recoverable, let positioned, let position, let data):
      writer.write("channel", channel)
      writer.object("subscribe") { writer in
        if recoverable { writer.write("recoverable", true) }
        if !position.epoch.isEmpty { writer.write("epoch", position.epoch) }
        if position.offset > 0 { writer.write("offset", position.offset) }
        if positioned { writer.write("positioned", true) }
        if !data.isEmpty { writer.write("data", raw: data) }
      }
    case .disconnect(let code):
      writer.object("disconnect") { writer in
        writer.write("code", code.code)
        writer.write("reason", code.reason)
        if code.clientReconnects { writer.write("reconnect", true) }
      }
    case .refresh(let expires, let ttl):
      writer.object("refresh") { expiry(expires, ttl, &$0) }
    case .reconnect(let after):
      writer.object("reconnect") { $0.write("after", after) }
    }
  }
}
