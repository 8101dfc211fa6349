import Wire

/// Takes a list out of a JSON object without touching its elements.
enum JSONList {
  /// The bytes of the list's elements as they stand; empty where there is no such list. The object comes from Fanfare's own
  /// broker and is well-formed.
  static func elements(of key: String, in object: [UInt8]) -> [[UInt8]] {
    let marker = Array("\"\(key)\":[".utf8)
    guard let start = firstRange(of: marker, in: object) else { return [] }
    var elements: [[UInt8]] = []
    var depth = 0
    var isInString = false
    var isEscaped = false
    var elementStart = start
    for index in start..<object.count {
      let byte = object[index]
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "]") where depth == 0, UInt8(ascii: ",") where depth == 0:
        if index > elementStart { elements.append(Array(object[elementStart..<index])) }
        if byte == UInt8(ascii: "]") { return elements }
        elementStart = index + 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
    }
    return elements
  }

  private static func firstRange(of marker: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= marker.count else { return nil }
    for start in 0...(bytes.count - marker.count) where bytes[start..<(start + marker.count)].elementsEqual(marker) {
      return start + marker.count
    }
    return nil
  }
}
