import Foundation
import TestSupport
import Testing

/// Messages that disappear, over the public protocol, on a real server and disk.
@Suite("Clique's messages that disappear, end to end", .ownThread)
struct CliqueVanishingTests {
  private static let text = "what nobody may read in a minute"
  private static let changed = "what I would rather have said before"
  private static let texts = [text, changed].flatMap(ByteSearch.forms)

  private func agree(_ ada: Phone, _ bob: Phone) async throws -> String {
    try await ada.call("clique.send", #"{"to":"bob","text":"hello"}"#)
    let accepted = try await bob.call("clique.accept", #"{"person":"ada"}"#)
    try await ada.call("clique.disappear", #"{"person":"bob","after":60000}"#)
    try await bob.call("clique.disappear", #"{"person":"ada","after":60000}"#)
    return try #require(accepted["conversation"].string)
  }

  private func history(_ phone: Phone, _ id: String) async throws -> [JSON] {
    let answer = try await phone.ask(#""history":{"channel":"clique.chat:\#(id)","limit":100}"#)
    return answer["history"]["publications"].array
  }

  private func holds(_ publications: [JSON], _ text: String) -> Bool {
    publications.contains { $0["data"]["text"].string == text }
  }

  @Test("No file holds the text, before its time and after it, over kill -9; then nobody reads it")
  func files() async throws {
    try await PhoneHall.with { hall in
      var (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let id = try await agree(ada, bob)
      try await ada.call("clique.send", #"{"conversation":"\#(id)","text":"\#(Self.text)"}"#)
      let edit = #"{"channel":"clique.chat:\#(id)","offset":3,"data":{"text":"\#(Self.changed)"}}"#
      try await ada.subscribe("clique.chat:\(id)")
      try await ada.ask(#""rpc":{"method":"publication.edit","data":\#(edit)}"#)
      #expect(try ByteSearch.files(in: hall.data, holding: Self.texts) == [:])
      try await hall.killAndRestart()
      (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      #expect(try ByteSearch.files(in: hall.data, holding: Self.texts) == [:])
      for phone in [ada, bob] {
        try await phone.subscribe("clique.chat:\(id)")
        try await phone.subscribeMap("clique.list:\(phone === ada ? "ada" : "bob")")
      }
      let before = try await history(bob, id)
      let message = try #require(before.first { $0["offset"].int == 3 })
      if message["data"]["text"].string != nil {
        #expect(message["data"]["text"].string == Self.changed)
        #expect(message["data"]["expires"].int != nil && message["tags"]["vanishes"].isNull)
      }
      #expect(bob.map("clique.list:bob")[id]?["disappear"].int == 60_000)
      #expect(bob.map("clique.list:bob")[id]?["last"].string != Self.changed)
      let isGone = await eventually(within: .seconds(180)) { bob.map("clique.list:bob")[id]?["last"].string == "hello" }
      #expect(isGone)
      #expect(
        await eventually {
          bob.publications("clique.chat:\(id)").contains { $0["tags"]["deletes"].string == "3" }
        })
      for phone in [ada, bob] {
        let left = try await history(phone, id)
        #expect(!holds(left, Self.text) && !holds(left, Self.changed))
        #expect(holds(left, "hello"))
      }
      let found = try await ada.call("clique.search", #"{"text":"nobody"}"#)
      #expect(found["messages"].array.isEmpty)
      #expect(try ByteSearch.files(in: hall.data, holding: Self.texts) == [:])
    }
  }

  @Test("Phones on two gateways see a message, and see it go")
  func gateways() async throws {
    try await Deployment.with(.ipc) { deployment in
      let (ada, bob) = (try Phone(deployment.a), try Phone(deployment.b))
      try await ada.connect(deployment.token("ada"))
      try await bob.connect(deployment.token("bob"))
      let id = try await agree(ada, bob)
      let chat = "clique.chat:\(id)"
      for phone in [ada, bob] { try await phone.subscribe(chat) }
      let sent = try await ada.call("clique.send", #"{"conversation":"\#(id)","text":"\#(Self.text)"}"#)
      let offset = try #require(sent["offset"].int)
      for phone in [ada, bob] {
        #expect(await eventually { phone.publications(chat).contains { $0["data"]["text"].string == Self.text } })
      }
      for phone in [ada, bob] {
        let isTold = await eventually(within: .seconds(180)) {
          phone.publications(chat).contains { $0["tags"]["deletes"].string == "\(offset)" }
        }
        #expect(isTold)
        #expect(try await !holds(history(phone, id), Self.text))
      }
    }
  }
}
