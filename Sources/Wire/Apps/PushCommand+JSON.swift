// How commands of the app Notifications are read from JSON.

extension PushCommand {
  init(_ name: String, _ data: [UInt8], by user: String) throws(ClientError) {
    try UserIdentifier.check(user, most: Self.maximumUserBytes)
    guard let method = Method.named[name] else { throw .methodNotFound }
    let fields = try PushFields(data)
    switch method {
    case .register: self = .register(try Register(fields))
    case .unregister:
      guard let device = try fields.text("device") else {
        throw .badRequest.saying("`device` is missing; give the id that push.register answered with")
      }
      self = .unregister(device: device)
    case .devices: self = .devices
    case .settings: self = .settings(try Settings(fields))
    case .delivered: self = .delivered(try Mark(fields))
    case .seen: self = .seen(try Mark(fields))
    }
  }
}

extension PushCommand.Register {
  fileprivate init(_ fields: PushFields) throws(ClientError) {
    guard let device = fields.value("device"), device.bytes.first == UInt8(ascii: "{") else {
      throw .badRequest.saying(
        "`device` is missing; give the browser's subscription or the token as an object (docs/PUSH.md)")
    }
    guard device.bytes.count <= PushCommand.maximumDeviceBytes else {
      throw .badRequest.saying("`device` has more than \(PushCommand.maximumDeviceBytes) bytes")
    }
    self.init(
      device: Array(device.bytes), language: try fields.language(), topics: try fields.topics(),
      preview: try fields.preview())
  }
}

extension PushCommand.Settings {
  fileprivate init(_ fields: PushFields) throws(ClientError) {
    self.init()
    topics = try fields.topics()
    preview = try fields.preview()
    requestPreview = try fields.flag("request_preview")
    mutedUntil = try fields.number("muted_until").map(Int64.init(clamping:))
    guard let quiet = fields.object["quiet"] else { return }
    self.quiet = quiet.isNull ? .ends : .becomes(try PushCommand.Quiet(quiet))
  }
}

extension PushCommand.Quiet {
  /// `{"from": "22:00", "to": "07:00", "zone": minutes or a name}`
  fileprivate init(_ value: JSONValue) throws(ClientError) {
    let fields = try PushFields(value)
    let (from, to) = (try Self.minutes("from", fields), try Self.minutes("to", fields))
    if from == to {
      throw .badRequest.saying("the quiet hours end when they begin; mute everything with `muted_until`")
    }
    guard let zone = fields.value("zone") else {
      throw .badRequest.saying("`zone` is missing; give minutes east of UTC, or a name such as \"Europe/Vienna\"")
    }
    self.init(from: from, to: to, zone: try Self.zone(zone))
  }

  private static func zone(_ value: JSONValue) throws(ClientError) -> Zone {
    if let name = value.string, isZone(name) { return .name(name) }
    guard let minutes = Int(value.text), isZone(minutes) else {
      throw .badRequest.saying("`zone` is minutes east of UTC, from -1080 to 1080, or a name such as \"Europe/Vienna\"")
    }
    return .minutes(minutes)
  }

  fileprivate static func isZone(_ minutes: Int) -> Bool { (-1080...1080).contains(minutes) }

  /// The form of a zone's name, which names a file to whoever looks it up.
  fileprivate static func isZone(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: "/")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"): true
        case UInt8(ascii: "-"), UInt8(ascii: "+"): true
        default: false
        }
      }
  }

  private static func minutes(_ name: String, _ fields: PushFields) throws(ClientError) -> Int {
    let parts = (try fields.text(name) ?? "").utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy(digits.contains) }),
      let hour = Int(Substring(parts[0])), let minute = Int(Substring(parts[1])), hour < 24, minute < 60
    else { throw .badRequest.saying("`\(name)` is a time of the day such as \"22:00\"") }
    return 60 * hour + minute
  }

  /// Whether the values are such as are read from JSON.
  var isValid: Bool {
    guard (0..<1440).contains(from), (0..<1440).contains(to), from != to else { return false }
    return switch zone {
    case .minutes(let minutes): Self.isZone(minutes)
    case .name(let name): Self.isZone(name)
    }
  }
}

