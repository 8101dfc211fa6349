import Auth
import Foundation
import TestSupport
import Testing
import Wire

/// Noon on the second of March 2026, UTC.
private let noon: Int64 = 1_772_452_800

@Suite("Keys of the server API")
struct APIKeysTests {
  private func grant(_ allow: String = "publish", on channels: String...) throws -> APIGrant {
    try APIGrant(allow: allow.split(separator: ",").map(String.init), channels: channels)
  }

  private func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  private func write(_ text: String, to folder: String, mode: Int = 0o600) throws {
    let path = folder + "/api-keys.json"
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  /// The fault of what is done; nil where there is none.
  private func fault(_ body: () throws(APIKeyFault) -> Void) -> APIKeyFault? {
    do throws(APIKeyFault) { try body() } catch { return error }
    return nil
  }

  // MARK: Keys

  @Test("A key is found by its text alone, whose form programs that look for secrets can find")
  func find() throws {
    var keys = APIKeys()
    let texts = try ["billing", "chat", "ops"].map { try keys.create(name: $0, grant: grant(), at: noon) }
    #expect(Set(texts).count == 3)
    for (text, name) in zip(texts, ["billing", "chat", "ops"]) {
      #expect(text.wholeMatch(of: /ff_[A-Za-z0-9_-]{43}/) != nil)
      #expect(keys.key(for: text)?.name == name)
      #expect(keys.key(for: text)?.createdAt == "2026-03-02T12:00:00Z")
      for wrong in [String(text.dropLast()), text + "A", text.uppercased(), String(text.dropFirst(3))] {
        #expect(keys.key(for: wrong) == nil)
      }
    }
    #expect(keys.key(for: "") == nil && APIKeys().key(for: texts[0]) == nil)
  }

  @Test("Names are unique, and 1 to 64 ASCII characters without spaces")
  func names() throws {
    var keys = APIKeys()
    let grant = try grant()
    let longest = String(repeating: "n", count: 64)
    for name in ["billing", "a", longest, "Billing"] {
      #expect(fault { () throws(APIKeyFault) in _ = try keys.create(name: name, grant: grant, at: noon) } == nil)
    }
    let refused: [(String, APIKeyFault)] = [
      ("billing", .taken("billing")), ("configured", .reservedName("configured")),
      ("console", .reservedName("console")), ("", .badName("")), ("a b", .badName("a b")),
      (longest + "n", .badName(longest + "n")), ("é", .badName("é")), ("a\n", .badName("a\n")),
    ]
    for (name, expected) in refused {
      #expect(fault { () throws(APIKeyFault) in _ = try keys.create(name: name, grant: grant, at: noon) } == expected)
    }
    #expect(keys.keys.map(\.name) == ["billing", "a", longest, "Billing"])
    #expect(fault { () throws(APIKeyFault) in try keys.delete("a") } == nil)
    #expect(fault { () throws(APIKeyFault) in try keys.delete("a") } == .unknown("a"))
    #expect(keys.keys.map(\.name) == ["billing", longest, "Billing"])
  }

  @Test("There are a thousand keys at most")
  func many() throws {
    var keys = APIKeys()
    let grant = try grant()
    for number in 1...1000 { _ = try keys.create(name: "\(number)", grant: grant, at: noon) }
    #expect(fault { () throws(APIKeyFault) in _ = try keys.create(name: "x", grant: grant, at: noon) } == .tooMany)
    #expect(try APIKeys(parsing: keys.document) == keys)
    try keys.delete("500")
    _ = try keys.create(name: "x", grant: grant, at: noon)
  }

  @Test("A key of the configuration may do everything but with the apps' channels, and is never written")
  func configured() throws {
    var keys = APIKeys()
    let text = try keys.create(name: "billing", grant: grant(on: "chat:*"), at: noon)
    let both = keys.adding(configured: "a-key-of-my-own")
    let key = try #require(both.key(for: "a-key-of-my-own"))
    #expect(key.name == "configured" && both.key(for: text)?.name == "billing")
    for method in APIMethod.allCases.map(\.rawValue) {
      #expect(key.grant.refusal(of: method, channel: try ChannelName("chat:42")) == nil)
    }
    #expect(
      key.grant.refusal(of: "publish", channel: try ChannelName("clique.pairs:a")) == "channels clique.pairs:a")
    #expect(both.document == keys.document)
    #expect(keys.adding(configured: "") == keys && keys.adding(configured: "").key(for: "") == nil)
    #expect(!APIKeys().adding(configured: "x").isEmpty && APIKeys().isEmpty)
  }

  // MARK: The file

