import Logging
import Wire
import ZeroMQ

/// Where backend services speak plain ZeroMQ: commands on a ROUTER, publications on an XPUB.
///
///     request    [request id] [method] [parameters, JSON] [payload]     (payload: for publish; may be left out)
///     reply      [request id] ["ok" or "error"] [result, JSON]
///     tap        [channel, then a zero byte] [about the publication, JSON] [payload]
///
/// Where an empty frame stands before the request id, as REQ sockets send it, it stands before the reply's too.
/// docs/PROTOCOL.md describes all frames.
final class ServiceEndpoint {
  private struct Caller {
    var identity: [UInt8]
    var grant: ServiceGrant
    var hasDelimiter: Bool
    var requestID: [UInt8]
    var binaryData = false
    /// The service's name in the list of keys; empty: it has none.
    var name = ""
    /// What it asked for, where that is to be proved later.
    var audited: BrokerRequest?
  }

  /// Listens nowhere where services send no commands.
  let commands: Socket
  let tap: Socket
  let commandsEndpoint: String?
  private let admission: ServiceAdmission
  let tapEndpoint: String
  var registration: Poller.Registration?
  private var frames: [[UInt8]] = []
  private var callers: [ServiceTag: Caller] = [:]
  private var nextNumber: UInt64 = 0
  private var subscriptions = 0
  /// Replies that could not be sent because the service had gone or reads too slowly.
  private(set) var undelivered: UInt64 = 0
  private let commandsAccess: ServiceAccess
  private let tapAccess: ServiceAccess
  private let logger: Logger
  private let audit: Audit
  /// Called when a service asks for something that its grant does not allow, with the service's name.
  private let noteRefusal: (RefusalCause, String) -> Void

  /// Nil where services are switched off.
  init?(
    _ endpoints: BrokerEndpoints, admission: ServiceAdmission, context: Context, logger: Logger,
    audit: Audit = .none, noteRefusal: @escaping (RefusalCause, String) -> Void
  ) throws(ZeroMQError) {
    self.admission = admission
    self.logger = logger
    self.audit = audit
    self.noteRefusal = noteRefusal
    commandsAccess = endpoints.commandsAccess
    tapAccess = endpoints.tapAccess
    guard let tapAddress = endpoints.tap else { return nil }
    var options = Socket.Options()
    options.lingerMilliseconds = 1000
    options.maxMessageBytes = endpoints.maximumServiceMessageBytes
    options.routerMandatory = true
    options.sendHighWaterMark = 10_000
    options.receiveHighWaterMark = 10_000
    options.curve = commandsAccess.curve
    commands = try Socket(context, .router, options)
    if let address = endpoints.commands { try commands.bind(address) }
    commandsEndpoint = endpoints.commands == nil ? nil : try commands.lastEndpoint
    options.routerMandatory = nil
    // Services send only subscriptions here. A long prefix costs many times its length in libzmq's tree of prefixes.
    options.maxMessageBytes = 1024
    options.curve = tapAccess.curve
    // Where not everybody may hear everything, libzmq applies no subscription before ``admit(_:to:)`` has looked at it.
    options.xpubManual = tapAccess.isEverything ? nil : true
    tap = try Socket(context, .xpub, options)
    try tap.bind(tapAddress)
    tapEndpoint = try tap.lastEndpoint
  }

  // MARK: Commands

  func readCommands(
    limit: Int, bytes: Int, _ serve: (BrokerRequest, ServiceTag, TraceContext?) -> Void
  ) throws(ZeroMQError) {
    var left = bytes
    for _ in 0..<limit where left > 0 {
      guard
        let received = try commands.receiveMultipart(
          into: &frames, maxFrames: 6, askingForUser: commandsAccess.goesByKey)
      else { return }
      left -= frames.reduce(BackboneInbox.messageCost) { $0 + $1.count }
      guard received.frames >= 2 else { continue }
      let hasDelimiter = frames[1].isEmpty
      let start = hasDelimiter ? 2 : 1
      guard frames.count > start else { continue }
      let grant = commandsAccess.grant(of: received.user)
      var caller = Caller(
        identity: frames[0], grant: grant, hasDelimiter: hasDelimiter, requestID: frames[start])
      let rest = Array(frames[(start + 1)...])
      do throws(ClientError) {
        guard received.surplus == 0 else { throw ServiceRequest.wrongFrames }
        var (request, context) = try ServiceRequest.read(rest)
        if case .why(var why) = request {
          why.mayKnowExclusions = grant.mayKnowExclusions(of: why.channel)
          request = .why(why)
        }
        try check(grant, of: received.user, request)
        let visible = grant.isEverything ? nil : grant.read
        let admitted = try admission.admitted(request.asked(by: received.user ?? "", visible: visible))
        let tag = ServiceTag(number: nextNumber)
        nextNumber += 1
        caller.binaryData = admission.isBinary(request.channel)
        caller.name = received.user ?? ""
        if admitted.audited != nil { caller.audited = admitted }
        callers[tag] = caller
        serve(admitted, tag, context)
      } catch {
        send(.failed(error), to: caller)
      }
    }
  }

