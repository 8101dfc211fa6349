import Foundation
import TestSupport
import Testing

/// Clique over the public protocol, on a real server and disk.
@Suite("Clique end to end", .ownThread)
struct CliqueTests {
  @Test("A conversation's whole life: request, accept, talk, receipts, search, block, unblock, leave; over kill -9")
  func life() async throws {
    try await PhoneHall.with { hall in
      var (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let adasTablet = try await hall.phone(of: "ada")
      try await ada.subscribeMap("clique.list:ada")
      try await adasTablet.subscribeMap("clique.list:ada")
      try await bob.subscribeMap("clique.list:bob")
      let sent = try await ada.call("clique.send", "{\"to\":\"bob\",\"text\":\"hello bob\"}")
      let id = try #require(sent["conversation"].string)
      #expect(sent["waiting"].int == 1)
      try await ada.call("clique.send", "{\"to\":\"bob\",\"text\":\"are you there?\"}")
      #expect(await eventually { bob.map("clique.list:bob")[id]?["messages"].array.count == 2 })
      #expect(bob.map("clique.list:bob")[id]?["state"].string == "request_in")
      for early in ["clique.chat", "clique.receipts", "clique.typing"] {
        await #expect(throws: Phone.Fault.self) { try await ada.subscribe("\(early):\(id)") }
        await #expect(throws: Phone.Fault.self) { try await bob.subscribe("\(early):\(id)") }
      }
      try await hall.killAndRestart()
      (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let tablet = try await hall.phone(of: "bob")
      for phone in [bob, tablet] { try await phone.subscribeMap("clique.list:bob") }
      try await ada.subscribeMap("clique.list:ada")
      #expect(bob.map("clique.list:bob")[id]?["messages"].array.count == 2)
      try await bob.call("clique.accept", "{\"person\":\"ada\"}")
      #expect(await eventually { tablet.map("clique.list:bob")[id]?["state"].string == "active" })
      try await ada.subscribe("clique.chat:\(id)")
      let history = try await ada.ask("\"history\":{\"channel\":\"clique.chat:\(id)\",\"limit\":10}")["history"]
      #expect(history["publications"].array.map { $0["data"]["text"].string } == ["hello bob", "are you there?"])
      try await ada.subscribeMap("clique.receipts:\(id)")
      try await ada.subscribeMap("clique.typing:\(id)")
      try await bob.subscribe("clique.chat:\(id)")
      try await bob.call("clique.typing", "{\"conversation\":\"\(id)\"}")
      // It is gone after some seconds: what counts is that it was told.
      #expect(
        await eventually {
          ada.publications("clique.typing:\(id)").contains { $0["key"].string == "bob" && !$0["removed"].bool }
        })
      let reply = try await bob.call("clique.send", "{\"conversation\":\"\(id)\",\"text\":\"I am, by the café\"}")
      #expect(
        await eventually {
          ada.publications("clique.chat:\(id)").last?["data"]["text"].string?.hasPrefix("I am") == true
        })
      #expect(await eventually { ada.map("clique.list:ada")[id]?["unread"].int == 1 })
      try await ada.call("clique.read", "{\"conversation\":\"\(id)\",\"offset\":\(try #require(reply["offset"].int))}")
      #expect(await eventually { ada.map("clique.list:ada")[id]?["unread"].int == 0 })
      #expect(await eventually { ada.map("clique.receipts:\(id)")["ada"]?["read"].int == reply["offset"].int })
      try await block(ada, bob, id)
    }
  }

