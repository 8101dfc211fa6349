@testable import ObjectStore

/// What a store of objects answers.
enum StoreTargets {
  static func answer(_ input: [UInt8]) throws(BrokenProperty) -> Bool {
    _ = try? ObjectPage(input)
    _ = try? BucketVersioning(input)
    if let error = StoreError(input) {
      for text in [error.code, error.message] {
        try require(text.unicodeScalars.count <= 200, "a text of \(text.unicodeScalars.count) characters for the log")
        try require(!text.unicodeScalars.contains { $0.value < 0x20 }, "a text for the log has a line break")
      }
    }
    if let range = ContentRange(String(decoding: input, as: UTF8.self)) {
      try require(range.first >= 0 && range.first <= range.last && range.last < range.total, "the range \(range)")
    }
    guard let root = try? XMLReader.read(input) else { return false }
    try require(depth(of: root) <= XMLReader.mostDepth, "a document of \(depth(of: root)) levels")
    return true
  }

  private static func depth(of element: XMLElement) -> Int { 1 + (element.children.map(depth).max() ?? 0) }
}
