import Foundation

/// What a document claims, taken out of its Markdown.
struct Markdown {
  /// What stands between single backticks, outside fenced blocks.
  private(set) var codeSpans: [String] = []
  /// The targets of links, outside fenced blocks.
  private(set) var links: [String] = []
  /// The files of pictures that HTML in the text shows, likewise.
  private(set) var pictures: [String] = []
  /// The lines of fenced blocks.
  private(set) var fencedLines: [String] = []

  init(_ text: String) {
    var prose = ""
    var isFenced = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.trimmingCharacters(in: .whitespaces).hasPrefix("```") {
        isFenced.toggle()
      } else if isFenced {
        fencedLines.append(String(line))
      } else {
        prose += line + "\n"
      }
    }
    let pieces = prose.split(separator: "`", omittingEmptySubsequences: false)
    for (index, piece) in pieces.enumerated() where index % 2 == 1 {
      // A span that is wrapped over two lines is one all the same.
      codeSpans.append(piece.replacingOccurrences(of: "\n", with: " "))
    }
    for piece in prose.components(separatedBy: "](").dropFirst() {
      if let end = piece.firstIndex(of: ")") { links.append(String(piece[..<end])) }
    }
    for attribute in [" src=\"", " srcset=\""] {
      for piece in prose.components(separatedBy: attribute).dropFirst() {
        pictures.append(String(piece.prefix { $0 != "\"" }))
      }
    }
  }

  // MARK: Paths

  private static let topFolders = ["Sources/", "Tests/", "docs/", "config/", "benchmarks/", ".ci/"]
  private static let topFiles = ["Package.swift", "Makefile", "LICENSE", "README.md", "CHANGELOG.md"]

  /// Code spans, links and pictures that name something of the repository which is not there.
  ///
  /// - Parameter folder: where the document stands, with a slash at the end; empty at the top.
  func brokenPaths(in folder: String, exists: (String) -> Bool) -> [String] {
    let named = codeSpans.filter { span in
      Self.topFiles.contains(span) || Self.topFolders.contains { span.hasPrefix($0) } && Self.isPath(span)
    }
    let linked = (links + pictures).filter { !$0.contains("://") && !$0.hasPrefix("#") && !$0.hasPrefix("mailto:") }
      .map { link in Self.resolved(folder + (link.split(separator: "#").first ?? "")) }
    return (named + linked).filter { !exists($0) }
  }

  private static func isPath(_ span: String) -> Bool {
    span.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: "._-+/".utf8.contains(byte)
      }
    }
  }

  private static func resolved(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") {
      if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }

  // MARK: Settings

  private static let sections: Set<String> = [
    "server", "admin", "client", "token", "broker", "backbone", "gateway", "data", "shutdown", "log", "channel",
  ]

  /// Keys that are quoted, alone in a code span or behind `--set` in a command, and that no configuration knows.
  func unknownKeys(_ known: KnownKeys) -> [String] {
    var keys = codeSpans.filter(Self.isKey)
    for line in fencedLines + codeSpans {
      for piece in line.components(separatedBy: "--set ").dropFirst() {
        let key = piece.drop { "\"'".contains($0) }.prefix { $0 != "=" && $0 != " " }
        if Self.isKey(String(key)) || key.contains(".") { keys.append(String(key)) }
      }
    }
    return keys.filter { !known.contains($0) }
  }

  private static func isKey(_ span: String) -> Bool {
    let parts = span.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, sections.contains(String(parts[0])) else { return false }
    return parts.allSatisfy { part in
      !part.isEmpty && part.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F || (0x30...0x39).contains($0) }
    }
  }
}

/// The keys that `docs/CONFIGURATION.md` lists.
struct KnownKeys {
  private var keys: Set<String> = ["channel.without_namespace", "channel.namespaces"]
  private var channelOptions: Set<String> = []

  init(reference: String) {
    for line in reference.split(separator: "\n") where line.hasPrefix("| `") {
      guard let key = line.dropFirst(3).split(separator: "`").first.map(String.init) else { continue }
      if key.contains(".") { keys.insert(key) } else { channelOptions.insert(key) }
    }
  }

  var count: Int { keys.count + channelOptions.count }

  /// True for a key, for the beginning of one (`backbone.curve`), and for a channel's option under its namespace.
  func contains(_ key: String) -> Bool {
    if keys.contains(key) || keys.contains(where: { $0.hasPrefix(key + ".") }) { return true }
    let parts = key.split(separator: ".").map(String.init)
    guard parts.first == "channel", let option = parts.last, channelOptions.contains(option) else { return false }
    return parts.count == 3 && parts[1] == "without_namespace" || parts.count == 4 && parts[1] == "namespaces"
  }
}
