public import Wire

/// JSON as people read it: one line for each value, indented by what it belongs to.
public enum Outline {
  /// Nesting that is shown; what is deeper stays JSON.
  private static let deepest = 8

  public static func lines(of value: JSONValue) -> [String] { lines(of: value, depth: 0) }

  private static func lines(of value: JSONValue, depth: Int) -> [String] {
    let indent = String(repeating: "  ", count: depth)
    guard depth < deepest else { return ["\(indent)\(plain(value))"] }
    if let members = value.object?.members {
      return members.flatMap { member -> [String] in
        let name = member.key.split(separator: "_").joined(separator: " ")
        if isSimple(member.value) { return ["\(indent)\(name.visible): \(plain(member.value))"] }
        return ["\(indent)\(name.visible):"] + lines(of: member.value, depth: depth + 1)
      }
    }
    guard let elements = value.array else { return ["\(indent)\(plain(value))"] }
    return elements.flatMap { element -> [String] in
      if isSimple(element) { return ["\(indent)- \(plain(element))"] }
      var below = lines(of: element, depth: depth + 1)
      if let first = below.first { below[0] = indent + "- " + first.dropFirst(2 * (depth + 1)) }
      return below
    }
  }

  /// Whether a value goes on the line of its name.
  private static func isSimple(_ value: JSONValue) -> Bool {
    if let object = value.object { return object.members.isEmpty }
    if let array = value.array { return array.isEmpty }
    return true
  }

  private static func plain(_ value: JSONValue) -> String {
    if let object = value.object, object.members.isEmpty { return "nothing" }
    if let array = value.array, array.isEmpty { return "none" }
    if let flag = value.bool { return flag ? "yes" : "no" }
    return (value.string ?? value.text).visible
  }
}
