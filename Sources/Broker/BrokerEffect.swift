public import Apps
import Log
public import Wire

/// What the broker wants done. Whoever performs an effect decides nothing.
public enum BrokerEffect: Sendable, Equatable {
  /// Send a message, which has its sequence number already, to one gateway.
  case send(gateway: UInt64, LinkMessage)
  /// Send one body to several gateways, to each with a sequence number of its own: it is encoded and held in memory
  /// once.
  case broadcast([LinkTarget], LinkBody)
  /// Give a publication to the services that tap its channel.
  case tap(ChannelName, epoch: String, Publication)
  /// Answer a service's request. Each request is answered once.
  case answer(ServiceTag, BrokerResponse)
  /// Search for messages. The result comes back through ``BrokerCore/searched(_:of:for:in:)``.
  case search(MessageSearch, Requester)
  /// Send events to a webhook's receiver. The answer comes back through ``BrokerCore/answered(_:in:)``.
  case post(WebhookPost)
  /// Have other parts of the server forget users. What became of it comes back through
  /// ``BrokerCore/forgotElsewhere(isDone:in:)``.
  case forget([String])
  /// Read a part of a picture for the look of this number. What came of it comes back through
  /// ``BrokerCore/pictureRead(_:for:in:)``.
  case readPicture(PicturePart, look: UInt64)
  /// Send notifications to devices. What became of them comes back through ``BrokerCore/notified(_:for:in:)``.
  case notify(PushRequest, number: UInt64)
  /// Send a notification to a person's devices. What became of it comes back through ``BrokerCore/pushed(_:in:)``.
  case push(PushSend)
}

public struct LinkTarget: Sendable, Equatable {
  public var gateway: UInt64
  public var session: UInt64
  public var sequence: UInt64

  public init(gateway: UInt64, session: UInt64, sequence: UInt64) {
    self.gateway = gateway
    self.session = session
    self.sequence = sequence
  }
}

extension LinkMessage {
  public init(_ target: LinkTarget, _ body: LinkBody) {
    self.init(session: target.session, sequence: target.sequence, body: body)
  }
}

/// A service's request, as the endpoint that took it in numbers it.
public struct ServiceTag: Sendable, Hashable {
  public var number: UInt64

  public init(number: UInt64) { self.number = number }
}

/// Whether a request comes for the first time, and if not, why it comes again.
enum RequestOccasion {
  case first
  /// A gateway repeats a request that may have been done already, by a broker process before this one: the log knows.
  case retry
  /// The link has a new session, and its gateway names a subscription again that it had before.
  case resync
}

/// Who waits for the answer to a request.
public enum Requester: Sendable, Hashable {
  case gateway(UInt64, request: UInt64)
  case service(ServiceTag)
  /// A service that has asked another process, which asks over its link.
  case remoteService(UInt64, request: UInt64)
  /// A backend has left the request in the log's database; the store is told what became of it.
  case outbox(OutboxMessage.ID)
  /// The broker itself made the request: nobody waits for an answer.
  case broker

  var origin: RequestOrigin? {
    switch self {
    case .gateway(let gateway, let request), .remoteService(let gateway, let request):
      RequestOrigin(gateway: gateway, request: request)
    case .outbox(let message): RequestOrigin(outboxRow: message.row)
    case .service, .broker: nil
    }
  }

  /// Whether a client of a gateway asks, or the gateway itself.
  var isGateway: Bool { if case .gateway = self { true } else { false } }

  /// Whether it came with a row of the outbox. Where an app decides, the row is a relay (``AppEffect/relay(_:)``).
  var isOutbox: Bool { if case .outbox = self { true } else { false } }

  /// Whether a service asks.
  var isService: Bool {
    switch self {
    case .service, .remoteService: true
    case .gateway, .outbox, .broker: false
    }
  }

  /// The link over which the request came, and its number there; nil: it came over none.
  var link: (gateway: UInt64, request: UInt64)? {
    switch self {
    case .gateway(let gateway, let request), .remoteService(let gateway, let request): (gateway, request)
    case .service, .outbox, .broker: nil
    }
  }

  /// A key that is the same when a request is repeated, and differs for every other request. Services' requests are
  /// numbered anew by each broker process, so the process is part of their key.
  ///
  /// - Parameter broker: the number that the process drew at its start (``BrokerConfiguration/instance``).
  func key(of broker: UInt64) -> AppCall.Key {
    switch self {
    case .gateway(let gateway, let request), .remoteService(let gateway, let request):
      .gateway(gateway, request: request)
    case .service(let tag): .text("service-\(broker)-\(tag.number)")
    case .outbox(let message): .text("outbox-\(message.row)")
    case .broker: .text("broker-\(broker)")
    }
  }
}

/// What an operator watches, counted since the process began. The numbers only ever go up.
public struct BrokerCounters: Sendable, Equatable {
  public var published: UInt64 = 0
  public var refused: UInt64 = 0
  public var delivered: UInt64 = 0
  /// Repeated requests that were answered as the first time instead of being done again.
  public var duplicatesAvoided: UInt64 = 0
  /// Hellos that could not be read: the gateway is of another version.
  public var unreadableHellos: UInt64 = 0
  /// Hellos of gateways that take this broker for the one of another partition, or the log for shared otherwise.
  public var misplacedHellos: UInt64 = 0
  /// Messages of gateways that arrived with a sequence number missing before them.
  public var linkGaps: UInt64 = 0
  /// Links that were reset: after a gap, a full pipe or a full window.
  public var linkResets: UInt64 = 0
  /// Requests and answers that waited for room on a link.
  public var requestsDeferred: UInt64 = 0
  /// Channels for which a gateway got all that it missed while its link was reset.
  public var channelsRefilled: UInt64 = 0
  /// Channels for which a gateway could not get all that it missed. Its clients are told.
  public var channelsLost: UInt64 = 0
  public var gatewaysForgotten: UInt64 = 0
  /// Calls for apps that were refused for a limit, or reached one.
  public var callsOverLimit: UInt64 = 0
  /// The part of ``callsOverLimit`` that one of the app's own limits caused, by limit. Limits that nobody reached are
  /// missing.
  public var appLimits: [AppLimit: UInt64] = [:]
  /// Subscriptions to streams from a position that got all that they had missed.
  public var recoveriesWhole: UInt64 = 0
  /// Subscriptions to streams from a position that got nothing, because not all of it could be had.
  public var recoveriesNotWhole: UInt64 = 0
  /// Publications that were refused because as many idempotency keys are held as are allowed.
  public var keysRefused: UInt64 = 0
  /// Publications that were refused because their user keeps as much as a namespace's quota allows. ``limited`` counts
  /// them, too.
  public var overQuota: UInt64 = 0
  /// Requests that were refused for a limit of memory, of a channel or of a user.
  public var limited: UInt64 = 0
  /// ``limited`` by the name of its cause: no more than the code has. Limits that nobody reached are missing.
  public var limits: [String: UInt64] = [:]
  /// Requests and tap subscriptions of services that their grants do not allow.
  public var servicesRefused: UInt64 = 0
  /// Orders to end connections or subscriptions that gateways were given.
  public var orders: UInt64 = 0
  /// Orders and revocations that some gateway had not confirmed within `broker.gateway_timeout`.
  public var ordersLate: UInt64 = 0
  /// Revocations that were put in force.
  public var revocations: UInt64 = 0
  /// What apps have sent to other partitions, taken in from them, and can never take in.
  public var relaysSent: UInt64 = 0
  public var relaysReceived: UInt64 = 0
  public var relaysRefused: UInt64 = 0
}
