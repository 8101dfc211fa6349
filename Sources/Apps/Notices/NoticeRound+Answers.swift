import Cryptography
import Wire

/// What became of sends.
extension NoticeRound {
  /// Takes an answer. Of one that is late, or comes again, only that devices are gone is believed.
  mutating func take(_ answer: PushAnswer) {
    let underWay = notices.underWay.flatMap {
      $0.number == answer.number && $0.process == rules.process ? $0 : nil
    }
    forget(answer, since: underWay?.at)
    guard let underWay else { return }
    notices.underWay = nil
    guard let index = notices.index(of: underWay.subject) else { return }
    let state = notices.subjects[index].state
    let sorted = sort(answer, underWay, state)
    if state.isWithdrawal {
      endWithdrawal(index, sorted.taken, sorted.retried)
    } else if state.isUpdate {
      endUpdate(index, sorted.taken, sorted.retried)
    } else {
      endSend(index, sorted)
    }
    if notices.subjects[index].isHurried == true {
      notices.subjects[index].isHurried = nil
      notices.subjects[index].due = now
    }
  }

  /// Forgets devices that services do not know any more, unless they have registered since.
  private mutating func forget(_ answer: PushAnswer, since began: Int64?) {
    var forgotten: [String] = []
    for (id, verdict) in answer.verdicts {
      guard case .forget(let time) = verdict, let since = time ?? began, let device = person.device(id),
        device.registered <= since
      else { continue }
      forgotten.append(device.id)
    }
    if forgotten.isEmpty { return }
    forgotten.sort()
    person.devices.removeAll { forgotten.containsBytes(of: $0.id) }
    gone += forgotten
    note(.forgotten, notices.underWay?.subject ?? "", devices: forgotten)
  }

  /// Devices, by what became of a send to them.
  private struct Sorted {
    var taken: [String] = []
    /// To be tried again.
    var retried: [String] = []
    /// Those of ``retried`` that may show it nevertheless.
    var unanswered: [String] = []
  }

  /// Holds the devices that are to be tried again, and notes what became of it.
  private mutating func sort(
    _ answer: PushAnswer, _ underWay: PushNotices.UnderWay, _ state: NoticeState
  ) -> Sorted {
    var (sorted, refused) = (Sorted(), [String]())
    var reasons: (later: String?, refused: String?)
    for id in underWay.devices where person.device(id) != nil {
      switch answer.verdicts[id] ?? .unanswered(reason: "nobody said what became of it") {
      case .taken:
        notices.holds.removeAll { $0.device.hasSameBytes(as: id) }
        sorted.taken.append(id)
      case .later(let after, let reason):
        hold(id, after: after)
        sorted.retried.append(id)
        reasons.later = reasons.later ?? reason
      case .failed(let reason):
        hold(id, after: nil)
        sorted.retried.append(id)
        reasons.later = reasons.later ?? reason
      case .unanswered(let reason):
        hold(id, after: nil)
        sorted.retried.append(id)
        sorted.unanswered.append(id)
        reasons.later = reasons.later ?? reason
      // Gone, but registered anew since.
      case .forget:
        hold(id, after: nil)
        sorted.retried.append(id)
      case .refused(let reason):
        refused.append(id)
        reasons.refused = reasons.refused ?? reason
      }
    }
    let done: PushNotices.Line.Event = state.isWithdrawal ? .withdrawn : state.isUpdate ? .updated : .sent
    if !sorted.taken.isEmpty { note(done, underWay.subject, devices: sorted.taken) }
    if !refused.isEmpty { note(.refused, underWay.subject, devices: refused, reason: reasons.refused) }
    if !sorted.retried.isEmpty {
      let until = sorted.retried.compactMap { notices.heldUntil($0, at: now) }.min()
      note(.later, underWay.subject, devices: sorted.retried, until: until, reason: reasons.later)
    }
    return sorted
  }

  /// Leaves a device alone for a while, which grows with each failure, and is never shorter than a service asks.
  private mutating func hold(_ id: String, after wish: Int64?) {
    let old = notices.holds.firstIndex { $0.device.hasSameBytes(as: id) }
    let tries = old.map { notices.holds.remove(at: $0).tries } ?? 0
    let pause = min(rules.longestRetry, rules.firstRetry << min(tries, 20))
    let wished = min(max(wish ?? 0, 0), rules.timeToLive)
    let longest = max(pause, wished)
    // Spread, so that all that failed together does not come back together.
    let spread = min(longest / 4, 10_000) * Int64(jitter(id)) / 255
    notices.holds.append(.init(device: id, until: now + max(1, longest + spread), tries: tries + 1))
  }

