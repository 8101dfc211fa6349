import Foundation
import TestSupport
import Testing

/// Messages that disappear, over the public protocol, on real servers and disks.
@Suite("Clique's messages that disappear, end to end", .ownThread)
struct CliqueVanishingTests {
  private static let text = "what nobody may read in a minute"
  private static let changed = "what I would rather have said before"
  private static let texts = [text, changed].flatMap(ByteSearch.forms)

  private func agree(_ ada: Phone, _ dan: Phone) async throws -> String {
    try await ada.call("clique.send", #"{"to":"dan","text":"hello"}"#)
    let accepted = try await dan.call("clique.accept", #"{"person":"ada"}"#)
    try await ada.call("clique.disappear", #"{"person":"dan","after":60000}"#)
    try await dan.call("clique.disappear", #"{"person":"ada","after":60000}"#)
    return try #require(accepted["conversation"].string)
  }

  /// Where home has made the first keys just now, other partitions have yet to read them.
  @discardableResult
  private func send(from phone: Phone, _ id: String, within patience: Duration) async throws -> JSON {
    try await phone.call("clique.send", #"{"conversation":"\#(id)","text":"\#(Self.text)"}"#, within: patience)
  }

  private func history(_ phone: Phone, _ id: String) async throws -> [JSON] {
    let answer = try await phone.ask(#""history":{"channel":"clique.chat:\#(id)","limit":100}"#)
    return answer["history"]["publications"].array
  }

  private func holds(_ publications: [JSON], _ text: String) -> Bool {
    publications.contains { $0["data"]["text"].string == text }
  }

  @Test(
    "No file holds the text, before its time and after it, over kill -9, and no table; then nobody reads it",
    arguments: HallPlace.here)
  func files(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let id = try await agree(ada, dan)
      try await send(from: ada, id, within: hall.patience)
      let edit = #"{"channel":"clique.chat:\#(id)","offset":3,"data":{"text":"\#(Self.changed)"}}"#
      try await ada.subscribe("clique.chat:\(id)")
      try await ada.ask(#""rpc":{"method":"publication.edit","data":\#(edit)}"#)
      #expect(try hall.holders(of: Self.texts) == [:])
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      #expect(try hall.holders(of: Self.texts) == [:])
      for phone in [ada, dan] {
        try await phone.subscribe("clique.chat:\(id)")
        try await phone.subscribeMap("clique.list:\(phone === ada ? "ada" : "dan")")
      }
      let before = try await history(dan, id)
      let message = try #require(before.first { $0["offset"].int == 3 })
      if message["data"]["text"].string != nil {
        #expect(message["data"]["text"].string == Self.changed)
        #expect(message["data"]["expires"].int != nil && message["tags"]["vanishes"].isNull)
      }
      #expect(await eventually(within: hall.patience) { dan.map("clique.list:dan")[id]?["disappear"].int == 60_000 })
      #expect(dan.map("clique.list:dan")[id]?["last"].string != Self.changed)
      let isGone = await eventually(within: .seconds(180)) {
        dan.publications("clique.chat:\(id)").contains { $0["tags"]["deletes"].string == "3" }
      }
      #expect(isGone)
      #expect(await eventually { dan.map("clique.list:dan")[id]?["last"].string == "hello" })
      for phone in [ada, dan] {
        let left = try await history(phone, id)
        #expect(!holds(left, Self.text) && !holds(left, Self.changed))
        #expect(holds(left, "hello"))
      }
      let found = try await ada.call("clique.search", #"{"text":"nobody"}"#)
      #expect(found["messages"].array.isEmpty)
      #expect(try hall.holders(of: Self.texts) == [:])
    }
  }

  @Test("Phones on two gateways see a message, and see it go", arguments: HallPlace.here)
  func gateways(at place: HallPlace) async throws {
    try await place.withGateways { deployment in
      let (ada, dan) = (try Phone(deployment.a), try Phone(deployment.b))
      try await ada.connect(deployment.token("ada"))
      try await dan.connect(deployment.token("dan"))
      let id = try await agree(ada, dan)
      let chat = "clique.chat:\(id)"
      for phone in [ada, dan] { try await phone.subscribe(chat) }
      let sent = try await send(from: ada, id, within: place.patience)
      let offset = try #require(sent["offset"].int)
      for phone in [ada, dan] {
        #expect(await eventually { phone.publications(chat).contains { $0["data"]["text"].string == Self.text } })
      }
      for phone in [ada, dan] {
        let isTold = await eventually(within: .seconds(180)) {
          phone.publications(chat).contains { $0["tags"]["deletes"].string == "\(offset)" }
        }
        #expect(isTold)
        #expect(try await !holds(history(phone, id), Self.text))
      }
    }
  }
}
