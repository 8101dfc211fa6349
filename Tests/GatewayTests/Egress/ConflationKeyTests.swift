import Testing
import Wire

@testable import Gateway

@Suite("What a message of a low lane takes the place of")
struct ConflationKeyTests {
  private func key(tags: [String: String] = [:], user: String? = nil, client: String = "") -> ConflationKey {
    ConflationKey(
      Publication(data: [1], info: user.map { ClientInfo(user: $0, client: client) }, tags: tags))
  }

  @Test("The tag `key` goes before the publisher")
  func tag() {
    #expect(key(tags: ["key": "k"], user: "ann") == key(tags: ["key": "k"], user: "ben"))
    #expect(key(tags: ["key": "k"]) != key(tags: ["key": "l"]))
    #expect(key(tags: ["other": "k"], user: "ann") == key(user: "ann"))
  }

  @Test("An empty tag is a key as well")
  func emptyTag() {
    #expect(key(tags: ["key": ""], user: "ann") == key(tags: ["key": ""], user: "ben"))
    #expect(key(tags: ["key": ""]) != .channel)
  }

  @Test("A user is one key on all of their devices")
  func user() {
    #expect(key(user: "ann", client: "1") == key(user: "ann", client: "2"))
    #expect(key(user: "ann", client: "1") != key(user: "ben", client: "1"))
  }

  @Test("Anonymous publishers are told apart by their connections")
  func client() {
    #expect(key(user: "", client: "1") == key(user: "", client: "1"))
    #expect(key(user: "", client: "1") != key(user: "", client: "2"))
  }

  @Test("What a service publishes without a tag has one key for the whole channel")
  func channel() {
    #expect(key() == .channel)
    #expect(key(user: "", client: "") == .channel)
  }

  @Test("A join and a leave of one client are one key, which is no publication's")
  func presence() {
    let member = ClientInfo(user: "ann", client: "1")
    #expect(ConflationKey(presenceOf: member) == ConflationKey(presenceOf: ClientInfo(user: "ben", client: "1")))
    #expect(ConflationKey(presenceOf: member) != ConflationKey(presenceOf: ClientInfo(user: "ann", client: "2")))
    #expect(ConflationKey(presenceOf: member) != key(user: "", client: "1"))
  }

  @Test("The same text as tag, user and client is three keys")
  func kinds() {
    #expect(Set([key(tags: ["key": "7"]), key(user: "7"), key(user: "", client: "7")]).count == 3)
  }

  @Test("Attack: a user whose name only looks the same does not push another's messages out")
  func canonicalEquivalence() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed)
    #expect(key(user: composed) != key(user: decomposed))
    #expect(key(tags: ["key": composed]) != key(tags: ["key": decomposed]))
  }
}
