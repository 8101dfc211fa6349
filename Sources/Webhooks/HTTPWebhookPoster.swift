public import Broker
import Cryptography
import Dispatch
import HTTPClient
import Wire

/// Where one webhook's events go, and with what they are signed.
public struct WebhookReceiver: Sendable {
  public var name: String
  public var url: String
  /// The newest first. Requests are signed with each of them, so that a receiver may know either while they change.
  public var secrets: [String]
  public var timeoutMilliseconds: Int
  public var allowsPrivateAddresses: Bool
  /// A file in PEM; nil: the system's.
  public var certificateAuthorities: String?

  public init(
    name: String, url: String, secrets: [String], timeoutMilliseconds: Int, allowsPrivateAddresses: Bool = false,
    certificateAuthorities: String? = nil
  ) {
    self.name = name
    self.url = url
    self.secrets = secrets
    self.timeoutMilliseconds = timeoutMilliseconds
    self.allowsPrivateAddresses = allowsPrivateAddresses
    self.certificateAuthorities = certificateAuthorities
  }
}

/// Posts events to their receivers, signed (docs/WEBHOOKS.md).
///
/// Signing takes a while for a large request, so it happens on a queue of its own and not in the broker's turn. There
/// is one request of each webhook at a time, as the broker asks for no more.
public final class HTTPWebhookPoster: WebhookPoster {
  private struct Destination: Sendable {
    let receiver: WebhookReceiver
    let keys: [SecretKey]
    let client: HTTPClient
  }

  /// Webhooks whose clients may do the same share one, which is a thread.
  private struct Rules: Hashable {
    var allowsPrivateAddresses: Bool
    var certificateAuthorities: String?
  }

  private let destinations: [String: Destination]
  private let clients: [HTTPClient]
  private let signing = DispatchQueue(label: "fanfare.webhooks")
  private let clock: @Sendable () -> Int64

  /// Most bytes of a reply. What a receiver says beside its status is not looked at.
  private static let replyBytes = 16 << 10

  /// - Parameters:
  ///   - receivers: each with a name of its own.
  ///   - userAgent: the header `User-Agent`.
  ///   - clock: seconds since 1970, for the signatures.
  public init(_ receivers: [WebhookReceiver], userAgent: String, clock: @escaping @Sendable () -> Int64) {
    var clients: [Rules: HTTPClient] = [:]
    var destinations: [String: Destination] = [:]
    for receiver in receivers {
      let rules = Rules(
        allowsPrivateAddresses: receiver.allowsPrivateAddresses, certificateAuthorities: receiver.certificateAuthorities
      )
      let client = clients[rules] ?? Self.client(rules, for: receivers.count, userAgent)
      clients[rules] = client
      let keys = receiver.secrets.map { SecretKey(Array($0.utf8)) }
      destinations[receiver.name] = Destination(receiver: receiver, keys: keys, client: client)
    }
    self.destinations = destinations
    self.clients = Array(clients.values)
    self.clock = clock
  }

  private static func client(_ rules: Rules, for count: Int, _ userAgent: String) -> HTTPClient {
    HTTPClient(
      HTTPClient.Limits(
        connections: count, connectionsPerHost: count, waiting: count, replyBytes: replyBytes,
        allowsPrivateAddresses: rules.allowsPrivateAddresses, certificateAuthorities: rules.certificateAuthorities),
      name: "webhooks", userAgent: userAgent)
  }

  public func post(_ post: WebhookPost, then done: @escaping @Sendable (WebhookAnswer) -> Void) {
    guard let destination = destinations[post.webhook] else {
      let result = WebhookAnswer.Result.failed("the webhook is not configured in this process")
      return done(WebhookAnswer(webhook: post.webhook, number: post.number, result: result))
    }
    let time = clock()
    signing.async {
      let receiver = destination.receiver
      let signature = Self.signature(of: post.body, id: post.id, time: time, with: destination.keys)
      var call = HTTPCall(
        method: "POST", url: receiver.url,
        headers: [
          (name: "Content-Type", value: "application/json"), (name: "webhook-id", value: post.id),
          (name: "webhook-timestamp", value: "\(time)"), (name: "webhook-signature", value: signature),
        ], body: post.body, timeoutMilliseconds: receiver.timeoutMilliseconds)
      if let context = post.context {
        call.headers.append((name: TraceContext.headerName, value: context.traceparent))
      }
      destination.client.send(call) { reply in
        done(WebhookAnswer(webhook: post.webhook, number: post.number, result: Self.result(reply)))
      }
    }
  }

  private static func result(_ reply: Result<HTTPReply, HTTPCallError>) -> WebhookAnswer.Result {
    switch reply {
    case .success(let reply): .status(reply.status, retryAfter: reply.retryAfterSeconds)
    case .failure(let error): .failed(error.description)
    }
  }

  /// The header `webhook-signature`: for each key `v1,` and the base64 of HMAC-SHA256 over `id.time.body`, with spaces
  /// between them.
  static func signature(of body: [UInt8], id: String, time: Int64, with keys: [SecretKey]) -> String {
    let message = Array("\(id).\(time).".utf8) + body
    let signatures = keys.map { "v1," + Base64.standard.text(Digest.sha256.authenticate(message, with: $0)) }
    return signatures.joined(separator: " ")
  }

  public func close() { for client in clients { client.close() } }
}
