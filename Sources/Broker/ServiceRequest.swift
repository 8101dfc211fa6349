import Wire

/// Reads a service's request, whichever door it comes through: frames of ZeroMQ, which are those on the wire without the
/// request id, or a command of the server API.
enum ServiceRequest {
  static let wrongFrames = ClientError.badRequest.saying(
    "a request is the frames [id] [method] [parameters as JSON] and, for publish, [payload]")

  private static let noPayload =
    "needs the payload: over ZeroMQ the frame after the parameters, in the server API data or b64data"

  /// Most bytes of the JSON that comes with a subscription, as many as a token can bring along: each order is kept until
  /// every gateway has carried it out.
  private static let longestGrant = 16_384

  private struct Parameters {
    var channel: String?
    var idempotencyKey: String?
    var tags: [String: String]?
    var limit: Int64?
    var since: StreamPosition?
    var reverse: Bool?
    var prefix: String?
    var pattern: String?
    var key: String?
    var removed: Bool?
    var score: Int64?
    var offset: UInt64?
    var cursor: String?
    var method: String?
    var user: String?
    var client: String?
    var session: String?
    var whitelist: [String]?
    var code: UInt32?
    var reason: String?
    var uid: String?
    var issuedBefore: Int64?
    var expireAt: Int64?
    var expired: Bool?
    var info: [UInt8]?
    var data: [UInt8]?
    var recoverSince: StreamPosition?
    var epoch: String?
    var name: String?
    var position: UInt64?

    init(_ fields: JSONArguments, ofSubscription: Bool) throws(ClientError) {
      channel = try fields.string("channel")
      idempotencyKey = try fields.string("idempotency_key")
      tags = try fields.stringMap("tags")
      limit = try fields.number("limit")
      since = try Self.position(fields, "since")
      reverse = try fields.flag("reverse")
      prefix = try fields.string("prefix")
      pattern = try fields.string("pattern")
      key = try fields.string("key")
      removed = try fields.flag("removed")
      score = try fields.number("score")
      offset = try fields.number("offset")
      cursor = try fields.string("cursor")
      method = try fields.string("method")
      user = try fields.string("user")
      client = try fields.string("client")
      session = try fields.string("session")
      whitelist = try fields.strings("whitelist")
      // The server API of Centrifugo has both in an object of their own.
      let ending = try fields["disconnect"].map { (value) throws(ClientError) in
        try JSONArguments(value, called: "disconnect")
      }
      // Its clients send 0 for the usual code.
      code = try (ending ?? fields).number("code", as: UInt32.self).flatMap { $0 == 0 ? nil : $0 }
      reason = try (ending ?? fields).string("reason")
      uid = try fields.string("uid")
      issuedBefore = try fields.number("issued_before")
      expireAt = try fields.number("expire_at")
      expired = try fields.flag("expired")
      if ofSubscription {
        info = try ServiceRequest.json("info", fields)
        data = try ServiceRequest.json("data", fields)
      }
      recoverSince = try Self.position(fields, "recover_since")
      epoch = try fields.string("epoch")
      name = try fields.string("name")
      position = try fields.number("position")
    }

    private static func position(_ fields: JSONArguments, _ name: String) throws(ClientError) -> StreamPosition? {
      guard let value = fields[name] else { return nil }
      guard let fields = value.object, let epoch = fields["epoch"]?.string,
        let offset = fields["offset"].flatMap({ UInt64($0.text) })
      else { throw .badRequest.saying("\(name) must be an object of an epoch and an offset") }
      return StreamPosition(epoch: epoch, offset: offset)
    }
  }

  /// - Returns: the request, and the trace that its parameter `traceparent` names. One that is none counts for nothing, as
  ///   W3C Trace Context says.
  static func read(
    _ frames: [[UInt8]]
  ) throws(ClientError) -> (request: BrokerRequest, context: TraceContext?) {
    guard let method = frames.first, frames.count <= 3 else { throw wrongFrames }
    let fields = try JSONArguments(frames.count > 1 ? frames[1] : [], called: "the parameters")
    let request = try read(
      String(decoding: method, as: UTF8.self), fields,
      payload: frames.count == 3 && !frames[2].isEmpty ? frames[2] : nil)
    return (request, fields[TraceContext.headerName]?.string.flatMap { TraceContext(traceparent: $0) })
  }

