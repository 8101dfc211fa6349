import Foundation
import Testing

@Suite("The sources keep their own rules")
struct SourceTests {
  /// Generated code is as long as it is.
  private static let generated: Set<String> = [
    "Sources/ClientProtobuf/client.pb.swift", "Sources/Bench/Scenario/EmbeddedScenarios.swift",
    "Sources/Admin/API/EmbeddedOpenAPI.swift", "Sources/Web/EmbeddedWebFiles.swift",
  ]

  private static var ours: [String] { Repository.swiftFiles.filter { !generated.contains($0) } }

  // MARK: Size

  private static let fileLimit = 500
  private static let functionLimit = 60

  @Test("No file is longer than 500 lines")
  func files() throws {
    for path in Self.ours { #expect(SwiftSource(try Repository.text(path)).lineCount <= Self.fileLimit, "\(path)") }
    #expect(Self.ours.count > 200)
  }

  @Test("No function's body is longer than 60 lines")
  func functions() throws {
    var count = 0
    for path in Self.ours {
      for function in SwiftSource(try Repository.text(path)).functions {
        count += 1
        #expect(function.bodyLines <= Self.functionLimit, "\(path):\(function.line)")
      }
    }
    // The scan finds functions at all.
    #expect(count > 1000)
  }

  @Test("Bodies are measured, whatever stands in strings and comments")
  func functionsChecker() {
    let source = SwiftSource(
      """
      protocol P {
        func requirement() -> Int
        var x: Int { get }
      }
      struct S {
        init(a: Int) { self.a = a }
        func one() -> String {
          // { a comment }
          "} \\(two { "{" }) {"
        }
        func two(
          _ body: () -> Void = {}
        ) where Self: Sendable {
          /* { /* { */ */
          self.init(a: 1)
          let raw = #"{ "\\#(x)" {"#
        }
      }

      """)
    #expect(
      source.functions == [
        .init(line: 6, bodyLines: 0), .init(line: 7, bodyLines: 2), .init(line: 11, bodyLines: 3),
      ])
    #expect(source.lineCount == 18)
  }

  // MARK: The top level

  /// What a tool that was started there leaves behind would be committed without anybody noticing.
  @Test("The top level holds what it is meant to hold")
  func topLevel() {
    let names = Set(Repository.files.map { String($0.split(separator: "/")[0]) })
    let meant: Set<String> = [
      ".ci", ".gitignore", ".swift-format", "CHANGELOG.md", "LICENSE", "Makefile", "Package.swift", "README.md",
      "Sources", "Tests", "benchmarks", "config", "docs",
    ]
    #expect(names.subtracting(meant) == [])
    #expect(names.isSuperset(of: ["Package.swift", "Sources", "Tests", "benchmarks", "config"]))
  }

  // MARK: Leftovers

  /// Put together here, so that this file is none of those that hold them.
  private static let markers = ["TO" + "DO", "FIX" + "ME", "X" + "XX"]