  @Test("The file holds digests and no keys, one key a line, for its owner alone, and reads as it was written")
  func roundTrip() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      #expect(try APIKeys.load(from: folder) == APIKeys())
      var texts: [String] = []
      for (name, grant) in [
        ("billing", try grant("publish,presence", on: "chat:*", "a \"b\"")),
        ("ops", try grant("control,read", on: "*")), ("nothing", try grant("")),
      ] {
        texts.append(
          try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
            try keys.create(name: name, grant: grant, at: noon)
          })
      }
      let path = folder + "/api-keys.json"
      #expect(try mode(path) == 0o600)
      #expect(try mode(folder + "/api-keys.lock") == 0o600)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["api-keys.json", "api-keys.lock"])
      let file = try String(contentsOfFile: path, encoding: .utf8)
      let lines = file.split(separator: "\n")
      #expect(lines.count == 5)
      #expect(lines[1].hasPrefix(#"{"name":"billing","digest":""#))
      #expect(
        lines[1].hasSuffix(
          #","allow":["publish","presence"],"channels":["chat:*","a \"b\""],"created_at":"2026-03-02T12:00:00Z"},"#))
      let keys = try APIKeys.load(from: folder)
      #expect(keys.document == Array(file.utf8))
      #expect(keys.keys.map(\.name) == ["billing", "ops", "nothing"])
      for (text, key) in zip(texts, keys.keys) {
        #expect(!file.contains(text) && !file.contains(text.dropFirst(3)))
        #expect(keys.key(for: text) == key)
      }
      try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in try keys.delete("ops") }
      #expect(try APIKeys.load(from: folder).keys.map(\.name) == ["billing", "nothing"])
      try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
        try keys.delete("billing")
        try keys.delete("nothing")
      }
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "[]\n")
      #expect(try APIKeys.load(from: folder) == APIKeys())
    }
  }

  @Test("Keys that are made at once are all there, whoever comes first")
  func race() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let grant = try grant()
      let texts = try await withThrowingTaskGroup(of: String.self) { group in
        for number in 0..<16 {
          group.addTask {
            try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
              try keys.create(name: "\(number)", grant: grant, at: noon)
            }
          }
        }
        return try await group.reduce(into: [String]()) { $0.append($1) }
      }
      let keys = try APIKeys.load(from: folder)
      #expect(Set(texts.compactMap { keys.key(for: $0)?.name }).count == 16)
    }
  }

  private func create(_ name: String, _ grant: APIGrant, in folder: String) throws(APIKeyFault) {
    _ = try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
      try keys.create(name: name, grant: grant, at: noon)
    }
  }

  private func createMany(_ grant: APIGrant, in folder: String) throws(APIKeyFault) {
    try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
      for number in 0..<20 { _ = try keys.create(name: "many-\(number)", grant: grant, at: noon) }
    }
  }

  @Test("A change that fails leaves the file as it is, and so does a process that was killed while it wrote")
  func failure() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let path = folder + "/api-keys.json"
      let (publish, large) = (try grant(), try grant("publish", on: String(repeating: "c", count: 255)))
      try create("a", publish, in: folder)
      let before = try String(contentsOfFile: path, encoding: .utf8)
      try "half of a fi".write(toFile: path + ".new", atomically: false, encoding: .utf8)
      #expect(throws: APIKeyFault.taken("a")) { try create("a", publish, in: folder) }
      #expect(try String(contentsOfFile: path, encoding: .utf8) == before)
      try create("b", publish, in: folder)
      #expect(try APIKeys.load(from: folder).keys.map(\.name) == ["a", "b"])
      // Patterns that the file could not hold.
      let wide = try APIGrant(allow: ["publish"], channels: Array(repeating: large.channels[0].text, count: 256))
      #expect(throws: APIKeyFault.tooLarge(path: path)) { try createMany(wide, in: folder) }
      #expect(try APIKeys.load(from: folder).keys.map(\.name) == ["a", "b"])
      do throws(APIKeyFault) {
        try create("c", publish, in: folder + "/gone")
        Issue.record("a folder that is not there took a key")
      } catch {
        #expect(error.description.contains("No such file or directory"))
      }
    }
  }

  @Test("A file that others can read or change is refused, to be read and to be changed", arguments: [0o644, 0o620])
  func openToOthers(_ mode: Int) async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      try write("[]", to: folder, mode: mode)
      let path = folder + "/api-keys.json"
      let expected = APIKeyFault.file(.openToOthers(path: path, mode: "0" + String(mode, radix: 8)))
      let reading = fault { () throws(APIKeyFault) in _ = try APIKeys.load(from: folder) }
      let changing = fault { () throws(APIKeyFault) in
        try APIKeys.change(in: folder) { (_) throws(APIKeyFault) in }
      }
      #expect(reading == expected && changing == expected)
      #expect(expected.description.hasSuffix("run: chmod 600 \(path)"))
    }
  }

  @Test("What is no file of keys is refused with a sentence, and left as it is")
  func noFile() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let path = folder + "/api-keys.json"
      for text in ["", "{}", "[", "[1]"] {
        try write(text, to: folder)
        let fault = fault { () throws(APIKeyFault) in
          try APIKeys.change(in: folder) { (_) throws(APIKeyFault) in }
        }
        #expect(fault?.description.hasPrefix("\(path) is no list of API keys: ") == true, "\(text)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
      }
      try write("[]" + String(repeating: " ", count: 1 << 20), to: folder)
      #expect(fault { () throws(APIKeyFault) in _ = try APIKeys.load(from: folder) } == .tooLarge(path: path))
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      #expect(fault { () throws(APIKeyFault) in _ = try APIKeys.load(from: folder) } == .file(.notAFile(path: path)))
    }
  }
}