  /// - Parameters:
  ///   - channel: takes the place of the parameters' channel; nil: that one counts.
  ///   - payload: what is published, or the data of a call; nil: none was given.
  static func read(
    _ method: String, _ fields: JSONArguments, channel: String? = nil, payload: [UInt8]?
  ) throws(ClientError) -> BrokerRequest {
    try refuseUnsupported(method, fields)
    var parameters = try Parameters(fields, ofSubscription: method == "subscribe")
    if let channel { parameters.channel = channel }
    switch method {
    case "publish": return .publish(try publish(parameters, payload))
    case "map_set", "map_remove":
      guard parameters.key != nil else { throw .badRequest.saying("\(method) needs the key") }
      parameters.removed = method == "map_remove"
      return .publish(try publish(parameters, payload))
    case "history":
      return .history(
        .init(
          channel: try channelName(parameters), limit: limit(parameters.limit), since: parameters.since,
          reverse: parameters.reverse ?? false))
    case "history_remove": return try once(parameters, .historyRemove(try channelName(parameters)))
    case "presence": return .presence(try channelName(parameters))
    case "presence_stats": return .presenceStats(try channelName(parameters))
    case "edit", "delete": return .edit(try edit(method, parameters, payload))
    case "map", "map_get", "map_list":
      if method == "map_get", parameters.key == nil { throw .badRequest.saying("map_get needs the key") }
      if method == "map_list" { parameters.key = nil }
      let read = MapRead(phase: .state, cursor: parameters.cursor ?? "", limit: limit(parameters.limit))
      return .readMap(.init(channel: try channelName(parameters), key: parameters.key, read: read))
    case "call": return try once(parameters, .call(try call(parameters, payload)))
    case "channels": return try channels(parameters)
    case "info": return .info
    case "why": return .why(try why(parameters))
    case "inspect_channel", "inspect_user", "inspect_client", "explain", "top": return try inspection(method, fields)
    case "disconnect", "subscribe", "unsubscribe", "refresh", "revoke_token", "invalidate_user_tokens":
      return try once(parameters, try order(method, parameters))
    case "webhooks_list": return .webhooks(.list)
    case "webhook_given_up": return .webhooks(try webhooks(method, parameters))
    case "webhook_resend": return try once(parameters, .webhooks(try webhooks(method, parameters)))
    case PushMethod.name: return try once(parameters, .push(try PushMethod.read(fields)))
    case NotifyOrder.name: return try once(parameters, .push(try NotifyOrder.read(fields)))
    case let method where UserMethod(rawValue: method) != nil:
      let request = BrokerRequest.user(try UserMethod.read(method, fields))
      return UserMethod(rawValue: method)?.isDoneOnce == true ? try once(parameters, request) : request
    case let other:
      throw .methodNotFound.saying(
        "there is no method \(other.prefix(40).debugDescription); there are publish, edit, delete, history, "
          + "history_remove, map_set, map_remove, map_get, map_list, presence, presence_stats, channels, info, why, "
          + "inspect_channel, inspect_user, inspect_client, explain, top, call, "
          + "disconnect, subscribe, unsubscribe, refresh, revoke_token, invalidate_user_tokens, webhooks_list, "
          + "webhook_given_up, webhook_resend, user_data, user_export, user_delete, user_delete_status, clique_pair, "
          + "clique_groups, clique_unblock, clique_reports, clique_report, clique_report_picture, clique_report_settle, "
          + "user_suspend, user_unsuspend, user_suspensions, state_thread, push_send and push_notify")
    }
  }

  /// A request that changes something and is kept in no log under its key.
  private static func once(_ parameters: Parameters, _ request: BrokerRequest) throws(ClientError) -> BrokerRequest {
    guard let key = try idempotencyKey(parameters) else { return request }
    return .once(OnceKey(owner: "", key: key), request)
  }

