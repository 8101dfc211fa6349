import Foundation

/// A JSON value, looked into by keys and places; what is not there is null.
///
/// Unchecked: what JSONSerialization makes is never changed.
struct JSON: @unchecked Sendable, CustomStringConvertible {
  private let value: Any?

  init(_ value: Any?) { self.value = value is NSNull ? nil : value }

  init(_ text: String) throws {
    self.init(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
  }

  subscript(key: String) -> JSON { JSON((value as? [String: Any])?[key]) }
  subscript(index: Int) -> JSON { JSON((value as? [Any]).flatMap { $0.indices.contains(index) ? $0[index] : nil }) }

  var isNull: Bool { value == nil }
  var string: String? { value as? String }
  var int: Int? { (value as? NSNumber)?.intValue }
  var bool: Bool { (value as? NSNumber)?.boolValue ?? false }
  var array: [JSON] { (value as? [Any])?.map { JSON($0) } ?? [] }
  var keys: [String] { (value as? [String: Any]).map { $0.keys.sorted() } ?? [] }

  var description: String {
    guard let value else { return "null" }
    let data = try? JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
    return data.map { String(decoding: $0, as: UTF8.self) } ?? "?"
  }

  static func quoted(_ text: String) -> String {
    (try? JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed)).map {
      String(decoding: $0, as: UTF8.self)
    } ?? "\"\""
  }
}
