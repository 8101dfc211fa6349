import Apps
import Wire
import ZeroMQ

/// What goes to the part of the process that sends notifications, and what comes back.
extension BrokerBackbone {
  func notify(_ request: PushRequest, _ number: UInt64) {
    let notified = notified
    guard let notifier else {
      let error = ClientError.notAvailable.saying("this process sends no notifications; call the broker's port")
      _ = notified.post(.request(number: number, .failure(error)))
      return
    }
    notifier.notify(request) { _ = notified.post(.request(number: number, $0)) }
  }

  func push(_ send: PushSend) {
    let notified = notified
    guard let notifier else {
      let reason = "this process sends no notifications"
      let verdicts = send.devices.map { ($0.id, PushAnswer.Verdict.failed(reason: reason)) }
      let answer = PushAnswer(
        user: send.user, number: send.number, verdicts: Dictionary(verdicts, uniquingKeysWith: { first, _ in first }))
      _ = notified.post(.push(answer))
      return
    }
    notifier.push(send) { _ = notified.post(.push($0)) }
  }

  func take(_ answer: NotifierAnswer) {
    turn.time = clock()
    switch answer {
    case .request(let number, let result): core.notified(result, for: number, in: &turn)
    case .push(let answer): core.pushed(answer, in: &turn)
    }
    perform()
  }
}