  private static func idempotencyKey(_ parameters: Parameters) throws(ClientError) -> String? {
    guard parameters.idempotencyKey?.utf8.count ?? 0 <= OnceKey.longest else {
      throw .badRequest.saying("the idempotency_key is longer than \(OnceKey.longest) bytes")
    }
    return parameters.idempotencyKey.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func channelName(_ parameters: Parameters) throws(ClientError) -> ChannelName {
    do { return try ChannelName(parameters.channel ?? "") } catch { throw .badRequest.saying("\(error)") }
  }

  /// Asks for the names of channels by their beginning, or for names and numbers of clients by a pattern: the latter
  /// has every gateway asked.
  private static func channels(_ parameters: Parameters) throws(ClientError) -> BrokerRequest {
    guard let text = parameters.pattern else { return .channels(prefix: parameters.prefix ?? "") }
    guard parameters.prefix == nil else {
      throw .badRequest.saying("give a prefix or a pattern, not both; the pattern of a prefix ends in *")
    }
    guard let pattern = ChannelPattern(text) else {
      throw .badRequest.saying("the pattern is longer than \(ChannelPattern.maximumLength) bytes")
    }
    return .channelCounts(pattern)
  }

  private static func why(_ parameters: Parameters) throws(ClientError) -> WhyRequest {
    guard let user = parameters.user, !user.isEmpty else { throw .badRequest.saying("why needs the user") }
    guard let offset = parameters.offset else { throw .badRequest.saying("why needs the offset of the publication") }
    return WhyRequest(user: user, channel: try channelName(parameters), offset: offset, epoch: parameters.epoch)
  }

  private static func webhooks(_ method: String, _ parameters: Parameters) throws(ClientError) -> WebhookRequest {
    guard let name = parameters.name, !name.isEmpty else {
      throw .badRequest.saying("\(method) needs the name of a webhook; webhooks_list tells which there are")
    }
    let limit = limit(parameters.limit)
    if method == "webhook_resend" { return .resend(name, limit: limit) }
    return .givenUp(name, since: parameters.position ?? 0, limit: limit)
  }

  /// How many are wanted: a negative number means as many as the broker allows, none given means 0.
  private static func limit(_ limit: Int64?) -> UInt32 {
    guard let limit else { return 0 }
    return limit < 0 ? .max : UInt32(clamping: limit)
  }

  /// Reads an order about connections or tokens. Methods and fields are named as in Centrifugo's server API.
  private static func order(_ method: String, _ parameters: Parameters) throws(ClientError) -> BrokerRequest {
    switch method {
    case "revoke_token":
      guard let uid = parameters.uid else { throw .badRequest.saying("revoke_token needs uid, the token's jti") }
      return .revoke(.init(.id(uid), expiresAt: parameters.expireAt))
    case "invalidate_user_tokens":
      guard let user = parameters.user else { throw .badRequest.saying("invalidate_user_tokens needs the user") }
      return .revoke(
        .init(
          .user(user, issuedBefore: parameters.issuedBefore, channel: parameters.channel),
          expiresAt: parameters.expireAt))
    case "subscribe": return .beginSubscriptions(try target(parameters), try subscription(parameters))
    case "refresh": return .refresh(try target(parameters), expiry(parameters))
    case "unsubscribe":
      var code = UnsubscribeCode.server
      if let given = parameters.code {
        guard (2000...2999).contains(given) else { throw .badRequest.saying("code is a number from 2000 to 2999") }
        code.code = given
      }
      code.reason = try reason(parameters) ?? code.reason
      return .endSubscriptions(try target(parameters), try channelName(parameters), code)
    default:
      var code = DisconnectCode.forceDisconnect
      if let given = parameters.code {
        guard (3000...4999).contains(given) else {
          throw .badRequest.saying("code is a number from 3000 to 4999; clients come back below 3500 and in 4000-4499")
        }
        code.code = UInt16(given)
      }
      code.reason = try reason(parameters) ?? code.reason
      return .disconnect(try target(parameters), code)
    }
  }

  private static func subscription(_ parameters: Parameters) throws(ClientError) -> OrderedSubscription {
    let subscription = OrderedSubscription(
      channel: try channelName(parameters), info: parameters.info, data: parameters.data,
      since: parameters.recoverSince)
    guard subscription.payloadBytes <= longestGrant else {
      throw .badRequest.saying("info and data together have more than \(longestGrant) bytes; shorten them")
    }
    return subscription
  }

  /// When connections are to expire: `expired` goes before `expire_at`, of which 0 says never, as in a token.
  private static func expiry(_ parameters: Parameters) -> ConnectionExpiry {
    if parameters.expired == true { return .now }
    guard let time = parameters.expireAt, time != 0 else { return .never }
    return .at(time)
  }

  private static func target(_ parameters: Parameters) throws(ClientError) -> SessionTarget {
    func given(_ text: String?) -> String? { text?.isEmpty == true ? nil : text }
    let target = SessionTarget(
      user: given(parameters.user), client: given(parameters.client), session: given(parameters.session),
      whitelist: parameters.whitelist ?? [])
    guard target.user != nil || target.client != nil || target.session != nil else {
      throw .badRequest.saying("say whom: user, client or session")
    }
    return target
  }

  /// Most bytes of a reason: a Close frame holds no more (RFC 6455, 5.5).
  private static let longestReason = 123

  private static func reason(_ parameters: Parameters) throws(ClientError) -> String? {
    guard parameters.reason?.utf8.count ?? 0 <= longestReason else {
      throw .badRequest.saying("the reason is longer than \(longestReason) bytes")
    }
    return parameters.reason
  }

  private static func publish(
    _ parameters: Parameters, _ payload: [UInt8]?
  ) throws(ClientError) -> BrokerRequest.PublishRequest {
    let removes = parameters.key != nil && parameters.removed == true
    guard let data = removes ? BrokerCore.noData : payload else { throw .badRequest.saying("publish \(noPayload)") }
    if let tag = parameters.tags?.keys.first(where: BrokerCore.reservedTags.contains) {
      throw .badRequest.saying("the tag \(tag) is written by the server alone; choose another name")
    }
    return .init(
      channel: try channelName(parameters), data: data, tags: parameters.tags ?? [:],
      idempotencyKey: try idempotencyKey(parameters),
      write: parameters.key.map { MapWrite(key: $0, removed: removes, score: parameters.score) })
  }

  private static func edit(
    _ method: String, _ parameters: Parameters, _ payload: [UInt8]?
  ) throws(ClientError) -> BrokerRequest.EditRequest {
    guard let offset = parameters.offset else { throw .badRequest.saying("\(method) needs the offset") }
    if method == "edit", payload == nil { throw .badRequest.saying("edit \(noPayload)") }
    let data = method == "edit" ? payload : nil
    return .init(
      channel: try channelName(parameters), offset: offset, data: data, editor: nil,
      idempotencyKey: try idempotencyKey(parameters))
  }

  /// Reads a call for an app, which a service makes on behalf of a user. The service is trusted to know who that is.
  private static func call(
    _ parameters: Parameters, _ payload: [UInt8]?
  ) throws(ClientError) -> BrokerRequest.CallRequest {
    guard let method = parameters.method, let user = parameters.user, !user.isEmpty else {
      throw .badRequest.saying(
        "call needs the method and the user; the method's data is the frame after them, or data in the server API")
    }
    return .init(
      .other(.init(method: method, data: payload ?? [])),
      caller: ClientInfo(user: user, client: "service"))
  }
}

/// Writes answers for services.
enum ServiceReply {
  private static let ok = Array("ok".utf8)
  private static let error = Array("error".utf8)