  private func block(_ ada: Phone, _ bob: Phone, _ id: String) async throws {
    let chat = "clique.chat:\(id)"
    try await ada.call("clique.block", "{\"person\":\"bob\"}")
    #expect(await eventually { ada.map("clique.list:ada")[id]?["state"].string == "blocked" })
    // To be thrown out at this moment would tell bob, who sees her in the chat.
    #expect(ada.unsubscribed(chat) == nil)
    let heard = ada.publications(chat).count
    #expect(await eventually { bob.publications(chat).last?["data"]["text"].string?.hasPrefix("I am") == true })
    let before = bob.publications(chat).count
    try await bob.call("clique.send", "{\"conversation\":\"\(id)\",\"text\":\"hello?\"}")
    #expect(await eventually { bob.publications(chat).count == before + 1 })
    let shadow = bob.publications(chat).last
    #expect(shadow?["tags"].isNull == true, "nothing tells: \(String(describing: shadow))")
    #expect(bob.map("clique.list:bob")[id]?["state"].string == "active")
    #expect(ada.publications(chat).count == heard)
    _ = try await ada.ask("\"unsubscribe\":{\"channel\":\"\(chat)\"}")
    await #expect(throws: Phone.Fault.self) { try await ada.subscribe(chat) }
    try await ada.call("clique.unblock", "{\"person\":\"bob\"}")
    try await ada.subscribe(chat)
    let seen = try await ada.ask("\"history\":{\"channel\":\"\(chat)\",\"limit\":100}")["history"]["publications"].array
    // From before the block.
    #expect(seen.contains { $0["data"]["text"].string == "hello bob" })
    #expect(seen.allSatisfy { $0["data"]["text"].string != "hello?" })
    let own = try await bob.ask("\"history\":{\"channel\":\"\(chat)\",\"limit\":100}")["history"]["publications"].array
    #expect(own.last?["data"]["text"].string == "hello?" && own.allSatisfy { $0["tags"].isNull })
    try await bob.call("clique.disconnect", "{\"conversation\":\"\(id)\"}")
    #expect(await eventually { ada.map("clique.list:ada")[id]?["state"].string == "ended" })
  }

  @Test("Nobody gets around the rules: plain publishes, forged names, filters, map writes, services")
  func around() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob, eve) = (
        try await hall.phone(of: "ada"), try await hall.phone(of: "bob"), try await hall.phone(of: "eve")
      )
      // With an empty one everything would be refused, whatever the rules are.
      let id = try #require(
        try await ada.call("clique.send", "{\"to\":\"bob\",\"text\":\"hi\"}")["conversation"].string)
      try await bob.call("clique.accept", "{\"person\":\"ada\"}")
      try await ada.subscribe("clique.chat:\(id)")
      let channels = [
        "clique.chat:\(id)", "clique.list:ada", "clique.receipts:\(id)", "clique.typing:\(id)",
        "clique.crossings:ada", "clique.blocked:ada", "state.threads:ada", "state.events:ada",
      ]
      for phone in [ada, eve] {
        for channel in channels {
          for request in [
            "\"publish\":{\"channel\":\"\(channel)\",\"data\":{\"text\":\"x\"}}",
            "\"publish\":{\"channel\":\"\(channel)\",\"type\":1,\"key\":\"ada\",\"data\":{}}",
            "\"rpc\":{\"method\":\"map.set\",\"data\":{\"channel\":\"\(channel)\",\"key\":\"ada\",\"data\":{}}}",
            "\"rpc\":{\"method\":\"map.remove\",\"data\":{\"channel\":\"\(channel)\",\"key\":\"ada\"}}",
            "\"rpc\":{\"method\":\"receipt.read\",\"data\":{\"channel\":\"\(channel)\",\"offset\":1}}",
          ] { await #expect(throws: Phone.Fault.self, "\(request)") { try await phone.ask(request) } }
        }
      }
      for channel in channels + ["clique.records:all", "state.records:all", "clique.chat:", "clique.list:"] {
        for request in [
          "\"subscribe\":{\"channel\":\"\(channel)\"}",
          "\"subscribe\":{\"channel\":\"\(channel)\",\"type\":1,\"phase\":2}",
          "\"history\":{\"channel\":\"\(channel)\",\"limit\":9}", "\"presence\":{\"channel\":\"\(channel)\"}",
          "\"presence_stats\":{\"channel\":\"\(channel)\"}",
          "\"rpc\":{\"method\":\"map.list\",\"data\":{\"channel\":\"\(channel)\"}}",
          "\"rpc\":{\"method\":\"map.get\",\"data\":{\"channel\":\"\(channel)\",\"key\":\"bob\"}}",
          "\"rpc\":{\"method\":\"publication.edit\",\"data\":{\"channel\":\"\(channel)\",\"offset\":1,\"data\":{}}}",
          "\"rpc\":{\"method\":\"publication.delete\",\"data\":{\"channel\":\"\(channel)\",\"offset\":1}}",
        ] { await #expect(throws: Phone.Fault.self, "\(request)") { try await eve.ask(request) } }
      }
      await #expect(throws: Phone.Fault.self, "a filter on hidden tags") {
        try await bob.subscribe("clique.chat:\(id)", ",\"tf\":{\"key\":\"only\",\"cmp\":\"ex\"}")
      }
      for method in ["state.picture.added", "state.picture.key", "clique.nothing", "clique."] {
        let fault = await #expect(throws: Phone.Fault.self) { try await eve.call(method, "{\"id\":\"x\"}") }
        #expect(fault?.code == 104)
      }
    }
  }
}