@Suite("The form of the file of API keys")
struct APIKeysFormTests {
  private static let digest = String(repeating: "0123456789abcdef", count: 4)

  private static func entry(
    name: String = #""billing""#, digest: String = #""\#(digest)""#, allow: String = #"["publish"]"#,
    channels: String = #"["chat:*"]"#, createdAt: String = #""2026-03-02T12:00:00Z""#, more: String = ""
  ) -> String {
    let start = #"{"name":\#(name),"digest":\#(digest),"allow":\#(allow),"channels":\#(channels),"#
    return start + #""created_at":\#(createdAt)\#(more)}"#
  }

  /// What is wrong with a document; `fine` where nothing is.
  private func complaint(_ document: String) -> String {
    do throws(MalformedInput) {
      _ = try APIKeys(parsing: Array(document.utf8))
      return "fine"
    } catch {
      return error.description
    }
  }

  @Test("What a person gets wrong is said with the entry and what to write")
  func mistakes() {
    let other = Self.digest.replacing("0", with: "1")
    #expect(complaint("[\(Self.entry())]") == "fine")
    let cases: [(String, String)] = [
      (Self.entry(name: "7"), "name must be text"), (Self.entry(name: "null"), "name must be text"),
      (Self.entry(name: #""a b""#), "\"a b\" is no name for a key"),
      (Self.entry(name: #""configured""#), "is kept for the key of the configuration"),
      (Self.entry(digest: #""abc""#), "digest must be 64"),
      (Self.entry(digest: #""\#(Self.digest.uppercased())""#), "digest must be 64"),
      (Self.entry(allow: #"["pubish"]"#), "\"pubish\" is no method of the server API"),
      (Self.entry(allow: #""publish""#), "allow must be a list of texts"),
      (Self.entry(allow: #"["publish",1]"#), "allow must be a list of texts"),
      (Self.entry(channels: #"["a*b"]"#), "\"a*b\" is neither a channel nor"),
      (Self.entry(channels: #"[""]"#), "\"\" is neither a channel nor"),
      (Self.entry(channels: "null"), "channels must be a list of texts"),
      (Self.entry(createdAt: #""yesterday""#), "created_at must be a time"),
      (Self.entry(more: #","alow":[]"#), "more than 5 fields"), (#"{"nmae":"a"}"#, "there is no field \"nmae\""),
      (Self.entry(more: #","name":"b""#), "stands twice"), ("null", "an object expected"),
    ]
    for (entry, expected) in cases {
      let complaint = complaint("[\(Self.entry(name: #""first""#, digest: #""\#(other)""#)),\n\(entry)]")
      #expect(complaint.contains(expected), "\(entry): \(complaint)")
      // A key that stands twice is found before entries are counted.
      #expect(complaint.hasPrefix("entry 2: ") || expected == "stands twice", "\(complaint)")
    }
    let names = complaint("[\(Self.entry()),\(Self.entry(digest: #""\#(other)""#))]")
    #expect(names.contains("there is a key billing already"))
    #expect(complaint("[\(Self.entry()),\(Self.entry(name: #""b""#))]").contains("its digest stands twice"))
    #expect(complaint("[\(Self.entry(allow: "[]", channels: "[]"))]") == "fine")
  }

  @Test("A file cut at any byte is refused, never taken for a shorter list")
  func cut() throws {
    let document = "[\n\(Self.entry())\n]"
    for length in 0..<document.utf8.count {
      let text = String(decoding: document.utf8.prefix(length), as: UTF8.self)
      #expect(complaint(text) != "fine", "cut at \(length)")
    }
  }

  @Test("A file with any byte changed is refused, or reads as what it says")
  func changed() throws {
    let document = Array("[\n\(Self.entry())\n]\n".utf8)
    for index in document.indices {
      for byte in Array("\"\\[]{},:0a \u{0}".utf8) + [0x80, 0xC3, 0xED, 0xFF] {
        var bytes = document
        bytes[index] = byte
        guard let keys = try? APIKeys(parsing: bytes) else { continue }
        #expect(try APIKeys(parsing: keys.document) == keys, "byte \(index) is \(byte)")
      }
    }
  }

  @Test("Lists without end are refused at their limits")
  func long() {
    func list(_ element: String, _ count: Int) -> String {
      "[\(Array(repeating: element, count: count).joined(separator: ","))]"
    }
    #expect(complaint("[\(Self.entry(allow: list(#""publish""#, 64)))]") == "fine")
    #expect(complaint("[\(Self.entry(allow: list(#""publish""#, 65)))]").contains("at most 64"))
    #expect(complaint("[\(Self.entry(channels: list(#""*""#, 256)))]") == "fine")
    #expect(complaint("[\(Self.entry(channels: list(#""*""#, 257)))]").contains("at most 256"))
    #expect(complaint(String(repeating: "[", count: 100_000)).contains("nested deeper"))
  }
}
