public import Cryptography
import Dispatch
import HTTPClient
import Synchronization

/// Brings notifications to the services that bring them to devices: browsers' push services, APNs and FCM.
///
/// It knows devices and messages, and nothing of users or channels. What has to be sent again is the caller's business:
/// an outcome says whether and when. So is the order: two notifications for one device may arrive in any order, unless
/// the caller waits for the first.
///
/// A notification: handed over, then one of
///
///     refused    the service is not configured, too many wait, or it is closed: at once
///     waiting    for the queue that encrypts and signs, for a token of FCM, or for a free connection
///     under way
///     over       exactly one outcome was told
///
/// A service that is slow or away keeps only its own notifications waiting: each has clients and limits of its own.
public final class PushService: Sendable {
  /// Most bytes of an answer. The longest errors of FCM have a few kibibytes.
  private static let replyBytes = 32 << 10

  private struct Counts {
    var open: [PushDevice.Kind: Int] = [:]
    var isClosed = false
  }

  let limits: PushConfiguration.Limits
  private let metrics = PushMetrics()
  private let webPush: WebPushSender?
  private let apns: APNsSender?
  private let fcm: FCMSender?
  private let clients: [PushDevice.Kind: HTTPClient]
  /// Encrypting and signing takes a fraction of a millisecond, which is too long for the threads of callers.
  private let preparing = DispatchQueue(label: "fanfare.push")
  private let counts = Mutex(Counts())
  private let now: @Sendable () -> Int64
  private let age: @Sendable () -> Int64

  /// - Parameters:
  ///   - userAgent: the header `User-Agent`.
  ///   - now: seconds since 1970.
  ///   - age: seconds of a clock that is never set back.
  /// - Throws: where OpenSSL does not work with a key.
  public init(
    _ configuration: PushConfiguration, userAgent: String, now: @escaping @Sendable () -> Int64,
    age: @escaping @Sendable () -> Int64
  ) throws(UnusableKey) {
    limits = configuration.limits
    self.now = now
    self.age = age
    webPush = try configuration.webPush.map { (web) throws(UnusableKey) in try WebPushSender(web) }
    apns = try configuration.apns.map { (apns) throws(UnusableKey) in try APNsSender(apns) }
    var clients: [PushDevice.Kind: HTTPClient] = [:]
    if let web = configuration.webPush {
      let allowsPrivate = web.allowsPrivateAddresses
      clients[.web] = Self.client(.web, configuration, userAgent, allowsPrivateAddresses: allowsPrivate)
    }
    // The addresses of these two are the operator's own, or the vendors'.
    if configuration.apns != nil {
      clients[.apns] = Self.client(.apns, configuration, userAgent, allowsPrivateAddresses: true)
    }
    if let fcm = configuration.fcm {
      let client = Self.client(.fcm, configuration, userAgent, allowsPrivateAddresses: true)
      clients[.fcm] = client
      let tokens = AccessTokens(fcm.account, client: client, limits: configuration.limits, now: now, age: age)
      self.fcm = FCMSender(fcm, tokens: tokens)
    } else {
      fcm = nil
    }
    self.clients = clients
  }

  private static func client(
    _ kind: PushDevice.Kind, _ configuration: PushConfiguration, _ userAgent: String, allowsPrivateAddresses: Bool
  ) -> HTTPClient {
    let limits = configuration.limits
    return HTTPClient(
      HTTPClient.Limits(
        connections: limits.underWay, connectionsPerHost: limits.underWay, waiting: limits.waiting + limits.underWay,
        replyBytes: replyBytes, allowsPrivateAddresses: allowsPrivateAddresses,
        certificateAuthorities: configuration.certificateAuthorities),
      name: "push \(kind.rawValue)", userAgent: userAgent)
  }

  /// What browsers subscribe with, `applicationServerKey` in base64url; nil where they are not sent to.
  public var browserKey: String? { webPush?.configuration.key.publicText }

  /// Why a device cannot be reached with this configuration, as a sentence for whoever registers it; nil where it can.
  public func fault(of device: PushDevice) -> String? {
    let missing =
      "this server sends no notifications to devices of the kind \(device.kind.rawValue): \(device.kind.setting) is not set"
    return switch device {
    case .webPush(let subscription): webPush == nil ? missing : webPush?.fault(of: subscription)
    case .apns(let device): apns == nil ? missing : apns?.fault(of: device)
    case .fcm: fcm == nil ? missing : nil
    }
  }

  /// Sends a notification to a device. May be called on any thread.
  ///
  /// - Parameter done: called once, on a thread of the service's or the caller's own; it must not block.
  public func send(_ message: PushMessage, to device: PushDevice, then done: @escaping @Sendable (PushOutcome) -> Void)
  {
    if let outcome = enter(device) {
      metrics.count(outcome, device.kind)
      return done(outcome)
    }
    preparing.async { [self] in
      begin(message, device) { [self] outcome in
        counts.withLock { $0.open[device.kind, default: 1] -= 1 }
        metrics.count(outcome, device.kind)
        done(outcome)
      }
    }
  }

