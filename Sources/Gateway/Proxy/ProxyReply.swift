public import Auth
public import Wire

/// What a session makes of the backend's reply, or of none.
public enum ProxyAnswer: Sendable, Equatable {
  case result(ProxyResult)
  /// For the client, as the backend said it.
  case error(ClientError)
  /// The connection ends with this.
  case disconnect(DisconnectCode)
  case failed(ProxyFault)
}

/// Why there is no answer.
public enum ProxyFault: String, Sendable, CaseIterable {
  /// The backend did not answer in time.
  case timeout
  /// It could not be reached, or its reply was no reply: a status other than 200, too long, or not the JSON expected.
  case failed
  /// The breaker is open: the backend was not asked.
  case breaker
  /// As many calls are under way as may be.
  case bound
  /// The gateway ends.
  case closed
}

/// The `result` of a reply: the fields of all kinds of events, of which each kind reads its own.
public struct ProxyResult: Sendable, Equatable {
  /// Connect: whose connection it is; empty: anonymous. Nil: the backend said nothing.
  public var user: String?
  /// Seconds since 1970; nil: never.
  public var expiresAt: Int64?
  /// Refresh and sub_refresh: it is over now.
  public var isExpired = false
  /// For the client, or to publish instead of what the client sent.
  public var data: [UInt8]?
  /// Connect and subscribe: raw JSON, what is shown of the client. Subscribe: what else the backend grants.
  public var grant = SubscriptionGrant()
  /// Connect: server-side subscriptions.
  public var subscriptions: [String: SubscriptionGrant] = [:]
  /// Connect and refresh: raw JSON.
  public var meta: [UInt8]?
  /// Publish: the backend wants the publication kept out of the history, which is not done here.
  public var skipsHistory = false
  /// Shared polls: what the keys are that the backend said something of.
  public var items: [PolledItem] = []
  /// Shared polls: of the versions; empty: the backend has none.
  public var epoch = ""

  public init() {}
}

/// Reads replies of the backend, in the fields of Centrifugo's event proxies. Pure; whatever the bytes are, reading ends.
enum ProxyReply {
  /// Codes that a backend may give errors and ends of its own.
  static let errorCodes: ClosedRange<UInt32> = 400...1999
  static let disconnectCodes: ClosedRange<UInt16> = 4000...4999
  /// Members of any object but of `subs`, whose number ``channelsPerReply`` limits; ``itemsPerReply`` limits `items`.
  private static let mostFields = 64
  private static let channelsPerReply = 10_000
  private static let itemsPerReply = 10_000

  /// What keeps a reply from being one.
  struct Malformed: Error, Equatable { var why: String }

  /// - Parameter body: the body of a reply with status 200.
  static func answer(_ body: [UInt8]) -> ProxyAnswer { (try? read(body)) ?? .failed(.failed) }

  static func read(_ body: [UInt8]) throws(Malformed) -> ProxyAnswer {
    let document: JSONValue
    do throws(MalformedInput) { document = try JSONValue(parsing: body, levels: 4) } catch {
      throw Malformed(why: error.description)
    }
    let reply = try object(document, "the reply")
    // In Centrifugo's order, where a backend says several.
    if let disconnect = reply["disconnect"] { return .disconnect(try code(try object(disconnect, "disconnect"))) }
    if let error = reply["error"] { return .error(try clientError(try object(error, "error"))) }
    guard let result = reply["result"] else {
      throw Malformed(why: "the reply has neither result nor error nor disconnect")
    }
    return .result(try self.result(try object(result, "result")))
  }

  private static func clientError(_ fields: JSONObject) throws(Malformed) -> ClientError {
    guard let code = try number("code", in: fields, as: UInt32.self), errorCodes.contains(code) else {
      throw Malformed(why: "an error's code is from \(errorCodes.lowerBound) to \(errorCodes.upperBound)")
    }
    return ClientError(
      code: code, message: try string("message", in: fields) ?? "",
      temporary: try flag("temporary", in: fields) ?? false)
  }

  private static func code(_ fields: JSONObject) throws(Malformed) -> DisconnectCode {
    guard let code = try number("code", in: fields, as: UInt16.self), disconnectCodes.contains(code) else {
      throw Malformed(why: "a disconnect's code is from \(disconnectCodes.lowerBound) to \(disconnectCodes.upperBound)")
    }
    return DisconnectCode(code: code, reason: try string("reason", in: fields) ?? "")
  }

