import Foundation

/// The functions that tests are made of, found in the sources of tests.
struct TestFunctions {
  struct Function: Equatable {
    /// As documents name it: `LogTests/RestartTests.crashImages`.
    var name: String
    /// The test never runs: it, its suite or the lines around it are switched off without a condition.
    var isOff = false
  }

  /// The functions of a file of a target, in their order.
  let functions: [Function]

  init(_ text: String, target: String) {
    var scanner = TestScanner(code: SwiftSource(text).code, target: target)
    scanner.run()
    functions = scanner.functions
  }
}

/// Where each test function of the repository stands.
struct TestIndex {
  struct Place {
    var path: String
    var isOff: Bool
  }

  /// By the names that documents use. A name that two functions have is there once, and is on if one of them is.
  private(set) var places: [String: Place] = [:]

  /// - Parameter files: texts by path.
  init(_ files: [(path: String, text: String)]) {
    for (path, text) in files {
      let target = path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
      for function in TestFunctions(text, target: target).functions {
        if let known = places[function.name], !known.isOff { continue }
        places[function.name] = Place(path: path, isOff: function.isOff)
      }
    }
  }

  static func ofRepository() throws -> TestIndex {
    let paths = Repository.swiftFiles.filter { $0.hasPrefix("Tests/") }
    return TestIndex(try paths.map { ($0, try Repository.text($0)) })
  }
}

/// Goes through code in which comments and strings are blank.
private struct TestScanner {
  let code: [UInt8]
  let target: String
  private(set) var functions: [TestFunctions.Function] = []
  private var index = 0
  /// What each open brace belongs to: a type with its name, or anything else.
  private var braces: [Brace] = []
  /// The type whose brace comes next.
  private var nextType: Brace?
  /// The traits of the suite, resp. test, whose declaration comes next; nil: none was announced.
  private var suiteTraits: String?
  private var testTraits: String?
  /// For each `#if` that is open, whether what stands here is left out of every build.
  private var conditions: [Bool] = []

  private struct Brace {
    var type: String?
    var isOff = false
  }

  init(code: [UInt8], target: String) {
    self.code = code
    self.target = target
  }

  mutating func run() {
    while index < code.count {
      switch code[index] {
      case UInt8(ascii: "{"):
        braces.append(nextType ?? Brace())
        nextType = nil
        index += 1
      case UInt8(ascii: "}"):
        _ = braces.popLast()
        index += 1
      case UInt8(ascii: "@"): readAttribute()
      case UInt8(ascii: "#"): readDirective()
      case let byte where Self.isWordByte(byte): readWord()
      default: index += 1
      }
    }
  }

  // MARK: Parts

  private mutating func readAttribute() {
    index += 1
    switch takeWord() {
    case "Test": testTraits = takeArguments()
    case "Suite": suiteTraits = takeArguments()
    default: break
    }
  }

  private mutating func readDirective() {
    index += 1
    switch takeWord() {
    case "if": conditions.append(isNever())
    case "else", "elseif": if let last = conditions.indices.last { conditions[last].toggle() }
    case "endif": _ = conditions.popLast()
    default: break
    }
  }

  /// Whether the condition that follows is `false`, or 0.
  private mutating func isNever() -> Bool {
    let start = index
    while index < code.count && code[index] != 0x0A { index += 1 }
    let condition = String(decoding: code[start..<index], as: UTF8.self).filter { $0 != " " }
    return condition == "false" || condition == "0"
  }

  private mutating func readWord() {
    let isMember = index > 0 && code[index - 1] == UInt8(ascii: ".")
    let word = takeWord()
    guard !isMember else { return }
    switch word {
    case "struct", "class", "actor", "enum", "extension":
      let name = takeName()
      // `class func` declares no type.
      guard !["func", "var", "let", "subscript"].contains(name) else { return }
      nextType = Brace(type: name, isOff: suiteTraits.map(Self.isOff) ?? false)
      suiteTraits = nil
    case "import":
      // `import struct Foundation.Data` declares nothing either.
      while index < code.count && code[index] != 0x0A { index += 1 }
    case "func":
      guard let traits = testTraits else { return }
      testTraits = nil
      let path = braces.compactMap(\.type).joined(separator: ".")
      let isOff = Self.isOff(traits) || braces.contains(where: \.isOff) || conditions.contains(true)
      functions.append(.init(name: "\(target)/\(path).\(takeName())", isOff: isOff))
    default: break
    }
  }

  // MARK: Tokens

  private mutating func takeWord() -> String {
    let start = index
    while index < code.count && Self.isWordByte(code[index]) { index += 1 }
    return String(decoding: code[start..<index], as: UTF8.self)
  }

  /// The next name, which may have points in it.
  private mutating func takeName() -> String {
    skipSpace()
    let start = index
    while index < code.count && (Self.isWordByte(code[index]) || code[index] == UInt8(ascii: ".")) { index += 1 }
    return String(decoding: code[start..<index], as: UTF8.self).filter { $0 != "`" }
  }

  /// What stands in the parentheses that follow; empty where none do.
  private mutating func takeArguments() -> String {
    guard index < code.count, code[index] == UInt8(ascii: "(") else { return "" }
    let start = index
    var depth = 0
    repeat {
      if code[index] == UInt8(ascii: "(") { depth += 1 }
      if code[index] == UInt8(ascii: ")") { depth -= 1 }
      index += 1
    } while depth > 0 && index < code.count
    return String(decoding: code[start..<index], as: UTF8.self)
  }

  private mutating func skipSpace() {
    while index < code.count && (code[index] == 0x20 || code[index] == 0x0A) { index += 1 }
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "`"), 0x80...: true
    default: false
    }
  }

  // MARK: Traits

  /// Whether traits switch a test off wherever it runs: `.disabled()` without a condition, or `.enabled(if: false)`.
  private static func isOff(_ traits: String) -> Bool {
    let plain = traits.filter { $0 != " " && $0 != "\n" }
    if plain.contains(".enabled(if:false") || plain.contains(".disabled(if:true") { return true }
    for piece in plain.components(separatedBy: ".disabled(").dropFirst() {
      var depth = 1
      let arguments = piece.prefix { character in
        depth += character == "(" ? 1 : character == ")" ? -1 : 0
        return depth > 0
      }
      // A closure behind the parentheses is a condition, too.
      let isClosure = piece.dropFirst(arguments.count + 1).hasPrefix("{")
      if !arguments.contains("if:") && !isClosure { return true }
    }
    return false
  }
}
