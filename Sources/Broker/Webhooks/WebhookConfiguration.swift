public import Wire

/// What the broker has to know of one webhook. Its address and secrets are known only to who posts
/// (``WebhookPoster``).
public struct WebhookConfiguration: Sendable, Equatable {
  /// Names the webhook's channels in the log: another name is another webhook, to which nothing was told yet.
  public var name: String
  public var events: WebhookEvents
  /// The namespaces whose channels are told of, the empty name for channels without one; nil: all.
  public var namespaces: Set<String>?
  /// Most events, and most bytes of them, in one request.
  public var batchEvents = 100
  public var batchBytes = 256 << 10
  /// Most events, and most bytes of them, that wait. Beyond, the oldest are given up.
  public var mostWaiting = 1_000_000
  public var mostWaitingBytes = 1 << 30
  /// Most given-up events that are kept. Beyond, the oldest are lost.
  public var mostGivenUp = 10_000
  /// Milliseconds until a request is repeated: the first time, and at most.
  public var minimumBackoff: Int64 = 1000
  public var maximumBackoff: Int64 = 300_000
  /// Milliseconds after which an event that the receiver does not take is given up.
  public var giveUpAfter: Int64 = 24 * 3_600_000

  public init(name: String, events: WebhookEvents, namespaces: Set<String>? = nil) {
    self.name = name
    self.events = events
    self.namespaces = namespaces
  }

  /// Whether the webhook wants an event of a channel in the namespace.
  func wants(_ event: WebhookEvents, in namespace: String) -> Bool {
    events.contains(event) && (namespaces?.contains(namespace) ?? true)
  }
}

/// One request to a webhook's receiver.
public struct WebhookPost: Sendable, Equatable {
  public var webhook: String
  /// The same whenever the same events are sent together again, and only then.
  public var id: String
  /// The events, as JSON.
  public var body: [UInt8]
  /// Given back with the answer. It is another for each request of the process.
  public var number: UInt64
  /// The trace that the first of the events that are traced belongs to, with this request's span; nil: none is.
  public var context: TraceContext?

  public init(webhook: String, id: String, body: [UInt8], number: UInt64) {
    self.webhook = webhook
    self.id = id
    self.body = body
    self.number = number
  }
}

/// What became of a ``WebhookPost``.
public struct WebhookAnswer: Sendable, Equatable {
  public enum Result: Sendable, Equatable {
    /// The receiver's status, and the seconds that its `Retry-After` asks for.
    case status(Int, retryAfter: Int64? = nil)
    /// There was no whole reply; why, as a sentence for the operator.
    case failed(String)
  }

  public var webhook: String
  public var number: UInt64
  public var result: Result

  public init(webhook: String, number: UInt64, result: Result) {
    self.webhook = webhook
    self.number = number
    self.result = result
  }
}

/// Sends requests to the receivers of webhooks.
public protocol WebhookPoster: Sendable {
  /// Any thread; returns at once.
  ///
  /// - Parameter done: called once, on any thread, except after ``close()``, when it may not be called.
  func post(_ post: WebhookPost, then done: @escaping @Sendable (WebhookAnswer) -> Void)
  /// Ends all requests that are under way. What they carried is sent again by the next process.
  func close()
}

/// How one webhook is doing.
public struct WebhookStatus: Sendable, Equatable {
  public var name = ""
  /// Events that are to be sent, and their bytes.
  public var waiting: UInt64 = 0
  public var waitingBytes: UInt64 = 0
  /// When the oldest event that waits was made, in milliseconds since 1970; nil: none waits, or it is being read.
  public var oldest: Int64?
  /// Since when requests fail, in milliseconds since 1970; nil: the last one was taken.
  public var failingSince: Int64?
  /// Why the last request failed; nil: none has since the last one that was taken.
  public var lastError: String?
  /// Given-up events that are kept.
  public var keptGivenUp: UInt64 = 0
  /// Since the process began: events that were taken, requests that failed, events that were given up, and events that
  /// nobody will get any more.
  public var sent: UInt64 = 0
  public var failures: UInt64 = 0
  public var givenUp: UInt64 = 0
  public var lost: UInt64 = 0
}
