// How commands of the app Notifications stand in the body of a link message.

extension PushCommand {
  func write(to sink: inout some ByteSink) {
    switch self {
    case .register(let register):
      sink.write(register.device)
      sink.write(optionalText: register.language)
      sink.write(optionalTopics: register.topics)
      sink.write(optionalText: register.preview?.rawValue)
    case .unregister(let device): sink.write(device)
    case .devices: break
    case .settings(let settings): settings.write(to: &sink)
    case .delivered(let mark), .seen(let mark):
      sink.write(mark.subject)
      sink.write(flag: mark.offset != nil)
      if let offset = mark.offset { sink.write(offset) }
    }
  }

  init(_ method: Method, from reader: inout ByteReader) throws(MalformedMessage) {
    switch method {
    case .register:
      self = .register(
        .init(
          device: try reader.readBytes(), language: try reader.readOptionalString(),
          topics: try reader.readTopics(), preview: try reader.readPreview()))
    case .unregister: self = .unregister(device: try reader.readString())
    case .devices: self = .devices
    case .settings: self = .settings(try Settings(from: &reader))
    case .delivered: self = .delivered(try reader.readMark())
    case .seen: self = .seen(try reader.readMark())
    }
  }
}

extension PushCommand.Settings {
  fileprivate func write(to sink: inout some ByteSink) {
    sink.write(optionalTopics: topics)
    sink.write(optionalText: preview?.rawValue)
    sink.write(byte: requestPreview.map { $0 ? 2 : 1 } ?? 0)
    sink.write(optionalTime: mutedUntil)
    switch quiet {
    case .stays: sink.write(byte: 0)
    case .ends: sink.write(byte: 1)
    case .becomes(let quiet):
      sink.write(byte: 2)
      sink.write(UInt64(quiet.from))
      sink.write(UInt64(quiet.to))
      switch quiet.zone {
      case .minutes(let minutes):
        sink.write(flag: false)
        sink.write(String(minutes))
      case .name(let name):
        sink.write(flag: true)
        sink.write(name)
      }
    }
  }

  fileprivate init(from reader: inout ByteReader) throws(MalformedMessage) {
    self.init()
    topics = try reader.readTopics()
    preview = try reader.readPreview()
    let flag = try reader.readByte()
    guard flag <= 2 else { throw MalformedMessage() }
    requestPreview = flag == 0 ? nil : flag == 2
    mutedUntil = try reader.readOptionalTime()
    switch try reader.readByte() {
    case 0: quiet = .stays
    case 1: quiet = .ends
    case 2: quiet = .becomes(try reader.readQuiet())
    default: throw MalformedMessage()
    }
  }
}

extension ByteSink {
  fileprivate mutating func write(optionalTopics topics: [String]?) {
    write(flag: topics != nil)
    if let topics { write(topics) }
  }
}

extension ByteReader {
  fileprivate mutating func readTopics() throws(MalformedMessage) -> [String]? {
    guard try readFlag() else { return nil }
    let topics = try readStrings()
    guard topics.count <= PushTopics.most, topics.allSatisfy(PushTopics.isValid) else { throw MalformedMessage() }
    return topics
  }

  fileprivate mutating func readPreview() throws(MalformedMessage) -> PushCommand.Preview? {
    guard let name = try readOptionalString() else { return nil }
    guard let preview = PushCommand.Preview(rawValue: name) else { throw MalformedMessage() }
    return preview
  }

  fileprivate mutating func readMark() throws(MalformedMessage) -> PushCommand.Mark {
    PushCommand.Mark(subject: try readString(), offset: try readFlag() ? try readNumber() : nil)
  }

  fileprivate mutating func readQuiet() throws(MalformedMessage) -> PushCommand.Quiet {
    let (from, to) = (Int(try readLimit()), Int(try readLimit()))
    let isNamed = try readFlag()
    let text = try readString()
    guard let zone = isNamed ? .name(text) : Int(text).map(PushCommand.Quiet.Zone.minutes) else {
      throw MalformedMessage()
    }
    let quiet = PushCommand.Quiet(from: from, to: to, zone: zone)
    guard quiet.isValid else { throw MalformedMessage() }
    return quiet
  }
}
