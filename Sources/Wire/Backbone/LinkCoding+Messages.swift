// How a message stands in the two frames of a ZeroMQ pipe.

extension LinkMessage {
  public var header: LinkHeader { LinkHeader(kind: body.kind, session: session, sequence: sequence) }

  /// A message that came as bytes. Its header counts in the session even where its body cannot be read.
  public init(header: LinkHeader, bytes: [UInt8]) {
    let body = (try? LinkBody(kind: header.kind, bytes: bytes)) ?? .unreadable(header.kind)
    self.init(session: header.session, sequence: header.sequence, body: body)
  }
}

extension LinkBody {
  public var bytes: [UInt8] {
    switch self {
    case .hello(let hello): hello.bytes
    case .request(let request): request.bytes
    case .gatewayHeartbeat(let heartbeat): heartbeat.bytes
    case .obeyed(let obeyed): obeyed.bytes
    case .findings(let findings): findings.bytes
    case .forgotten(let forgotten): forgotten.bytes
    case .welcome(let welcome): welcome.bytes
    case .reply(let reply): reply.bytes
    case .publication(let publication): publication.bytes
    case .join(let event), .leave(let event): event.bytes
    case .audience(let change): change.bytes
    case .discard(let discard): discard.bytes
    case .order(let order): order.bytes
    case .survey(let survey): survey.bytes
    case .deletions(let deletions): deletions.bytes
    case .trace(let trace): trace.bytes
    case .resynced, .goodbye, .brokerHeartbeat, .reset, .unreadable: []
    }
  }

  public init(kind: LinkHeader.Kind, bytes: [UInt8]) throws(MalformedMessage) {
    switch kind {
    case .hello: self = .hello(try LinkHello(bytes: bytes))
    case .request: self = .request(try LinkRequest(bytes: bytes))
    case .gatewayHeartbeat: self = .gatewayHeartbeat(try GatewayHeartbeat(bytes: bytes))
    case .obeyed: self = .obeyed(try LinkObeyed(bytes: bytes))
    case .findings: self = .findings(try LinkFindings(bytes: bytes))
    case .forgotten: self = .forgotten(try LinkForgotten(bytes: bytes))
    case .welcome: self = .welcome(try LinkWelcome(bytes: bytes))
    case .reply: self = .reply(try LinkReply(bytes: bytes))
    case .publication: self = .publication(try LinkPublication(bytes: bytes))
    case .join: self = .join(try LinkPresenceEvent(bytes: bytes))
    case .leave: self = .leave(try LinkPresenceEvent(bytes: bytes))
    case .audience: self = .audience(try LinkAudience(bytes: bytes))
    case .discard: self = .discard(try LinkDiscard(bytes: bytes))
    case .order: self = .order(try LinkOrder(bytes: bytes))
    case .survey: self = .survey(try LinkSurvey(bytes: bytes))
    case .deletions: self = .deletions(try LinkDeletions(bytes: bytes))
    case .trace: self = .trace(try LinkTrace(bytes: bytes))
    case .resynced: self = .resynced
    case .goodbye: self = .goodbye
    case .brokerHeartbeat: self = .brokerHeartbeat
    case .reset: self = .reset
    }
  }
}
