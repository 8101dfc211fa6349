import Synchronization
import Wire
import ZeroMQ

/// Requests that the gateway itself makes of brokers, in somebody's name: about pictures, which come over HTTP, and those
/// of services.
final class GatewayCalls: Sendable {
  /// Stands in place of a connection's number in these requests. Connections are counted upwards, so none has it.
  static let connection = UInt64.max

  typealias Answer = @Sendable (BrokerResponse) -> Void

  private struct State {
    var nextTag: UInt64 = 0
    var waiting: [UInt64: (answer: Answer, isService: Bool)] = [:]
    /// How many of them are services'.
    var services = 0
  }

  private let uplink: Mailbox<UplinkMessage>
  private let state = Mutex(State())
  /// Calls that may wait for an answer at a time; one more is refused. Each upload makes one.
  private static let mostWaiting = 4096
  /// The same for requests of services, which whoever takes them in bounds in bytes.
  private static let mostServices = 100_000

  init(uplink: Mailbox<UplinkMessage>) { self.uplink = uplink }

  /// - Parameters:
  ///   - isService: a service asks, and not a client.
  ///   - answer: called once, on the first event loop, or at once where the broker cannot be asked.
  func call(_ request: BrokerRequest, isService: Bool = false, _ answer: @escaping Answer) {
    let tag = state.withLock { state -> UInt64? in
      let (count, most) =
        isService
        ? (state.services, Self.mostServices) : (state.waiting.count - state.services, Self.mostWaiting)
      guard count < most else { return nil }
      if isService { state.services += 1 }
      state.nextTag += 1
      state.waiting[state.nextTag] = (answer, isService)
      return state.nextTag
    }
    let overloaded = BrokerResponse.failed(.tooManyRequests.saying("the server is overloaded; try again later"))
    guard let tag else { return answer(overloaded) }
    let source = RequestSource(loop: 0, connection: Self.connection, tag: tag)
    let message = UplinkMessage.request(
      GatewayRequest(source: source, format: .json, request: request, isService: isService))
    // A full mailbox takes it too, without cost: `mostWaiting` bounds these messages already.
    if !uplink.post(message, cost: 512) && !uplink.post(message, cost: 0) { answered(tag: tag, overloaded) }
  }

  func answered(tag: UInt64, _ response: BrokerResponse) {
    let answer = state.withLock { state -> Answer? in
      guard let call = state.waiting.removeValue(forKey: tag) else { return nil }
      if call.isService { state.services -= 1 }
      return call.answer
    }
    answer?(response)
  }
}

extension GatewayCalls {
  /// The broker behind commands about pictures of an app.
  func pictureBroker(for purpose: PicturePurpose) -> PictureBroker {
    PictureBroker { [self] command, user, answer in
      let caller = ClientInfo(user: user, client: "")
      let command: AppCommand =
        switch purpose {
        case .state: .state(StateCommand(command))
        case .clique: .clique(.picture(command))
        }
      call(.call(.init(command, caller: caller, isGateways: true))) { response in
        if case .result(let data) = response { answer(.success(data)) } else { answer(.failure(response.error)) }
      }
    }
  }
}
