import Apps
import Log
public import Wire

/// What the broker wants done. Performing it decides nothing.
public enum BrokerEffect: Sendable, Equatable {
  /// To one gateway. Its sequence number is given out.
  case send(gateway: UInt64, LinkMessage)
  /// The same to several gateways, each with a number of its own: encoded and held once.
  case broadcast([LinkTarget], LinkBody)
  /// For services that tap channels.
  case tap(ChannelName, epoch: String, Publication)
  /// The one answer to a service's request.
  case answer(ServiceTag, BrokerResponse)
  /// To be answered through ``BrokerCore/searched(_:of:for:in:)``.
  case search(MessageSearch, Requester)
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

/// Why a request comes.
enum RequestOccasion {
  case first
  /// A gateway asks again for what may have been done already: by a broker before this one, whose log knows.
  case retry
  /// The link has a new session: what was subscribed before is named again.
  case resync
}

/// Who waits for the answer to a request.
public enum Requester: Sendable, Equatable {
  case gateway(UInt64, request: UInt64)
  case service(ServiceTag)
  /// Nobody waits.
  case broker

  var origin: RequestOrigin? {
    guard case .gateway(let gateway, let request) = self else { return nil }
    return RequestOrigin(gateway: gateway, request: request)
  }

  /// The same for a request that is asked again, and for no other: services' requests are numbered anew by each broker.
  ///
  /// - Parameter broker: drawn at its start (``BrokerConfiguration/instance``).
  func key(of broker: UInt64) -> AppCall.Key {
    switch self {
    case .gateway(let gateway, let request): .gateway(gateway, request: request)
    case .service(let tag): .text("service-\(broker)-\(tag.number)")
    case .broker: .text("broker-\(broker)")
    }
  }
}

/// What an operator watches. Only ever counted up, except the gauges.
public struct BrokerCounters: Sendable, Equatable {
  public var published: UInt64 = 0
  public var refused: UInt64 = 0
  public var delivered: UInt64 = 0
  /// Retries that were answered from what is known instead of publishing again.
  public var duplicatesAvoided: UInt64 = 0
  /// Gateways of another version asked to be taken in.
  public var unreadableHellos: UInt64 = 0
  /// A gateway's messages arrived with a number missing.
  public var linkGaps: UInt64 = 0
  /// Links that were reset: a gap, a full pipe or a closed window.
  public var linkResets: UInt64 = 0
  /// Requests and answers that waited for room on a link.
  public var requestsDeferred: UInt64 = 0
  /// Channels that a gateway caught up on after a reset, whole and not whole.
  public var channelsRefilled: UInt64 = 0
  public var channelsLost: UInt64 = 0
  public var gatewaysForgotten: UInt64 = 0
  /// Calls of apps that went over a limit.
  public var callsOverLimit: UInt64 = 0
  /// The same by the app's limit; only those that were reached.
  public var appLimits: [AppLimit: UInt64] = [:]
  /// Publications that were refused because as many idempotency keys are held as are allowed.
  public var keysRefused: UInt64 = 0
  /// Publications that were refused because their user keeps as much as a namespace's quota allows; part of ``limited``.
  public var overQuota: UInt64 = 0
  /// What was refused for another limit: of memory, of a channel, of a user.
  public var limited: UInt64 = 0
  /// Requests and subscriptions of services that their grants do not allow.
  public var servicesRefused: UInt64 = 0
  /// Orders to end connections or subscriptions that gateways were given.
  public var orders: UInt64 = 0
  /// Orders and revocations that a gateway had not confirmed in time.
  public var ordersLate: UInt64 = 0
  /// Revocations that were put in force.
  public var revocations: UInt64 = 0
}
