import Wire

/// Updates of what is shown, where the person has seen some of it on another device.
///
/// | of what devices were told | since they were told | what is done |
/// |---|---|---|
/// | nothing is seen | | nothing |
/// | some is seen | less than the interval between two notifications ago | waits for that |
/// | some is seen | longer ago | *update*: what is left replaces what is shown, without a sound |
/// | all is seen, and something newer was acknowledged in time | | *withdrawal*, since nothing was told of the newer |
/// | all is seen, and something newer was not acknowledged | | nothing: its own notification replaces it |
/// | all is seen, and nothing is left | | *withdrawal* |
///
/// An update shows nothing on a device that shows nothing of the subject any more: what a person has wiped away does not
/// come back. It does not wait for the end of quiet hours, since it makes no sound. What a backend has written is never
/// updated, since its text says nothing of how much there is.
extension NoticeRound {
  /// Tells devices that less is left of what they show.
  mutating func update(_ index: Int, _ found: AppNotification, _ badge: Int?) {
    let subject = notices.subjects[index]
    guard subject.state == .shown, subject.content?.hasText != true, var told = subject.told else { return }
    let isLower = found.unseen < told.unseen
    let stale = isLower ? subject.shownOn : told.stale ?? []
    let devices = person.devices.filter { stale.containsBytes(of: $0.id) }
    if devices.isEmpty { return }
    let free = devices.filter { notices.heldUntil($0.id, at: now) == nil }
    if let time = whenUpdated(told, devices, isFree: !free.isEmpty) {
      notices.subjects[index].due = min(subject.due, time)
      return
    }
    told.unseen = min(told.unseen, found.unseen)
    told.stale = devices.map(\.id).filter { id in !free.contains { $0.id.hasSameBytes(as: id) } }
    (told.updatedAt, told.tries) = (now, isLower ? 1 : (told.tries ?? 0) + 1)
    notices.paidUntil = PushRate(perMinute: rules.sendsPerMinute).paying(notices.paidUntil, at: now)
    notices.subjects[index].state = subject.state.after(.fewer).state
    (notices.subjects[index].told, notices.subjects[index].newer) = (told, nil)
    notices.subjects[index].isHurried = nil
    let sent = free.map { device in
      let (title, body) = text(of: subject, found, on: device)
      return PushSend.Device(id: device.id, json: Array(device.json.utf8), title: title, body: body)
    }
    begin(
      PushSend(
        user: user, number: notices.number + 1, devices: sent, collapseKey: subject.name, isUpdate: true,
        badge: badge, data: Self.data(of: found, about: subject.name), timeToLive: seconds(left: subject),
        isUrgent: false),
      about: subject.name)
  }

  /// When an update may go out that may not yet; nil: it may.
  private func whenUpdated(_ told: PushNotices.Told, _ devices: [PushPerson.Device], isFree: Bool) -> Int64? {
    // What is under way ends with a look at all that is due.
    if notices.underWay != nil { return now }
    let earliest = max(told.at, told.updatedAt ?? told.at).saturatingAdd(rules.repeatInterval)
    if earliest > now { return earliest }
    if !isFree { return whenFree(devices.map(\.id)) }
    let next = PushRate(perMinute: rules.sendsPerMinute).next(after: notices.paidUntil, at: now)
    return next > now ? next : nil
  }

  /// Ends an update. What is shown stays shown, whatever came of it.
  mutating func endUpdate(_ index: Int, _ taken: [String], _ retried: [String]) {
    var subject = notices.subjects[index]
    let registered = person.devices.map(\.id)
    subject.shownOn.removeAll { !registered.containsBytes(of: $0) }
    var stale = ((subject.told?.stale ?? []) + retried).filter { registered.containsBytes(of: $0) }
    if !stale.isEmpty, subject.told?.tries ?? 0 >= rules.withdrawals {
      note(.givenUp, subject.name, devices: stale, reason: "an older number is still shown")
      stale = []
    }
    subject.told?.stale = stale.isEmpty ? nil : stale
    if stale.isEmpty { subject.told?.tries = nil }
    subject.state = subject.state.after(.done).state
    let newer = subject.newer
    subject.newer = nil
    if let newer {
      (subject.missing, subject.triedAt) = (nil, nil)
      subject.begin(at: newer, rules)
    }
    notices.subjects[index] = subject
    if newer != nil { return }
    lookAgain(index)
    if !stale.isEmpty { notices.subjects[index].due = min(notices.subjects[index].due, max(now + 1, whenFree(stale))) }
  }
}

extension PushNotices.Subject {
  /// Whether the person has seen all that devices show, and what is left came later and was acknowledged in time.
  func isSeen(in found: AppNotification) -> Bool {
    guard !shownOn.isEmpty, found.unacknowledged == 0, let told, let oldest = found.unseenSince else { return false }
    return oldest > told.at
  }
}
