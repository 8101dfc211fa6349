import Cryptography
import HTTPClient

/// Makes the requests for browsers' push services.
struct WebPushSender: Sendable {
  let configuration: PushConfiguration.WebPush
  private let hosts: HostList
  private let tokens: VAPIDTokens
  private let tags: CollapseTags

  init(_ configuration: PushConfiguration.WebPush) throws(UnusableKey) {
    self.configuration = configuration
    hosts = HostList(configuration.allowedHosts)
    tokens = VAPIDTokens(configuration.key, subject: configuration.subject)
    tags = CollapseTags(secret: try configuration.key.key.scalar())
  }

  /// Why a subscription cannot be reached; nil where it can.
  func fault(of subscription: WebPushSubscription) -> String? {
    if hosts.allows(subscription.address.host) { return nil }
    return "the push service \(subscription.address.host) is not among push.web.allowed_hosts"
  }

  /// - Parameter now: seconds since 1970.
  func call(
    _ message: PushMessage, to device: PushDevice, _ subscription: WebPushSubscription, now: Int64, milliseconds: Int
  ) throws(PreparationFault) -> HTTPCall {
    if let fault = fault(of: subscription) { throw PreparationFault(.refused(fault)) }
    let tag = message.collapseKey.map { tags.tag($0, for: device) }
    do {
      let text = try PushPayload.webPush(message, tag: tag, link: message.link ?? configuration.link)
      var headers = [
        (name: "TTL", value: "\(message.timeToLive)"), (name: "Urgency", value: message.urgency.rawValue),
        (name: "Content-Encoding", value: "aes128gcm"), (name: "Content-Type", value: "application/octet-stream"),
        (name: "Authorization", value: try tokens.authorization(for: subscription.address.origin, now: now)),
      ]
      if let key = message.waitingKey { headers.append((name: "Topic", value: tags.tag(key, for: device))) }
      return HTTPCall(
        url: subscription.endpoint, headers: headers, body: try WebPushEncryption.encrypt(text, for: subscription),
        timeoutMilliseconds: milliseconds)
    } catch is PushPayload.TooLarge {
      throw PreparationFault(.tooLarge)
    } catch {
      throw PreparationFault(.unsigned("push.web"))
    }
  }
}
