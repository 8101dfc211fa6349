extension CliqueCommand {
  /// What the caller changes in their own profile. What is nil or not named stays as it is.
  public struct ProfileChange: Sendable, Equatable {
    public struct Field: Sendable, Equatable {
      public var name: String
      /// "": the field is removed.
      public var value: String
    }

    public enum Picture: Sendable, Equatable {
      case removed
      /// The ids of a picture and of its smaller form; small is "" where there is none.
      case set(id: String, small: String)
    }

    /// "": the name is removed.
    public var name: String?
    /// Each name once.
    public var fields: [Field] = []
    public var picture: Picture?

    /// Longest id of a picture, in bytes.
    static let maximumPictureBytes = 128
    /// Fields of a profile: more than any configuration names.
    static let maximumFields = 32
  }

  /// A search for people by name.
  public struct PeopleSearch: Sendable, Equatable {
    public var text: String
    public var limit: Int
  }

  /// People whom one `clique.profiles` may name.
  public static let maximumProfiles = 100
}

// MARK: From JSON

extension CliqueCommand.ProfileChange {
  /// `{"name": …, "fields": {…: …}, "picture": {"id": …, "small": …}}`, each optional; "" and null remove.
  init(_ data: [UInt8]) throws(ClientError) {
    guard let object = (try? JSONValue(parsing: data.isEmpty ? Array("{}".utf8) : data))?.object else {
      throw .badRequest.saying("the data of clique.profile.set is a JSON object in which each field stands once")
    }
    for (key, value) in object.members {
      switch key {
      case "name": name = try Self.text(value, "name")
      case "fields": try readFields(value)
      case "picture": picture = try Self.picture(value)
      default: break
      }
    }
    if name == nil, fields.isEmpty, picture == nil {
      throw .badRequest.saying("say what is to change: `name`, `fields` or `picture`; \"\" or null removes")
    }
  }

  private mutating func readFields(_ value: JSONValue) throws(ClientError) {
    guard let members = value.object?.members, members.count <= Self.maximumFields else {
      throw .badRequest.saying("`fields` is an object of at most \(Self.maximumFields) texts, each field once")
    }
    for (key, value) in members { fields.append(Field(name: key, value: try Self.text(value, "fields"))) }
  }

  /// - Returns: "" where the text is to be removed.
  private static func text(_ value: JSONValue, _ field: StaticString) throws(ClientError) -> String {
    if value.isNull { return "" }
    guard let text = value.string else { throw .badRequest.saying("`\(field)` must be a text, or null for none") }
    if text.isEmpty { return "" }
    let cleaned = PersonalText.cleaned(text)
    if cleaned.isEmpty {
      throw .badRequest.saying("`\(field)` has nothing that can be seen; send another text, or \"\" for none")
    }
    return cleaned
  }

  private static func picture(_ value: JSONValue) throws(ClientError) -> Picture {
    if value.isNull || value.string?.isEmpty == true { return .removed }
    guard let object = value.object, let id = object["id"]?.string, !id.isEmpty,
      id.utf8.count <= maximumPictureBytes
    else {
      throw .badRequest.saying("`picture` is {\"id\":…,\"small\":…} of what was uploaded, or null for none")
    }
    let small = object["small"].flatMap { $0.isNull ? nil : $0 }
    guard let small else { return .set(id: id, small: "") }
    guard let text = small.string, text.utf8.count <= maximumPictureBytes else {
      throw .badRequest.saying("`small` is the id of a picture that was uploaded; leave it out for none")
    }
    return .set(id: id, small: text)
  }
}

extension CliqueCommand.PeopleSearch {
  /// `{"text": …, "limit": n}`
  init(_ fields: CommandFields) throws(ClientError) {
    guard let text = try fields.string("text"), text.utf8.contains(where: { $0 > 0x20 }) else {
      throw .badRequest.saying("`text` is missing or empty; send the beginning of a name")
    }
    self.text = text
    limit = Int(min(try fields.number("limit") ?? 50, 100))
  }
}

extension CommandFields {
  /// The people that a command names in `people`, each once.
  func people() throws(ClientError) -> [String] {
    guard let named = try strings("people"), !named.isEmpty else {
      throw .badRequest.saying("`people` is missing or empty; name whose profiles you want")
    }
    if named.count > CliqueCommand.maximumProfiles {
      throw .badRequest.saying("`people` has more than \(CliqueCommand.maximumProfiles) names; ask for some at a time")
    }
    var people: [String] = []
    var seen: Set<IdentifierKey> = []
    for user in named {
      try UserIdentifier.check(user, most: CliqueCommand.maximumUserBytes)
      if seen.insert(IdentifierKey(user)).inserted { people.append(user) }
    }
    return people
  }
}

// MARK: On the link

extension CliqueCommand.ProfileChange {
  func write(to sink: inout some ByteSink) {
    sink.write(optionalText: name)
    sink.write(UInt64(fields.count))
    for field in fields {
      sink.write(field.name)
      sink.write(field.value)
    }
    switch picture {
    case nil: sink.write(byte: 0)
    case .removed: sink.write(byte: 1)
    case .set(let id, let small):
      sink.write(byte: 2)
      sink.write(id)
      sink.write(small)
    }
  }

  init(from reader: inout ByteReader) throws(MalformedMessage) {
    name = try reader.readOptionalString()
    for _ in 0..<(try reader.readCount()) {
      fields.append(Field(name: try reader.readString(), value: try reader.readString()))
    }
    switch try reader.readByte() {
    case 0: picture = nil
    case 1: picture = .removed
    case 2: picture = .set(id: try reader.readString(), small: try reader.readString())
    default: throw MalformedMessage()
    }
  }
}
