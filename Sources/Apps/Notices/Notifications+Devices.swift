import Wire

/// Devices of people, and what people want to hear.
extension Notifications {
  func register(
    _ register: PushCommand.Register, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    let name = try rules.identify(register.device)
    let user = call.user
    var person = try person(user, view)
    let isFirst = person.isBlank
    try pay(&person, view)
    var effects: [AppEffect] = []
    let owner = PushKeys.owner + name.id
    if let other = try view.record(PushOwner.self, owner), !other.user.hasSameBytes(as: user) {
      effects += try handOn(name.id, from: other.user, view)
    }
    person.devices.removeAll { $0.id.hasSameBytes(as: name.id) }
    person.devices.append(
      .init(
        id: name.id, kind: name.kind, json: String(decoding: name.json, as: UTF8.self), language: register.language,
        topics: register.topics, preview: register.preview, registered: view.now))
    var displaced: [String] = []
    while person.devices.count > max(1, rules.devices) { displaced.append(person.devices.removeFirst().id) }
    effects += try change(user, to: person, without: displaced)
    effects.append(.write(key: owner, PushOwner(user: user)))
    effects.append(.refresh(try Self.channel(of: user), key: name.id, .atomically))
    // With the first device there are settings, be it those that hold without a choice.
    if isFirst { effects.append(.refresh(try Self.channel(of: user), key: PushPerson.settingsKey, .atomically)) }
    // What services said of the device before does not hold any more.
    effects += try decide(about: user, as: person, view) { (round) throws(ClientError) in
      round.release(name.id)
      try round.advance()
    }
    var writer = JSONWriter()
    writer.object { $0.write("device", name.id) }
    return AppDecision(effects, reply: writer.bytes)
  }

  /// Takes a device from the person who had it before: a phone that was handed on, or signed in anew.
  private func handOn(_ id: String, from user: String, _ view: any AppView) throws(ClientError) -> [AppEffect] {
    guard var person = try view.record(PushPerson.self, PushKeys.devices + user) else { return [] }
    person.devices.removeAll { $0.id.hasSameBytes(as: id) }
    // The record of whose it is is written by who has it now.
    return try change(user, to: person, without: [id]).filter { effect in
      if case .erase(let key) = effect { key != PushKeys.owner + id } else { true }
    }
  }

  func unregister(_ device: String, _ call: AppCall, _ view: any AppView) throws(ClientError) -> AppDecision {
    var person = try person(call.user, view)
    guard let known = person.device(device) else { return AppDecision() }
    person.devices.removeAll { $0.id.hasSameBytes(as: known.id) }
    return AppDecision(try change(call.user, to: person, without: [known.id]))
  }

  /// Writes a person, and forgets whose the removed devices were.
  func change(
    _ user: String, to person: PushPerson, without removed: [String]
  ) throws(ClientError) -> [AppEffect] {
    let key = PushKeys.devices + user
    var effects: [AppEffect] = [person.isBlank ? .erase(key: key) : .write(key: key, person)]
    let channel = try Self.channel(of: user)
    for id in removed {
      effects.append(.erase(key: PushKeys.owner + id))
      effects.append(.refresh(channel, key: id, .atomically))
    }
    if person.isBlank, !removed.isEmpty { effects.append(.refresh(channel, key: PushPerson.settingsKey, .atomically)) }
    return effects
  }

  private func pay(_ person: inout PushPerson, _ view: any AppView) throws(ClientError) {
    let rate = PushRate(perMinute: rules.changesPerMinute)
    guard rate.next(after: person.paidUntil, at: view.now) <= view.now else {
      throw .tooManyRequests.counted(as: .pushChanges).saying(
        "devices and settings were changed \(rules.changesPerMinute) times within a minute; wait a little")
    }
    person.paidUntil = rate.paying(person.paidUntil, at: view.now)
  }

  func change(
    _ settings: PushCommand.Settings, _ call: AppCall, _ view: any AppView
  ) throws(ClientError) -> AppDecision {
    var person = try person(call.user, view)
    if settings.isQuestion { return AppDecision(reply: person.settingsJSON) }
    try pay(&person, view)
    // All topics is what holds without any.
    if let topics = settings.topics { person.topics = topics.contains("*") ? nil : topics }
    if let preview = settings.preview { person.preview = preview }
    if let tells = settings.requestPreview { person.requestPreview = tells ? true : nil }
    if let until = settings.mutedUntil { person.mutedUntil = until > view.now ? until : nil }
    switch settings.quiet {
    case .stays: break
    case .ends: person.quiet = nil
    case .becomes(let hours): person.quiet = try QuietHours(hours, at: view.now)
    }
    let changed = person
    var effects = try change(call.user, to: changed, without: [])
    effects.append(.refresh(try Self.channel(of: call.user), key: PushPerson.settingsKey, .atomically))
    // What waits for the end of quiet hours may go now.
    let waiting = try decide(about: call.user, as: changed, view) { (round) throws(ClientError) in
      round.lookAtAllPending()
      try round.advance()
    }
    return AppDecision(effects + waiting, reply: changed.settingsJSON)
  }
}

extension PushPerson {
  /// The key of the entry with what holds for all devices. No device has such an id.
  static let settingsKey = "settings"

  /// An entry of the person's channel: a device without what reaches it, or the settings.
  func entry(_ key: String) -> AppEntry? {
    if key.hasSameBytes(as: Self.settingsKey) { return isBlank ? nil : AppEntry(data: settingsJSON, score: .max) }
    return device(key).map { AppEntry(data: Self.json(of: $0), score: $0.registered) }
  }

  private static func json(of device: Device) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { write(device, &$0) }
    return writer.bytes
  }

  private static func write(_ device: Device, _ writer: inout JSONWriter) {
    writer.write("device", device.id)
    writer.write("kind", device.kind)
    if let language = device.language { writer.write("language", language) }
    if let topics = device.topics { writer.list("topics") { for topic in topics { $0.write(element: topic) } } }
    if let preview = device.preview { writer.write("preview", preview.rawValue) }
    writer.write("registered", device.registered)
  }

  /// `{"devices": […], "settings": {…}}`
  var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      write(to: &writer)
      writer.object("settings") { writeSettings(to: &$0) }
    }
    return writer.bytes
  }

  func write(to writer: inout JSONWriter) {
    writer.list("devices") { for device in devices { $0.write(rawElement: Self.json(of: device)) } }
  }

  var settingsJSON: [UInt8] {
    var writer = JSONWriter()
    writer.object { writeSettings(to: &$0) }
    return writer.bytes
  }

  private func writeSettings(to writer: inout JSONWriter) {
    if let topics { writer.list("topics") { for topic in topics { $0.write(element: topic) } } }
    writer.write("preview", (preview ?? .sender).rawValue)
    writer.write("request_preview", requestPreview ?? false)
    if let until = mutedUntil { writer.write("muted_until", until) }
    guard let quiet else { return }
    writer.object("quiet") { writer in
      writer.write("from", Self.time(quiet.hours.from))
      writer.write("to", Self.time(quiet.hours.to))
      switch quiet.hours.zone {
      case .minutes(let minutes): writer.write("zone", minutes)
      case .name(let name): writer.write("zone", name)
      }
    }
  }

  private static func time(_ minutes: Int) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(two(minutes / 60)):\(two(minutes % 60))"
  }
}