  /// Ends all that is not over with `failed`, or `unanswered` where it has gone out. May be called on any thread, and
  /// more than once; waits for the threads of the service, unless it is called on one of them.
  public func close() {
    counts.withLock { $0.isClosed = true }
    for client in clients.values { client.close() }
  }

  deinit { close() }

  /// - Returns: what becomes of the notification where it may not be sent.
  private func enter(_ device: PushDevice) -> PushOutcome? {
    if let fault = fault(of: device) { return .refused(fault) }
    return counts.withLock { counts in
      if counts.isClosed { return .ended }
      let open = counts.open[device.kind, default: 0]
      if open >= limits.underWay + limits.waiting {
        return .failed(reason: "too many notifications wait for the service of kind \(device.kind.rawValue)")
      }
      counts.open[device.kind] = open + 1
      return nil
    }
  }

  private func begin(_ message: PushMessage, _ device: PushDevice, _ done: @escaping @Sendable (PushOutcome) -> Void) {
    if counts.withLock({ $0.isClosed }) { return done(.ended) }
    do throws(PreparationFault) {
      switch device {
      case .webPush(let subscription): try sendWebPush(message, device, subscription, done)
      case .apns(let target): try sendAPNs(message, device, target, done)
      case .fcm(let target): sendFCM(message, device, target, done)
      }
    } catch {
      done(error.outcome)
    }
  }

  private func sendWebPush(
    _ message: PushMessage, _ device: PushDevice, _ subscription: WebPushSubscription,
    _ done: @escaping @Sendable (PushOutcome) -> Void
  ) throws(PreparationFault) {
    guard let webPush, let client = clients[.web] else { throw PreparationFault(.ended) }
    let call = try webPush.call(
      message, to: device, subscription, now: now(), milliseconds: limits.timeoutMilliseconds)
    let host = subscription.address.host
    client.sendAndTrace(call) { result in
      switch result {
      case .success(let reply): done(WebPushAnswer.verdict(reply, host: host))
      case .failure(let failure): done(.after(failure, "the push service \(host)"))
      }
    }
  }

  private func sendAPNs(
    _ message: PushMessage, _ device: PushDevice, _ target: APNsDevice,
    _ done: @escaping @Sendable (PushOutcome) -> Void
  ) throws(PreparationFault) {
    guard let apns, let client = clients[.apns] else { throw PreparationFault(.ended) }
    let prepared = try apns.call(
      message, to: device, target, now: now(), age: age(), milliseconds: limits.timeoutMilliseconds)
    client.sendAndTrace(prepared.call) { [self] result in
      switch result.map({ APNsAnswer.verdict($0, id: prepared.id) }) {
      case .success(.outcome(let outcome)): done(outcome)
      case .success(.tokenExpired(let reason)): done(apns.tokens.reject(prepared.token, age: age(), reason: reason))
      case .failure(let failure): done(.after(failure, "APNs"))
      }
    }
  }

  private func sendFCM(
    _ message: PushMessage, _ device: PushDevice, _ target: FCMDevice, _ done: @escaping @Sendable (PushOutcome) -> Void
  ) {
    guard let fcm, let client = clients[.fcm] else { return done(.ended) }
    fcm.tokens.token { [self] token in
      do throws(PreparationFault) {
        let token = try token.get()
        let call = try fcm.call(
          message, to: device, target, accessToken: token, now: now(), milliseconds: limits.timeoutMilliseconds)
        client.sendAndTrace(call) { result in
          switch result.map({ FCMAnswer.verdict($0) }) {
          case .success(.outcome(let outcome)): done(outcome)
          case .success(.tokenExpired(let reason)): done(fcm.tokens.reject(token, reason: reason))
          case .failure(let failure): done(.after(failure, "FCM"))
          }
        }
      } catch {
        done(error.outcome)
      }
    }
  }
}

extension PushDevice.Kind {
  /// The setting without which there is no service for the kind.
  fileprivate var setting: String {
    switch self {
    case .web: "push.web.vapid_private_key_file"
    case .apns: "push.apns.key_file"
    case .fcm: "push.fcm.service_account_file"
    }
  }
}

extension PushOutcome {
  static let ended = PushOutcome.failed(reason: "the server is ending")

  /// There was no answer.
  ///
  /// - Parameter whose: who was called, as a sentence begins with it.
  static func after(_ failure: HTTPCallFailure, _ whose: String) -> PushOutcome {
    let outcome = unsent(failure.error, whose)
    guard failure.mayHaveGoneOut, case .failed(let reason) = outcome else { return outcome }
    return .unanswered(reason: "\(reason); it may have taken the notification")
  }

  /// There was no answer, and the notification is not at the service.
  static func unsent(_ error: HTTPCallError, _ whose: String) -> PushOutcome {
    switch error {
    case .badURL, .refusedAddress: .refused("\(whose) was not called: \(ServiceText.printable(error.description))")
    case .unreachable, .timedOut, .tooLarge, .tooMany, .closed:
      .failed(reason: "\(whose): \(ServiceText.printable(error.description))")
    }
  }
}
