import Synchronization
import Wire
import ZeroMQ

/// Requests that the gateway itself makes of the broker, in somebody's name: about pictures, which come over HTTP.
final class GatewayCalls: Sendable {
  /// Stands in place of a connection's number in these requests. Connections are counted upwards, so none has it.
  static let connection = UInt64.max

  typealias Answer = @Sendable (BrokerResponse) -> Void

  private struct State {
    var nextTag: UInt64 = 0
    var waiting: [UInt64: Answer] = [:]
  }

  private let uplink: Mailbox<UplinkMessage>
  private let state = Mutex(State())
  /// Calls that may wait for an answer at a time; one more is refused. Each upload makes one.
  private static let mostWaiting = 4096

  init(uplink: Mailbox<UplinkMessage>) { self.uplink = uplink }

  /// - Parameter answer: called once, on the first event loop, or at once where the broker cannot be asked.
  func call(_ request: BrokerRequest, _ answer: @escaping Answer) {
    let tag = state.withLock { state -> UInt64? in
      guard state.waiting.count < Self.mostWaiting else { return nil }
      state.nextTag += 1
      state.waiting[state.nextTag] = answer
      return state.nextTag
    }
    let overloaded = BrokerResponse.failed(.tooManyRequests.saying("the server is overloaded; try again later"))
    guard let tag else { return answer(overloaded) }
    let source = RequestSource(loop: 0, connection: Self.connection, tag: tag)
    let message = UplinkMessage.request(GatewayRequest(source: source, format: .json, request: request))
    // A full mailbox takes it too, without cost: `mostWaiting` bounds these messages already.
    if !uplink.post(message, cost: 512) && !uplink.post(message, cost: 0) { answered(tag: tag, overloaded) }
  }

  func answered(tag: UInt64, _ response: BrokerResponse) {
    state.withLock { $0.waiting.removeValue(forKey: tag) }?(response)
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