extension PushCommand.Mark {
  fileprivate init(_ fields: PushFields) throws(ClientError) {
    guard let subject = try fields.text("subject"), !subject.isEmpty else {
      throw .badRequest.saying("`subject` is missing; give that of the notification, such as a channel")
    }
    guard subject.utf8.count <= PushCommand.maximumSubjectBytes else {
      throw .badRequest.saying("`subject` has more than \(PushCommand.maximumSubjectBytes) bytes")
    }
    self.init(subject: subject, offset: try fields.number("offset"))
  }
}

/// Fields by name. Not ``CommandFields``, since devices and quiet hours are objects.
private struct PushFields {
  let object: JSONObject

  init(_ data: [UInt8]) throws(ClientError) {
    guard let value = try? JSONValue(parsing: data.isEmpty ? Array("{}".utf8) : data) else {
      throw .badRequest.saying("the data is not valid JSON")
    }
    try self.init(value)
  }

  init(_ value: JSONValue) throws(ClientError) {
    guard let object = value.object else {
      throw .badRequest.saying("the data is a JSON object in which each field stands once; docs/PUSH.md has the fields")
    }
    self.object = object
  }

  /// The value of a field; nil where it is left out or null.
  func value(_ name: String) -> JSONValue? { object[name].flatMap { $0.isNull ? nil : $0 } }

  func text(_ name: String) throws(ClientError) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string else { throw .badRequest.saying("`\(name)` must be a string") }
    return text
  }

  func flag(_ name: String) throws(ClientError) -> Bool? {
    guard let value = value(name) else { return nil }
    guard let flag = value.bool else { throw .badRequest.saying("`\(name)` must be true or false") }
    return flag
  }

  func number(_ name: String) throws(ClientError) -> UInt64? {
    guard let value = value(name) else { return nil }
    guard let number = UInt64(value.text) else {
      throw .badRequest.saying("`\(name)` must be a whole number from 0")
    }
    return number
  }

  func language() throws(ClientError) -> String? {
    guard let language = try text("language") else { return nil }
    guard PushLanguage.isValid(language) else {
      throw .badRequest.saying("`language` is a language tag such as \"de-AT\"")
    }
    return language
  }

  func preview() throws(ClientError) -> PushCommand.Preview? {
    guard let name = try text("preview") else { return nil }
    guard let preview = PushCommand.Preview(rawValue: name) else {
      throw .badRequest.saying("`preview` is one of nothing, sender, text")
    }
    return preview
  }

  /// Topics, each once.
  func topics() throws(ClientError) -> [String]? {
    guard let value = value("topics") else { return nil }
    guard let elements = value.array, elements.count <= PushTopics.most else {
      throw .badRequest.saying("`topics` is a list of at most \(PushTopics.most) names, such as \"clique.message\"")
    }
    var topics: [String] = []
    for element in elements {
      guard let topic = element.string, PushTopics.isValid(topic) else {
        throw .badRequest.saying(
          "`topics` holds names such as \"clique.message\", or \"clique.*\" for all that begin so")
      }
      if !topics.contains(topic) { topics.append(topic) }
    }
    return topics
  }
}

/// Tags of languages, as devices and texts have them: `de`, `de-AT`.
public enum PushLanguage {
  public static func isValid(_ tag: String) -> Bool {
    guard tag.utf8.count <= 35 else { return false }
    let parts = tag.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return parts.allSatisfy { part in
      (1...8).contains(part.count)
        && part.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
          case UInt8(ascii: "0")...UInt8(ascii: "9"): true
          default: false
          }
        }
    }
  }
}