  static func frames(for response: BrokerResponse, binaryData: Bool) -> (status: [UInt8], result: [UInt8]) {
    var writer = JSONWriter()
    writer.open()
    var status = ok
    switch response {
    case .published(let position): write(position, &writer)
    case .done, .subscribed, .tooLarge: break
    case .history(let page):
      write(page.position, &writer)
      writer.list("publications") { writer in
        for publication in page.publications { writer.object { $0.write(publication, binary: binaryData) } }
      }
    case .presence(let members, let isPartial):
      writer.list("members") { writer in for member in members { writer.object { $0.write(member) } } }
      if isPartial { writer.write("partial", true) }
    case .presenceStats(let clients, let users):
      writer.write("num_clients", clients)
      writer.write("num_users", users)
    case .channels(let channels):
      writer.list("channels") { writer in for channel in channels { writer.write(element: channel.string) } }
    case .channelCounts(let counts, let unanswered): write(counts, unanswered, &writer)
    case .info(let info): writer.write(info)
    case .mapPage(let page):
      write(page.position, &writer)
      writer.list("entries") { writer in
        for entry in page.entries { writer.object { $0.write(entry, binary: binaryData) } }
      }
      if !page.cursor.isEmpty { writer.write("cursor", page.cursor) }
    case .unread(let counts):
      writer.list("unread") { writer in for count in counts { writer.write(element: String(count)) } }
    case .result(let data): return (ok, data)
    case .failed(let failure):
      status = error
      writer.write("code", failure.code)
      writer.write("message", failure.message)
      if failure.temporary { writer.write("temporary", true) }
    }
    writer.close()
    return (status, writer.bytes)
  }

  private static func write(_ counts: ChannelCounts, _ unanswered: UInt32, _ writer: inout JSONWriter) {
    writer.list("channels") { writer in
      for entry in counts.entries { writer.write(element: entry.channel.string) }
    }
    writer.object("counts") { writer in
      for entry in counts.entries { writer.write(named: entry.channel.string, entry.clients) }
    }
    if counts.hasMore || unanswered > 0 { writer.write("partial", true) }
    if unanswered > 0 { writer.write("unanswered", unanswered) }
  }

  /// Fields are named as in Centrifugo's server API.
  private static func write(_ position: StreamPosition, _ writer: inout JSONWriter) {
    writer.write("epoch", position.epoch)
    writer.write("offset", position.offset)
  }

  /// The frame before the payload on the tap: JSON about the publication.
  static func about(_ publication: Publication, epoch: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("epoch", epoch)
      writer.writeAbout(publication)
    }
    return writer.bytes
  }
}
