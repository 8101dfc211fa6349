public import Wire

/// Inspections, and what belongs to requests of services whichever they are.
extension ServiceRequest {
  static func inspection(_ method: String, _ fields: JSONArguments) throws(ClientError) -> BrokerRequest {
    switch method {
    case "inspect_channel": .inspect(InspectRequest(.channel(try channel(fields))))
    case "inspect_user": .inspect(InspectRequest(.user(try name("user", method, fields))))
    case "inspect_client": .inspect(InspectRequest(.client(try name("client", method, fields))))
    case "explain": .inspect(InspectRequest(try access(fields)))
    default: .top(visible: nil)
    }
  }

  private static func access(_ fields: JSONArguments) throws(ClientError) -> Inspection {
    let actions = ChannelAction.allCases.map(\.rawValue).joined(separator: ", ")
    guard let action = try fields.string("action").flatMap(ChannelAction.init) else {
      throw .badRequest.saying("explain needs the action: one of \(actions)")
    }
    guard let user = try fields.string("user") else {
      throw .badRequest.saying("explain needs the user; an empty one stands for an anonymous client")
    }
    return .access(user: user, action, try channel(fields))
  }

  private static func channel(_ fields: JSONArguments) throws(ClientError) -> ChannelName {
    do { return try ChannelName(try fields.string("channel") ?? "") } catch let error as ClientError {
      throw error
    } catch {
      throw .badRequest.saying("\(error)")
    }
  }

  private static func name(_ field: String, _ method: String, _ fields: JSONArguments) throws(ClientError) -> String {
    guard let name = try fields.string(field), !name.isEmpty else {
      throw .badRequest.saying("\(method) needs the \(field)")
    }
    return name
  }

  // MARK: Parameters that Centrifugo has

  /// JSON that comes with a subscription, in Centrifugo's two forms: as it is, or in base64 under `b64…`.
  static func json(_ name: String, _ fields: JSONArguments) throws(ClientError) -> [UInt8]? {
    guard let text = try fields.string("b64\(name)"), !text.isEmpty else { return fields[name].map { Array($0.bytes) } }
    guard let bytes = Base64.standard.bytes(text) else {
      throw .badRequest.saying("b64\(name) is not base64 with padding (RFC 4648, section 4)")
    }
    guard JSONSyntax.isValid(bytes) else {
      throw .badRequest.saying("what b64\(name) holds must be JSON: clients get it as a part of their JSON")
    }
    return bytes
  }

  /// Refuses parameters of Centrifugo's that this server does not carry out: silence would be taken for consent.
  static func refuseUnsupported(_ method: String, _ fields: JSONArguments) throws(ClientError) {
    guard method == "subscribe", let override = fields["override"] else { return }
    // What asks for nothing is no request for an override: clients send the object with all its fields left out.
    if override.object?.members.isEmpty == true { return }
    throw .badRequest.saying(
      "override is not supported: set presence, join_leave and the others in the channel's namespace, or give the "
        + "user a subscription token with override")
  }
}

extension BrokerRequest {
  /// The request as it is asked by somebody whose name and grant are known.
  ///
  /// - Parameters:
  ///   - owner: the name of the API key or the service's key: two of them may use the same idempotency key.
  ///   - visible: the channels that answers to inspections may name; nil: all.
  public func asked(by owner: String, visible: [NamePattern]?) -> BrokerRequest {
    switch self {
    case .once(let key, let request): .once(OnceKey(owner: owner, key: key.key), request)
    case .inspect(let request): .inspect(InspectRequest(request.subject, visible: visible))
    case .top: .top(visible: visible)
    default: self
    }
  }
}
