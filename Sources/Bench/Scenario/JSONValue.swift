import Foundation

/// Any JSON, before it is known what it should have been.
enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  /// - Throws: a sentence that says where the JSON is broken.
  init(parsing data: Data, named file: String) throws(BenchError) {
    do {
      self = try JSONDecoder().decode(JSONValue.self, from: data)
    } catch DecodingError.dataCorrupted(let context) {
      let reason = context.underlyingError.map { "\(($0 as NSError).userInfo["NSDebugDescription"] ?? $0)" }
      throw BenchError("\(file) is no JSON: \(reason ?? context.debugDescription)")
    } catch {
      throw BenchError("\(file) is no JSON: \(error)")
    }
  }

  /// What a person wrote behind `=`: JSON where it is JSON, else text.
  init(written text: String) {
    let data = Data(text.utf8)
    self = (try? JSONDecoder().decode(JSONValue.self, from: data)) ?? .text(text)
  }

  /// The value as an error names it: "a list", "the text \"x\"".
  var described: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let value): Self.plain(value)
    case .text(let value): "the text \"\(value.prefix(40))\""
    case .list: "a list"
    case .object: "an object"
    }
  }

  static func plain(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(format: "%.0f", value) : "\(value)"
  }
}

extension JSONValue: Decodable {
  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: AnyKey.self) {
      var values: [String: JSONValue] = [:]
      for key in object.allKeys { values[key.stringValue] = try object.decode(JSONValue.self, forKey: key) }
      self = .object(values)
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !list.isAtEnd { values.append(try list.decode(JSONValue.self)) }
      self = .list(values)
    } else {
      let single = try decoder.singleValueContainer()
      if single.decodeNil() {
        self = .null
      } else if let value = try? single.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? single.decode(Double.self) {
        self = .number(value)
      } else {
        self = .text(try single.decode(String.self))
      }
    }
  }

  private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

extension JSONValue {
  /// Puts a value in the place that a path such as `groups.0.rate` names. A list's members are named by number, or by
  /// what their `name` says. Objects on the way are made where they are missing.
  ///
  /// - Throws: a sentence, where the path leads through something that has no parts.
  mutating func set(_ path: String, to value: JSONValue) throws(BenchError) {
    try set(path.split(separator: ".", omittingEmptySubsequences: false)[...], to: value, path)
  }

  private mutating func set(
    _ parts: ArraySlice<Substring>, to value: JSONValue, _ path: String
  ) throws(BenchError) {
    guard let part = parts.first else {
      self = value
      return
    }
    guard parts.count <= 8, !part.isEmpty else {
      throw BenchError("\"\(path)\" is no key; write it like groups.0.rate.")
    }
    switch self {
    case .object(var values):
      var inner = values[String(part)] ?? .object([:])
      try inner.set(parts.dropFirst(), to: value, path)
      values[String(part)] = inner
      self = .object(values)
    case .list(var values):
      let names = values.map { member -> String? in
        guard case .object(let fields) = member, case .text(let name) = fields["name"] else { return nil }
        return name
      }
      guard let place = Int(part) ?? names.firstIndex(of: String(part)), values.indices.contains(place) else {
        let known = values.indices.map { index in names[index].map { "\(index) (\($0))" } ?? "\(index)" }
        throw BenchError(
          "\"\(path)\" names no member of the list: there is no \(part), there are \(known.joined(separator: ", ")).")
      }
      try values[place].set(parts.dropFirst(), to: value, path)
      self = .list(values)
    default:
      throw BenchError("\"\(path)\" leads nowhere: what stands before \"\(part)\" is \(described) and has no parts.")
    }
  }
}
