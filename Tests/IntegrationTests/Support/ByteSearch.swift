import Foundation

/// Looks for things in the raw bytes of all files of a folder.
struct ByteSearch {
  private struct Window: Hashable {
    var first: UInt64
    var second: UInt64
  }

  static let windowBytes = 16

  private var windows: Set<Window> = []
  /// Which first three bytes any window has: nearly all places of a file are passed over by it.
  private var begins = [Bool](repeating: false, count: 1 << 24)

  /// Whatever holds 31 bytes in a row of one of these is found.
  init(for contents: [[UInt8]]) {
    for content in contents {
      // What a picture begins with is in any picture.
      for start in stride(from: 16, through: content.count - Self.windowBytes, by: Self.windowBytes) {
        content.withUnsafeBytes { bytes in
          windows.insert(Self.window(in: bytes, at: start))
          begins[Self.beginning(of: bytes, at: start)] = true
        }
      }
    }
  }

  private static func window(in bytes: UnsafeRawBufferPointer, at place: Int) -> Window {
    Window(
      first: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self),
      second: bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self))
  }

  private static func beginning(of bytes: UnsafeRawBufferPointer, at place: Int) -> Int {
    Int(bytes[place]) << 16 | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2])
  }

  /// Files that hold a part of the contents.
  func files(in folder: URL) throws -> [String] {
    try Self.all(in: folder).filter { file in
      file.bytes.withUnsafeBytes { bytes in
        var place = 0
        while place + Self.windowBytes <= bytes.count {
          if begins[Self.beginning(of: bytes, at: place)], windows.contains(Self.window(in: bytes, at: place)) {
            return true
          }
          place += 1
        }
        return false
      }
    }.map(\.name)
  }

  /// Files that hold a text, by the text.
  static func files(in folder: URL, holding texts: [String]) throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    for file in try all(in: folder) {
      for text in texts where file.bytes.range(of: Data(text.utf8)) != nil {
        found[text, default: []].append(file.name)
      }
    }
    return found
  }

  /// A text as it may stand in a file: as it is, and in base64 wherever in a group of three bytes it begins.
  static func forms(of text: String) -> [String] {
    let bytes = Array(text.utf8)
    return [text]
      + (0..<3).map { lead in
        let whole = (bytes.count - lead) / 3 * 3
        return Data(bytes[lead..<(lead + whole)]).base64EncodedString()
      }
  }

  /// What stands between two texts, wherever that is.
  static func all(between opening: String, and closing: String, in folder: URL) throws -> Set<String> {
    var found: Set<String> = []
    for file in try all(in: folder) {
      var rest = file.bytes.startIndex..<file.bytes.endIndex
      while let start = file.bytes.range(of: Data(opening.utf8), in: rest) {
        rest = start.upperBound..<file.bytes.endIndex
        guard let end = file.bytes.range(of: Data(closing.utf8), in: rest) else { break }
        found.insert(String(decoding: file.bytes[start.upperBound..<end.lowerBound], as: UTF8.self))
      }
    }
    return found
  }

  /// What is encrypted, as it stands in records. A record of more than a quarter of a page stands in pieces, and the name
  /// of the field may be cut: so whatever looks like an encrypted key is one.
  static func boxes(in folder: URL) throws -> Set<String> {
    try all(in: folder).reduce(into: try all(between: "\"box\":\"", and: "\"", in: folder)) { found, file in
      found.formUnion(encoded(in: file.bytes))
    }
  }

  private static let isEncoded: [Bool] = {
    let characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=\\"
    return characters.utf8.reduce(into: [Bool](repeating: false, count: 256)) { $0[Int($1)] = true }
  }()

  /// Texts in quotes of sixty characters or more that may be base64 in JSON.
  private static func encoded(in bytes: Data) -> Set<String> {
    let isEncoded = isEncoded
    return bytes.withUnsafeBytes { bytes in
      var found: Set<String> = []
      // Behind the last quote; nil: something else than base64 has come since.
      var start: Int?
      for (place, byte) in bytes.enumerated() {
        if byte == UInt8(ascii: "\"") {
          if let start, place - start >= 60 { found.insert(String(decoding: bytes[start..<place], as: UTF8.self)) }
          start = place + 1
        } else if !isEncoded[Int(byte)] {
          start = nil
        }
      }
      return found
    }
  }

  /// What a thief takes away: all files. A socket cannot be copied, and holds nothing.
  static func copy(_ folder: URL, to copy: URL) throws {
    for (name, bytes) in try all(in: folder, keepingPaths: true) {
      let file = copy.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try bytes.write(to: file)
    }
  }

  private static func all(in folder: URL, keepingPaths: Bool = false) throws -> [(name: String, bytes: Data)] {
    guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey]) else {
      throw Failure("\(folder.path) cannot be read")
    }
    var all: [(String, Data)] = []
    while let file = files.nextObject() as? URL {
      let path = file.resolvingSymlinksInPath().path.dropFirst(folder.resolvingSymlinksInPath().path.utf8.count + 1)
      do {
        guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
        all.append((keepingPaths ? String(path) : file.lastPathComponent, try Data(contentsOf: file)))
      } catch {
        // A file that is gone by now holds nothing, and one that cannot be read might hold anything.
        if FileManager.default.fileExists(atPath: file.path) { throw error }
      }
    }
    return all
  }
}
