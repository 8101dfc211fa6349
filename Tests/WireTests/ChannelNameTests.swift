import Testing
import Wire

@Suite("Channel names")
struct ChannelNameTests {
  @Test(
    "the namespace is what stands before the first colon, without a leading dollar",
    arguments: [
      ("news", nil), ("chat:room", "chat"), ("chat:a:b", "chat"), (":x", ""), ("$chat:room", "chat"), ("$news", nil),
      ("chat:", "chat"), ("$", nil), ("$:", ""), ("a$b:c", "a$b"), ("#:1", "#"), ("é:x", "é"),
    ] as [(String, String?)])
  func namespace(name: String, namespace: String?) throws {
    #expect(try ChannelName(name).namespace.map(String.init) == namespace)
  }

  @Test(
    "users stand after the last number sign",
    arguments: [
      ("dm:x#42,43", ["42", "43"]), ("x#42", ["42"]), ("x", nil), ("x#", [""]), ("x#,", ["", ""]),
      ("a#1#2,3", ["2", "3"]),
      ("#1", ["1"]), ("x# 1", [" 1"]),
    ] as [(String, [String]?)])
  func users(name: String, users: [String]?) throws {
    #expect(try ChannelName(name).limitedToUsers.map { $0.map(String.init) } == users)
  }

  @Test("only a dollar at the very front makes a channel private")
  func privacy() throws {
    #expect(try ChannelName("$news").isPrivate)
    #expect(try !ChannelName("news$").isPrivate)
    #expect(try !ChannelName("ns:$x").isPrivate)
    #expect(try !ChannelName("＄news").isPrivate)
  }

  @Test("an empty name, a long one and one with a control character are refused, with a sentence")
  func refused() throws {
    func reason(_ name: String) -> ChannelName.Invalid? {
      do {
        _ = try ChannelName(name)
        return nil
      } catch {
        return error
      }
    }
    #expect(reason("") == .empty)
    #expect(reason(String(repeating: "x", count: 255)) == nil)
    #expect(reason(String(repeating: "x", count: 256)) == .tooLong(bytes: 256, limit: 255))
    #expect(reason(String(repeating: "é", count: 128)) == .tooLong(bytes: 256, limit: 255))
    for byte in Array(0..<0x20) + [0x7F] as [UInt8] {
      #expect(reason("a" + String(Unicode.Scalar(byte)) + "b") == .controlCharacter)
    }
    #expect(ChannelName.Invalid.tooLong(bytes: 3, limit: 2).description.contains("has 3 bytes"))
    #expect(throws: ChannelName.Invalid.tooLong(bytes: 3, limit: 2)) { try ChannelName("abc", limit: 2) }
  }

  @Test("two spellings of one character are two channels: a grant on one does not open the other")
  func canonicalEquivalence() throws {
    let precomposed = "caf\u{E9}"
    let decomposed = "cafe\u{301}"
    #expect(precomposed == decomposed)
    let one = try ChannelName(precomposed)
    let other = try ChannelName(decomposed)
    #expect(one != other)
    #expect(Set([one, other]).count == 2)
    #expect(Set([one, other]).contains(one))
    #expect(one > other && !(one < other))
    #expect(!precomposed.hasSameBytes(as: decomposed))
    #expect(precomposed.hasSameBytes(as: "caf\u{E9}"[...]))
  }

  @Test("a subscription to both spellings in one connect is refused rather than mixed up")
  func bothSpellings() {
    #expect(
      refusal("{\"connect\":{\"subs\":{\"caf\u{E9}\":{},\"cafe\u{301}\":{}}}}") == #"a channel stands twice in "subs""#)
  }

  @Test("names are ordered by their bytes")
  func order() throws {
    let names = try ["b", "a", "ab", "Z", "é", "z"].map { try ChannelName($0) }
    #expect(names.sorted().map(\.string) == ["Z", "a", "ab", "b", "z", "é"])
  }

  @Test("the namespace decides a channel's options, and an unknown namespace has none")
  func options() throws {
    let chat = with(ChannelOptions()) { $0.presence = true }
    let table = NamespaceTable(namespaces: ["chat": chat])
    #expect(try table.options(for: ChannelName("chat:x")) == chat)
    #expect(try table.options(for: ChannelName("$chat:x")) == chat)
    #expect(try table.options(for: ChannelName("x")) == ChannelOptions())
    #expect(try table.options(for: ChannelName("chats:x")) == nil)
    #expect(try table.options(for: ChannelName(":x")) == nil)
  }
}

@Suite("Codes")
struct CodeTests {
  @Test(
    "the client reconnects after exactly the codes for which the protocol says so",
    arguments: [
      (3000, true), (3012, true), (3499, true), (3500, false), (3999, false), (4000, true), (4499, true), (4500, false),
      (4999, false), (5000, true),
    ] as [(UInt16, Bool)])
  func reconnects(code: UInt16, reconnects: Bool) {
    #expect(DisconnectCode(code: code, reason: "").clientReconnects == reconnects)
  }

  @Test("another sentence keeps an error's code and whether it is temporary")
  func saying() {
    #expect(
      ClientError.internalError.saying("x") == ClientError(code: 100, message: "x", temporary: true))
    #expect(ClientError.permissionDenied.saying("x") == ClientError(code: 103, message: "x"))
    #expect(ClientError.permissionDenied.description == "permission denied (error 103)")
  }
}
