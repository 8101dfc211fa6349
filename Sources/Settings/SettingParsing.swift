import Wire

/// What is wrong with one value, without its place.
struct SettingFault: Error, Equatable {
  /// What is wrong, as it follows the key's name: "is the number 25; write …".
  let message: String
}

extension SettingKey {
  /// Reads a value from the file.
  func parse(_ json: PositionedJSON) throws(SettingFault) -> SettingValue {
    switch (kind, json.value) {
    case (.bool, .bool(let value)): return .bool(value)
    case (.integer(let range), .number(let text)):
      guard let value = Int(text), range.contains(value) else { throw fault(found: text) }
      return .int(value)
    case (.bytes(let range), .number(let text)):
      guard let value = Int(text), range.contains(value) else { throw fault(found: text) }
      return .int(value)
    case (.bytes, .string(let text)), (.duration, .string(let text)), (.choice, .string(let text)),
      (.string, .string(let text)):
      return try parse(text)
    case (.strings, .array(let elements)):
      var strings: [String] = []
      for element in elements {
        guard case .string(let text) = element.value else { throw fault(found: Self.describe(json)) }
        strings.append(text)
      }
      return .strings(strings)
    case (.objects(let names), .array(let elements)):
      return .objects(try elements.map { element throws(SettingFault) in try object(element, names) })
    default: throw fault(found: Self.describe(json))
    }
  }

  /// Reads a value from an environment variable or a flag.
  func parse(_ text: String) throws(SettingFault) -> SettingValue {
    switch kind {
    case .bool:
      guard text == "true" || text == "false" else { throw fault(found: Self.quote(text)) }
      return .bool(text == "true")
    case .integer(let range):
      guard let value = Int(text), range.contains(value) else { throw fault(found: Self.quote(text)) }
      return .int(value)
    case .bytes(let range):
      guard let value = SettingUnits.bytes(text), range.contains(value) else { throw fault(found: Self.quote(text)) }
      return .int(value)
    case .duration(let range):
      guard let value = SettingUnits.milliseconds(text), range.contains(value) else {
        throw fault(found: Self.quote(text))
      }
      return .int(value)
    case .string: return .string(text)
    case .choice(let choices):
      guard choices.contains(text) else { throw fault(found: Self.quote(text)) }
      return .string(text)
    case .strings:
      return .strings(
        text.split(separator: ",").map { part in String(part.trimmingSpaces) }.filter { !$0.isEmpty })
    case .objects:
      // As in the file: JSON.
      guard let (json, duplicates) = try? PositionedJSONParser.parse(Array(text.utf8)), duplicates.isEmpty else {
        throw fault(found: Self.quote(text))
      }
      return try parse(json)
    }
  }

  /// One of a list of objects.
  private func object(_ json: PositionedJSON, _ names: [String]) throws(SettingFault) -> [String: String] {
    guard case .object(let members) = json.value else { throw fault(found: "a list with \(Self.describe(json))") }
    var object: [String: String] = [:]
    for member in members {
      guard names.contains(member.key), case .string(let text) = member.value.value else {
        throw fault(found: "a list in which \(Self.quote(member.key)) is \(Self.describe(member.value))")
      }
      object[member.key] = text
    }
    return object
  }

  /// An instruction that says which values the key takes: "write true or false".
  var expected: String {
    switch kind {
    case .bool: "write true or false"
    case .integer(let range): "write a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .bytes(let range):
      "write bytes from \(SettingUnits.text(bytes: range.lowerBound)) to \(SettingUnits.text(bytes: range.upperBound)), "
        + "as a number or with a unit (KiB, MiB, GiB), for example \"\(text(standard))\""
    case .duration(let range):
      "write a duration from \(SettingUnits.text(milliseconds: range.lowerBound)) to "
        + "\(SettingUnits.text(milliseconds: range.upperBound)) with its unit (ms, s, m, h), for example \"\(text(standard))\""
    case .string: "write text in double quotes"
    case .choice(let choices): "write \(choices.map { "\"\($0)\"" }.joined(separator: " or "))"
    case .strings: "write a list of texts, for example [\"one\", \"two\"]"
    case .objects(let names): "write a list of objects with the texts \(names.joined(separator: ", ")), as JSON"
    }
  }

  /// A value as it would be written, without quotes.
  func text(_ value: SettingValue) -> String {
    switch (kind, value) {
    case (.bytes, .int(let bytes)): SettingUnits.text(bytes: bytes)
    case (.duration, .int(let milliseconds)): SettingUnits.text(milliseconds: milliseconds)
    case (_, .bool(let value)): String(value)
    case (_, .int(let value)): String(value)
    case (_, .string(let value)): value
    case (_, .strings(let values)): values.joined(separator: ",")
    case (_, .objects(let values)): Self.json(values)
    }
  }

  /// A list of objects with texts.
  private static func json(_ values: [[String: String]]) -> String {
    let objects = values.map { value in
      var writer = JSONWriter(capacity: 256)
      writer.object { writer in
        for (name, text) in value.sorted(by: { $0.key < $1.key }) { writer.write(named: name, text) }
      }
      return String(decoding: writer.bytes, as: UTF8.self)
    }
    return "[" + objects.joined(separator: ",") + "]"
  }

  private func fault(found: String) -> SettingFault {
    SettingFault(message: (isSecret ? "is not of the right kind" : "is \(found)") + "; " + expected)
  }

  private static func describe(_ json: PositionedJSON) -> String {
    switch json.value {
    case .object: "an object"
    case .array: "a list"
    case .string(let text): quote(text)
    case .number(let text): "the number \(text)"
    case .bool(let value): String(value)
    case .null: "null"
    }
  }

  /// A value for a message, escaped and cut: a value may hold anything, and a message goes to a terminal.
  static func quote(_ text: String) -> String {
    var shown = text.unicodeScalars.prefix(60).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : String($0) }.joined()
    if text.unicodeScalars.count > 60 { shown += "…" }
    return "\"\(shown)\""
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring {
    var text = self
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return text
  }
}
