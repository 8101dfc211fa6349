import Broker
import Dispatch
import Push
import Wire

/// Sends what services ask for with `push_send`. One in a process, and only beside the broker: Apple wants one token at a
/// time.
final class PushNotifier: Notifier {
  private let service: PushService
  /// Looking through a hundred devices takes some milliseconds, which is too long for the broker's turn.
  private let reading = DispatchQueue(label: "fanfare.push.reading")

  init(_ service: PushService) { self.service = service }

  func notify(_ request: PushRequest, then done: @escaping @Sendable (NotifierResult) -> Void) {
    reading.async { [service] in
      do throws(ClientError) {
        let order = try PushOrder(json: request.arguments)
        service.send(order) { done(.success(order.json(of: $0))) }
      } catch {
        done(.failure(error))
      }
    }
  }

  func close() { service.close() }
}
