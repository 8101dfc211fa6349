import Logging
import Synchronization
public import Wire
public import ZeroMQ

/// Takes in what services ask of a log that is shared in partitions, and has somebody ask the brokers that have them:
/// services need not know which one has a channel. Both doors are here, the ZeroMQ endpoint for commands and the desk of
/// the server API; what comes in is looked at as a broker does it.
///
/// Publications are tapped at the brokers themselves, each of which has its own tap endpoint: a SUB socket connects to
/// all of them.
public final class ServiceFront: BackboneParticipant {
  /// Asks the brokers, and calls the second parameter once, on any thread.
  public typealias Ask = @Sendable (BrokerRequest, @escaping @Sendable (BrokerResponse) -> Void) -> Void

  private struct Answer: Sendable {
    let tag: ServiceTag
    let cost: Int
    let response: BrokerResponse
  }

  private unowned let loop: BackboneLoop
  private let ask: Ask
  private let desk: ServiceDesk?
  private let services: ServiceEndpoint?
  private let tally = BrokerTally()
  private let logger: Logger
  /// Bounded by ``waitingBytes``.
  private let answers = Mailbox<Answer>(capacity: .max)
  /// Requests from the endpoint without an answer, in bytes. With more than ``limit``, the socket is not read.
  private var waitingBytes = 0
  private let limit: Int
  private var isPaused = false
  private var nextMinute: UInt64 = 0

  /// Builds the socket; call it on the loop's thread.
  ///
  /// - Parameters:
  ///   - endpoints: where services send commands; the tap is left out.
  ///   - namespaces: say of which channels payloads are JSON.
  ///   - limit: bytes of requests from the endpoint that may wait for their answers. The desk has a limit of its own.
  ///   - desk: closed with the loop.
  public init(
    endpoints: BrokerEndpoints, namespaces: NamespaceTable, limit: Int, desk: ServiceDesk?, context: Context,
    loop: BackboneLoop, audit: Audit = .none, logger: Logger, ask: @escaping Ask
  ) throws {
    var endpoints = endpoints
    endpoints.tap = nil
    (self.loop, self.ask, self.desk, self.limit, self.logger) = (loop, ask, desk, limit, logger)
    services = try ServiceEndpoint(
      endpoints, admission: ServiceAdmission(namespaces: namespaces), context: context, logger: logger, audit: audit,
      noteRefusal: { [tally] in tally.refusedService($0, from: $1) })
    if let services, let commands = services.commands {
      services.registration = loop.watch(commands.socket, for: self) { front, _ in front.readCommands() }
    }
    loop.receive(from: answers, for: self) { front, answer in front.take(answer) }
    if let desk {
      loop.receive(from: desk.inquiries, for: self, anywhere: { _, _ in true }) { front, inquiries in
        for inquiry in inquiries { front.serve(inquiry) }
      }
    }
  }

  /// Where services reach it, with the port that the system chose where port 0 was configured; nil: nowhere.
  public var commandsEndpoint: String? { services?.commands?.endpoint }

  private func serve(_ inquiry: ServiceDesk.Inquiry) {
    let (desk, tag) = (desk, inquiry.tag)
    forward(inquiry.request) { desk?.answer(tag, $0) }
  }

  private func readCommands() {
    guard let services else { return }
    do {
      try services.readCommands(limit: loop.messagesPerRound, bytes: max(1, limit - waitingBytes)) { request, tag, _ in
        let (answers, cost) = (answers, request.cost)
        waitingBytes += cost
        // Without cost: what waits is bounded where it comes in.
        forward(request) { _ = answers.post(Answer(tag: tag, cost: cost, response: $0), cost: 0, wakes: true) }
      }
    } catch {
      loop.fail(error)
    }
    pauseOrResume()
  }

  private func forward(_ request: BrokerRequest, _ answer: @escaping @Sendable (BrokerResponse) -> Void) {
    switch request {
    case .subscribe, .unsubscribe: answer(.failed(BrokerCore.servicesTap))
    default: ask(request, answer)
    }
  }

  private func take(_ answer: Answer) {
    waitingBytes -= answer.cost
    services?.answer(answer.tag, answer.response)
    pauseOrResume()
  }

  /// While too much waits, requests stay in their pipes, where services feel it.
  private func pauseOrResume() {
    let shouldPause = isPaused ? waitingBytes > limit / 2 : waitingBytes >= limit
    guard shouldPause != isPaused, let registration = services?.registration else { return }
    isPaused = shouldPause
    loop.setEvents(shouldPause ? [] : .input, for: registration)
  }

  public func tick(now: UInt64) -> UInt64? {
    let isMinuteOver = now >= nextMinute
    if isMinuteOver { nextMinute = now + 60_000_000_000 }
    for line in tally.takeRefusals(isMinuteOver: isMinuteOver) { line.tell(logger) }
    return nextMinute
  }

  public func close() { desk?.close() }
}