  private func check(_ grant: ServiceGrant, of user: String?, _ request: BrokerRequest) throws(ClientError) {
    guard let missing = grant.refusal(of: request) else { return }
    noteRefusal(.serviceRequests, Self.name(of: user))
    throw .permissionDenied.saying(
      commandsAccess.goesByKey
        ? "this service's key may not do that; its line in broker.services.keys would need \(missing)"
        : "everybody on this machine reaches this endpoint, so it does not allow \(missing); use an ipc:// endpoint "
          + "or a key in broker.services.keys")
  }

  func answer(_ tag: ServiceTag, _ response: BrokerResponse) {
    guard let caller = callers.removeValue(forKey: tag) else { return }
    if let request = caller.audited { audit.note(request, answered: response, by: caller.name, door: "zeromq") }
    send(response, to: caller)
  }

  private func send(_ response: BrokerResponse, to caller: Caller) {
    var response = response
    switch response {
    case .channels(let channels): response = .channels(channels.filter(caller.grant.mayRead))
    case .channelCounts(let counts, let unanswered):
      response = .channelCounts(counts.filtered(caller.grant.mayRead), unanswered: unanswered)
    default: break
    }
    let (status, result) = ServiceReply.frames(for: response, binaryData: caller.binaryData)
    var frames = [caller.identity]
    if caller.hasDelimiter { frames.append([]) }
    frames += [caller.requestID, status, result]
    do { try commands.send(multipart: frames) } catch { undelivered += 1 }
  }

  // MARK: Tap

  /// Whether any service listens.
  var isTapped: Bool { subscriptions > 0 }

  /// Reads subscriptions of services: a byte 1 and a prefix begins one, a byte 0 and the prefix ends it.
  func readSubscriptions(limit: Int) {
    for _ in 0..<limit {
      guard
        let received = try? tap.receiveMultipart(into: &frames, maxFrames: 1, askingForUser: tapAccess.goesByKey)
      else { return }
      guard received.frames == 1, let kind = frames[0].first else { continue }
      subscriptions = max(0, subscriptions + (kind == 1 ? 1 : -1))
      guard !tapAccess.isEverything else { continue }
      let prefix = Array(frames[0].dropFirst())
      if kind == 1 {
        admit(received.user, to: prefix)
      } else if tapAccess.grant(of: received.user).mayRelease(prefix) {
        try? tap.unsubscribe(from: prefix)
      }
    }
  }

  /// Subscribes a service to what it may hear of a prefix. libzmq applies the call to the peer whose subscription was
  /// received last.
  private func admit(_ user: String?, to prefix: [UInt8]) {
    guard let topics = tapAccess.grant(of: user).topics(beginningWith: prefix) else {
      noteRefusal(.serviceTaps, Self.name(of: user))
      let asked = String(decoding: prefix.prefix(64), as: UTF8.self).debugDescription
      return logger.debug(
        "the tap refuses a subscription", metadata: ["service": "\(Self.name(of: user))", "topics": "\(asked)"])
    }
    for topic in topics { try? tap.subscribe(to: topic) }
  }

  private static func name(of user: String?) -> String { user ?? "without a key" }

  /// Sends a publication to the services that listen. XPUB drops what a slow service does not take: the service sees
  /// the hole in the offsets and asks for the history.
  func tap(_ channel: ChannelName, _ epoch: String, _ publication: Publication) {
    guard subscriptions > 0 else { return }
    let topic = Array(channel.string.utf8) + [ChannelName.topicTerminator]
    let about = ServiceReply.about(publication, epoch: epoch)
    do { try tap.send(multipart: [topic, about, publication.data]) } catch { undelivered += 1 }
  }
}
