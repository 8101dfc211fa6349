import Synchronization
import Wire
import ZeroMQ

/// Requests that the gateway itself makes of the broker, in somebody's name: about pictures, which come over HTTP.
final class GatewayCalls: Sendable {
  /// Stands where a connection's number stands otherwise; connections are counted from the other end.
  static let connection = UInt64.max

  typealias Answer = @Sendable (BrokerResponse) -> Void

  private struct State {
    var nextTag: UInt64 = 0
    var waiting: [UInt64: Answer] = [:]
  }

  private let uplink: Mailbox<UplinkMessage>
  private let state = Mutex(State())
  /// Bounded: each upload makes one.
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
    if !uplink.post(message, cost: 512) { take(tag: tag, overloaded) }
  }

  func take(tag: UInt64, _ response: BrokerResponse) {
    state.withLock { $0.waiting.removeValue(forKey: tag) }?(response)
  }
}

extension PictureBroker {
  init(_ calls: GatewayCalls) {
    self.init(
      register: { picture, answer in
        var writer = JSONWriter()
        writer.object { writer in
          writer.write("id", picture.id)
          writer.write("type", picture.type)
          writer.write("bytes", picture.bytes)
          writer.write("key", base64: picture.key)
        }
        calls.call(.gateway("state.picture.added", writer.bytes, for: picture.user)) { response in
          if case .result = response { answer(.success(())) } else { answer(.failure(response.error)) }
        }
      },
      key: { id, user, answer in
        var writer = JSONWriter()
        writer.object { $0.write("id", id) }
        calls.call(.gateway("state.picture.key", writer.bytes, for: user)) { response in
          guard case .result(let data) = response else { return answer(.failure(response.error)) }
          answer(Self.key(from: data))
        }
      })
  }

  private static func key(from data: [UInt8]) -> Result<PictureKey, ClientError> {
    do throws(ClientError) {
      let arguments = try JSONArguments(data)
      guard let type = try arguments.string("type"), let text = try arguments.string("key"),
        let key = BinaryPayload.bytes(ofJSON: Array("\"\(text)\"".utf8))
      else { return .failure(.internalError) }
      return .success(PictureKey(type: type, key: key))
    } catch {
      return .failure(error)
    }
  }
}

extension BrokerRequest {
  fileprivate static func gateway(_ method: String, _ data: [UInt8], for user: String) -> BrokerRequest {
    .call(.init(method: method, data: data, caller: ClientInfo(user: user, client: ""), isGateways: true))
  }
}