  /// From 0 to 255, the same whenever the decision is made again.
  private func jitter(_ id: String) -> UInt8 {
    Digest.sha256.hash(Array("\(user)\0\(notices.number)\0\(id)".utf8)).first ?? 0
  }

  /// Ends a send. A device that may show it counts as one that does, so that a withdrawal covers it, and is tried again
  /// all the same.
  private mutating func endSend(_ index: Int, _ sorted: Sorted) {
    var subject = notices.subjects[index]
    let registered = person.devices.map(\.id)
    let showing = sorted.taken + sorted.unanswered
    let before = subject.shownOn.filter { registered.containsBytes(of: $0) && !showing.containsBytes(of: $0) }
    subject.shownOn = before + showing
    let left = ((subject.missing ?? []) + sorted.retried).filter { registered.containsBytes(of: $0) }
    if !showing.isEmpty { subject.withdrawals = 0 }
    if !sorted.taken.isEmpty { (subject.sentAt, subject.looks) = (now, 0) }
    let event: NoticeState.Event =
      switch (subject.shownOn.isEmpty, left.isEmpty) {
      case (false, true): .done
      case (false, false): .partly
      case (true, false): .again
      case (true, true): .hopeless
      }
    let state = subject.state.after(event).state
    (subject.state, subject.missing) = (state, nil)
    if event != .done { subject.told?.newest = nil }
    let newer = subject.newer
    subject.newer = nil
    switch (state, newer) {
    case (.shown, _), (.gone, _):
      notices.subjects[index] = subject
      if state == .shown { lookAgain(index) }
      return
    case (_, let newer?) where event != .again:
      subject.triedAt = nil
      subject.begin(at: newer, rules)
    default:
      // What has come since goes along, to all devices.
      if newer == nil { subject.missing = left }
      if newer != nil { subject.triedAt = nil }
      subject.due = whenFree(left)
    }
    notices.subjects[index] = subject
  }

  /// When the first of devices may be tried again.
  func whenFree(_ devices: [String]) -> Int64 {
    devices.map { notices.heldUntil($0, at: now) ?? now }.min() ?? now
  }

  private mutating func endWithdrawal(_ index: Int, _ taken: [String], _ retried: [String]) {
    var subject = notices.subjects[index]
    let isTriedAgain = !retried.isEmpty && subject.withdrawals < rules.withdrawals
    if !retried.isEmpty, !isTriedAgain {
      note(.givenUp, subject.name, devices: retried, reason: "it is still shown")
    }
    // Those that were held, and so not asked yet, show it too.
    let asked = taken + retried
    let registered = person.devices.map(\.id)
    let unasked = subject.shownOn.filter { id in
      registered.containsBytes(of: id) && !asked.containsBytes(of: id) && notices.heldUntil(id, at: now) != nil
    }
    subject.shownOn = (isTriedAgain ? retried : []) + (subject.withdrawals < rules.withdrawals ? unasked : [])
    end(index, subject, subject.shownOn.isEmpty ? .done : .partly)
  }

  /// Ends a withdrawal, or what was lost.
  private mutating func end(_ index: Int, _ ended: PushNotices.Subject, _ event: NoticeState.Event) {
    var subject = ended
    subject.state = subject.state.after(event).state
    if subject.state == .waiting || subject.state == .gone { subject.shownOn = [] }
    let newer = subject.newer
    subject.newer = nil
    if let newer {
      (subject.missing, subject.triedAt, subject.withdrawals) = (nil, nil, 0)
      subject.begin(at: newer, rules)
    } else {
      subject.due = whenFree(subject.shownOn)
    }
    notices.subjects[index] = subject
  }

  /// Goes on after a send of which nobody said what became. Devices may show it.
  mutating func lose(_ underWay: PushNotices.UnderWay) {
    notices.underWay = nil
    guard let index = notices.index(of: underWay.subject) else { return }
    var subject = notices.subjects[index]
    let devices = underWay.devices.filter { person.device($0) != nil }
    note(.lost, subject.name, devices: devices)
    subject.isHurried = nil
    if subject.state.isUpdate { return endUpdate(index, [], devices) }
    if subject.state.isWithdrawal {
      return end(index, subject, subject.withdrawals < rules.withdrawals ? .lost : .hopeless)
    }
    subject.shownOn += devices.filter { !subject.shownOn.containsBytes(of: $0) }
    subject.missing = subject.newer == nil ? (subject.missing ?? []) + devices : nil
    subject.told?.newest = nil
    (subject.state, subject.newer, subject.due) = (subject.state.after(.lost).state, nil, now)
    notices.subjects[index] = subject
  }
}
