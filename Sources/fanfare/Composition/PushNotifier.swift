import Apps
import Broker
import Dispatch
import Push
import Wire

/// Sends what services ask for with `push_send`, and what the app of notifications has for people. One in a process, and
/// only beside the broker: Apple wants one token at a time.
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

  func push(_ send: PushSend, then done: @escaping @Sendable (PushAnswer) -> Void) {
    reading.async { [service] in
      var verdicts: [String: PushAnswer.Verdict] = [:]
      var parcels: [(message: PushMessage, device: PushDevice)] = []
      var names: [String] = []
      for device in send.devices {
        switch Self.parcel(for: device, of: send) {
        case .success(let parcel):
          parcels.append(parcel)
          names.append(device.id)
        case .failure(let unusable): verdicts[device.id] = .refused(reason: unusable.reason)
        }
      }
      let (refused, asked) = (verdicts, names)
      service.send(parcels) { outcomes in
        var verdicts = refused
        for (name, outcome) in zip(asked, outcomes) { verdicts[name] = PushAnswer.Verdict(outcome) }
        done(PushAnswer(user: send.user, number: send.number, verdicts: verdicts))
      }
    }
  }

  private struct Unusable: Error {
    var reason: String
  }

  private static func parcel(
    for device: PushSend.Device, of send: PushSend
  ) -> Result<(message: PushMessage, device: PushDevice), Unusable> {
    do {
      let message = try PushMessage(
        title: device.title, body: device.body, data: send.data, badge: send.badge.map { min(max($0, 0), 1_000_000) },
        urgency: send.isUrgent ? .high : .normal, timeToLive: send.timeToLive, collapseKey: send.collapseKey,
        isWithdrawal: send.isWithdrawal, isUpdate: send.isUpdate, hasSound: send.isUrgent, link: send.link)
      return .success((message, try PushDevice(json: device.json)))
    } catch {
      return .failure(Unusable(reason: "\(error)"))
    }
  }

  /// Names a device for the app of notifications, which keeps it in the form that is handed back to ``push(_:then:)``.
  ///
  /// - Throws: error 107 with a sentence where it is no device, or no service is configured for it.
  func identify(_ json: [UInt8]) throws(ClientError) -> PushDeviceName {
    let device: PushDevice
    do throws(InvalidPushDevice) { device = try PushDevice(json: json) } catch {
      throw .badRequest.saying(error.description)
    }
    if let fault = service.fault(of: device) { throw .badRequest.saying(fault) }
    return PushDeviceName(id: device.id, kind: device.kind.rawValue, json: device.json)
  }

  func close() { service.close() }
}

extension PushAnswer.Verdict {
  fileprivate init(_ outcome: PushOutcome) {
    self =
      switch outcome {
      case .taken: .taken
      case .forget(_, let since): .forget(since: since)
      case .later(let seconds, let reason): .later(after: seconds.map { $0 * 1000 }, reason: reason)
      case .tooLarge(let reason), .refused(let reason): .refused(reason: reason)
      case .failed(let reason): .failed(reason: reason)
      case .unanswered(let reason): .unanswered(reason: reason)
      }
  }
}