  @Test("Nothing is left to do")
  func leftovers() throws {
    for path in Self.ours { #expect(Words.found(Self.markers, in: try Repository.text(path)) == [], "\(path)") }
  }

  @Test("A marker is found as a word only")
  func leftoversChecker() {
    #expect(Words.found(Self.markers, in: "// \(Self.markers[0]): later") == [Self.markers[0]])
    #expect(Words.found(Self.markers, in: "let \(Self.markers[2])X = \(Self.markers[0])S") == [])
  }

  // MARK: Modules

  /// Who may not import whom, and why: gateway and broker meet on the link alone, and only the broker knows the log.
  private static let forbiddenImports: [String: Set<String>] = [
    "Gateway": ["Broker", "Log", "SQLite", "FanfareClient", "Settings"],
    "Broker": ["Gateway", "Search", "FanfareClient", "Auth", "SQLite", "Settings", "NIOCore", "NIOPosix"],
    "Wire": ["ZeroMQ", "Gateway", "Broker", "Log", "Auth", "Settings"],
    "Log": ["Gateway", "Broker", "Search", "ZeroMQ"],
    "Search": ["Gateway", "Broker", "Apps", "ZeroMQ"],
    "Coverage": ["Gateway", "Broker", "Log", "ZeroMQ"],
    "FanfareClient": ["Gateway", "Broker", "Log", "ZeroMQ"],
  ]

  @Test("Gateway and broker know each other by the link alone")
  func imports() throws {
    for (module, forbidden) in Self.forbiddenImports {
      let files = Repository.swiftFiles.filter { $0.hasPrefix("Sources/\(module)/") }
      #expect(!files.isEmpty)
      for path in files {
        #expect(forbidden.intersection(SwiftSource(try Repository.text(path)).imports) == [], "\(path)")
      }
    }
  }

  @Test("Imports are found in every spelling, and not in comments or strings")
  func importsChecker() {
    let source = SwiftSource(
      """
      import A
      public import B
      @testable import C
      @preconcurrency internal import struct D.Type
      // import E
      let text = "import F"

      """)
    #expect(source.imports == ["A", "B", "C", "D"])
  }

  /// Modules without tests of their own, and what tests them instead.
  private static let testedElsewhere: [String: String] = [
    "CCurl": "HTTPClientTests", "CLinuxIO": "GatewayTests", "COpenSSL": "TLSTests",
    "CPostgreSQL": "PostgreSQLTests", "CSQLite": "SQLiteTests",
    "CZeroMQ": "ZeroMQTests", "CZlib": "GatewayTests",
    "ClientProtobuf": "WireTests", "fanfare": "IntegrationTests", "fanfare-bench": "BenchTests",
  ]

  @Test("Every module has tests")
  func modules() throws {
    let tests = Set(try Repository.folders(in: "Tests"))
    let modules = try Repository.folders(in: "Sources")
    let missing = Modules.untested(modules, tests: tests, elsewhere: Self.testedElsewhere)
    #expect(missing == [])
    #expect(modules.count >= 14)
  }

  @Test("A module without tests is found, and so is an exception that is none any more")
  func modulesChecker() {
    let tests: Set<String> = ["ATests", "BTests"]
    #expect(Modules.untested(["A", "B", "C"], tests: tests, elsewhere: [:]) == ["C"])
    #expect(Modules.untested(["A", "C"], tests: tests, elsewhere: ["C": "NoTests"]) == ["C"])
    #expect(Modules.untested(["A"], tests: tests, elsewhere: ["A": "BTests"]) == ["A"])
    #expect(Modules.untested(["A", "C"], tests: tests, elsewhere: ["C": "BTests"]) == [])
  }

  // MARK: Places

  /// Put together here, so that this file is none of those that hold them.
  private static let hosts = [
    ["pypi", "org"], ["pythonhosted", "org"], ["npmjs", "org"], ["npmjs", "com"], ["crates", "io"],
    ["rubygems", "org"], ["proxy.golang", "org"], ["maven.apache", "org"], ["nuget", "org"],
  ].map { $0.joined(separator: ".") }
  private static let homes = ["home", "Users", "root", "work"].map { "/\($0)/" }

  @Test("No file names a package registry's host or a path of somebody's machine")
  func places() throws {
    for path in Repository.files {
      guard let text = try? Repository.text(path) else { continue }  // Not text.
      #expect((Self.hosts + Self.homes).filter { Places.names(text, $0) } == [], "\(path)")
    }
  }

  @Test("A host is found anywhere, a home folder at the beginning of a path only")
  func placesChecker() {
    #expect(Places.names("pip install --index-url https://\(Self.hosts[0])/simple", Self.hosts[0]))
    #expect(Places.names("see \(Self.homes[0])ada/fanfare", Self.homes[0]))
    #expect(!Places.names("see https://example.com\(Self.homes[0])ada", Self.homes[0]))
  }
}

enum Words {
  /// Which of the words stand in the text, not as parts of longer ones.
  static func found(_ words: [String], in text: String) -> [String] {
    let present = Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "_" })
    return words.filter { present.contains(Substring($0)) }
  }
}

enum Modules {
  /// Modules without a test folder, and exceptions that do not hold.
  static func untested(_ modules: [String], tests: Set<String>, elsewhere: [String: String]) -> [String] {
    modules.filter { module in
      let hasOwn = tests.contains("\(module)Tests")
      guard let other = elsewhere[module] else { return !hasOwn }
      return hasOwn || !tests.contains(other)
    }
  }
}

enum Places {
  /// True where the text names a host, or a path that begins like this.
  static func names(_ text: String, _ place: String) -> Bool {
    guard place.hasPrefix("/") else { return text.contains(place) }
    return text.components(separatedBy: place).dropLast().contains { before in
      guard let last = before.last else { return true }
      return !last.isLetter && !last.isNumber && last != "." && last != "-" && last != "_" && last != "}" && last != ")"
    }
  }
}