  private static func result(_ fields: JSONObject) throws(Malformed) -> ProxyResult {
    var result = ProxyResult()
    result.user = try string("user", in: fields)
    result.expiresAt = try number("expire_at", in: fields, as: Int64.self).flatMap { $0 == 0 ? nil : $0 }
    result.isExpired = try flag("expired", in: fields) ?? false
    result.skipsHistory = try flag("skip_history", in: fields) ?? false
    result.grant = try grant(fields)
    // A connect, a publish or a call has data of its own; a subscribe finds it in the grant.
    result.data = result.grant.data
    result.meta = fields["meta"].map(raw)
    if let channels = fields["channels"] {
      guard let names = channels.array, names.count <= channelsPerReply else {
        throw Malformed(why: "channels is not a list of names")
      }
      for name in names {
        guard let name = name.string else { throw Malformed(why: "channels is not a list of names") }
        try insert(SubscriptionGrant(), for: name, into: &result)
      }
    }
    if let subs = fields["subs"] {
      for member in try object(subs, "subs", limit: channelsPerReply).members {
        try insert(try grant(try object(member.value, "subs")), for: member.key, into: &result)
      }
    }
    result.epoch = try string("epoch", in: fields) ?? ""
    if let items = fields["items"] {
      guard let items = items.array, items.count <= itemsPerReply else {
        throw Malformed(why: "items is not a list of at most \(itemsPerReply) objects")
      }
      for item in items { result.items.append(try self.item(try object(item, "an item"))) }
    }
    return result
  }

  private static func item(_ fields: JSONObject) throws(Malformed) -> PolledItem {
    guard let key = try string("key", in: fields) else { throw Malformed(why: "an item has no key") }
    return PolledItem(
      key: key, version: try number("version", in: fields, as: UInt64.self) ?? 0,
      data: try bytes("data", "b64data", in: fields), removed: try flag("removed", in: fields) ?? false,
      isJSON: try string("b64data", in: fields)?.isEmpty ?? true)
  }

  /// Refuses two spellings that `String` takes as one key: one channel would get the other's grant.
  private static func insert(
    _ grant: SubscriptionGrant, for name: String, into result: inout ProxyResult
  ) throws(Malformed) {
    if let index = result.subscriptions.index(forKey: name), !result.subscriptions[index].key.hasSameBytes(as: name) {
      throw Malformed(why: "one channel is named in two Unicode spellings")
    }
    result.subscriptions[name] = grant
  }

  private static func grant(_ fields: JSONObject) throws(Malformed) -> SubscriptionGrant {
    var grant = SubscriptionGrant()
    grant.info = try bytes("info", "b64info", in: fields)
    // Others are shown it within JSON.
    if let info = grant.info, !JSONSyntax.isValid(info) { throw Malformed(why: "b64info is not JSON") }
    grant.data = try bytes("data", "b64data", in: fields)
    guard let override = fields["override"] else { return grant }
    let options = try object(override, "override")
    grant.presence = try option("presence", in: options)
    grant.joinLeave = try option("join_leave", in: options)
    grant.forcePushJoinLeave = try option("force_push_join_leave", in: options)
    grant.forceRecovery = try option("force_recovery", in: options)
    grant.forcePositioning = try option("force_positioning", in: options)
    return grant
  }

  // MARK: Fields

  private static func object(
    _ value: JSONValue, _ name: String, limit: Int = mostFields
  ) throws(Malformed) -> JSONObject {
    do throws(MalformedInput) {
      if let object = try value.object(limit: limit) { return object }
    } catch {
      throw Malformed(why: "\(name): \(error.description)")
    }
    throw Malformed(why: "\(name) is not an object")
  }

  private static func string(_ name: String, in fields: JSONObject) throws(Malformed) -> String? {
    guard let value = fields[name] else { return nil }
    guard let string = value.string else { throw Malformed(why: "\(name) is not a string") }
    return string
  }

  private static func number<Number: FixedWidthInteger>(
    _ name: String, in fields: JSONObject, as type: Number.Type
  ) throws(Malformed) -> Number? {
    guard let value = fields[name] else { return nil }
    guard value.isNumber, let number = Number(value.text) else { throw Malformed(why: "\(name) is not a whole number") }
    return number
  }

  private static func flag(_ name: String, in fields: JSONObject) throws(Malformed) -> Bool? {
    guard let value = fields[name] else { return nil }
    guard let flag = value.bool else { throw Malformed(why: "\(name) is not true or false") }
    return flag
  }

  /// Reads an override, `{"value": true}`.
  private static func option(_ name: String, in fields: JSONObject) throws(Malformed) -> Bool? {
    guard let value = fields[name] else { return nil }
    return try flag("value", in: try object(value, name)) ?? false
  }

  /// Reads a payload that stands as JSON under one name, or as base64 under another, which wins.
  private static func bytes(
    _ name: String, _ encoded: String, in fields: JSONObject
  ) throws(Malformed) -> [UInt8]? {
    if let text = try string(encoded, in: fields), !text.isEmpty {
      guard let bytes = Base64.standard.bytes(text) else { throw Malformed(why: "\(encoded) is not base64") }
      return bytes
    }
    return fields[name].map(raw)
  }

  /// A value as it came, on one line: JSON clients take a line break as the end of a command, and in JSON one can stand
  /// between tokens alone.
  private static func raw(_ value: JSONValue) -> [UInt8] {
    value.bytes.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
  }
}
