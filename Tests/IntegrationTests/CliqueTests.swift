import Foundation
import TestSupport
import Testing

/// Clique over the public protocol, on real servers and disks: decided in one place, and shared among partitions.
@Suite("Clique end to end", .ownThread)
struct CliqueTests {
  @Test(
    "A conversation's whole life: request, accept, talk, receipts, search, block, unblock, leave; over kill -9",
    arguments: HallPlace.here)
  func life(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let adasTablet = try await hall.phone(of: "ada")
      try await ada.subscribeMap("clique.list:ada")
      try await adasTablet.subscribeMap("clique.list:ada")
      try await dan.subscribeMap("clique.list:dan")
      let sent = try await ada.call("clique.send", "{\"to\":\"dan\",\"text\":\"hello dan\"}")
      let id = try #require(sent["conversation"].string)
      #expect(sent["waiting"].int == 1)
      #expect(HallPlace.areApart("ada", "dan", conversation: id), "they are in this suite and those beside it")
      try await ada.call("clique.send", "{\"to\":\"dan\",\"text\":\"are you there?\"}")
      #expect(await eventually { dan.map("clique.list:dan")[id]?["messages"].array.count == 2 })
      #expect(dan.map("clique.list:dan")[id]?["state"].string == "request_in")
      for early in ["clique.chat", "clique.receipts", "clique.typing"] {
        await #expect(throws: Phone.Fault.self) { try await ada.subscribe("\(early):\(id)") }
        await #expect(throws: Phone.Fault.self) { try await dan.subscribe("\(early):\(id)") }
      }
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let tablet = try await hall.phone(of: "dan")
      for phone in [dan, tablet] { try await phone.subscribeMap("clique.list:dan") }
      try await ada.subscribeMap("clique.list:ada")
      #expect(dan.map("clique.list:dan")[id]?["messages"].array.count == 2)
      try await dan.call("clique.accept", "{\"person\":\"ada\"}")
      #expect(await eventually { tablet.map("clique.list:dan")[id]?["state"].string == "active" })
      try await ada.subscribe("clique.chat:\(id)")
      let history = try await ada.ask("\"history\":{\"channel\":\"clique.chat:\(id)\",\"limit\":10}")["history"]
      #expect(history["publications"].array.map { $0["data"]["text"].string } == ["hello dan", "are you there?"])
      try await ada.subscribeMap("clique.receipts:\(id)")
      try await ada.subscribeMap("clique.typing:\(id)")
      try await dan.subscribe("clique.chat:\(id)")
      try await dan.call("clique.typing", "{\"conversation\":\"\(id)\"}")
      // It is gone after some seconds: what counts is that it was told.
      #expect(
        await eventually {
          ada.publications("clique.typing:\(id)").contains { $0["key"].string == "dan" && !$0["removed"].bool }
        })
      let reply = try await dan.call("clique.send", "{\"conversation\":\"\(id)\",\"text\":\"I am, by the café\"}")
      #expect(
        await eventually {
          ada.publications("clique.chat:\(id)").last?["data"]["text"].string?.hasPrefix("I am") == true
        })
      #expect(await eventually { ada.map("clique.list:ada")[id]?["unread"].int == 1 })
      try await ada.call("clique.read", "{\"conversation\":\"\(id)\",\"offset\":\(try #require(reply["offset"].int))}")
      #expect(await eventually { ada.map("clique.list:ada")[id]?["unread"].int == 0 })
      #expect(await eventually { ada.map("clique.receipts:\(id)")["ada"]?["read"].int == reply["offset"].int })
      try await block(ada, dan, id, hall)
    }
  }

  private func block(_ ada: Phone, _ dan: Phone, _ id: String, _ hall: PhoneHall) async throws {
    let chat = "clique.chat:\(id)"
    try await ada.call("clique.block", "{\"person\":\"dan\"}")
    #expect(await eventually { ada.map("clique.list:ada")[id]?["state"].string == "blocked" })
    // To be thrown out at this moment would tell dan, who sees her in the chat.
    #expect(ada.unsubscribed(chat) == nil)
    let heard = ada.publications(chat).count
    #expect(await eventually { dan.publications(chat).last?["data"]["text"].string?.hasPrefix("I am") == true })
    let before = dan.publications(chat).count
    try await dan.call("clique.send", "{\"conversation\":\"\(id)\",\"text\":\"hello?\"}")
    #expect(await eventually { dan.publications(chat).count == before + 1 })
    let shadow = dan.publications(chat).last
    #expect(shadow?["tags"].isNull == true, "nothing tells: \(String(describing: shadow))")
    #expect(await eventually(within: hall.patience) { dan.map("clique.list:dan")[id]?["state"].string == "active" })
    #expect(ada.publications(chat).count == heard)
    _ = try await ada.ask("\"unsubscribe\":{\"channel\":\"\(chat)\"}")
    await #expect(throws: Phone.Fault.self) { try await ada.subscribe(chat) }
    try await ada.call("clique.unblock", "{\"person\":\"dan\"}")
    try await ada.subscribe(chat)
    let seen = try await ada.ask("\"history\":{\"channel\":\"\(chat)\",\"limit\":100}")["history"]["publications"].array
    // From before the block.
    #expect(seen.contains { $0["data"]["text"].string == "hello dan" })
    #expect(seen.allSatisfy { $0["data"]["text"].string != "hello?" })
    let own = try await dan.ask("\"history\":{\"channel\":\"\(chat)\",\"limit\":100}")["history"]["publications"].array
    #expect(own.last?["data"]["text"].string == "hello?" && own.allSatisfy { $0["tags"].isNull })
    try await dan.call("clique.disconnect", "{\"conversation\":\"\(id)\"}")
    #expect(await eventually { ada.map("clique.list:ada")[id]?["state"].string == "ended" })
  }

  @Test(
    "Nobody gets around the rules: plain publishes, forged names, filters, map writes, services",
    arguments: HallPlace.here)
  func around(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      let (ada, dan, eve) = (
        try await hall.phone(of: "ada"), try await hall.phone(of: "dan"), try await hall.phone(of: "eve")
      )
      // With an empty one everything would be refused, whatever the rules are.
      let id = try #require(
        try await ada.call("clique.send", "{\"to\":\"dan\",\"text\":\"hi\"}")["conversation"].string)
      try await dan.call("clique.accept", "{\"person\":\"ada\"}")
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
          "\"rpc\":{\"method\":\"map.get\",\"data\":{\"channel\":\"\(channel)\",\"key\":\"dan\"}}",
          "\"rpc\":{\"method\":\"publication.edit\",\"data\":{\"channel\":\"\(channel)\",\"offset\":1,\"data\":{}}}",
          "\"rpc\":{\"method\":\"publication.delete\",\"data\":{\"channel\":\"\(channel)\",\"offset\":1}}",
        ] { await #expect(throws: Phone.Fault.self, "\(request)") { try await eve.ask(request) } }
      }
      await #expect(throws: Phone.Fault.self, "a filter on hidden tags") {
        try await dan.subscribe("clique.chat:\(id)", ",\"tf\":{\"key\":\"only\",\"cmp\":\"ex\"}")
      }
      for method in [
        "state.picture.added", "state.picture.key", "clique.picture.key", "clique.picture.lend",
        "clique.picture.reads", "clique.report.evidence", "clique.nothing", "clique.",
      ] {
        let fault = await #expect(throws: Phone.Fault.self) { try await eve.call(method, "{\"id\":\"x\"}") }
        #expect(fault?.code == 104)
      }
    }
  }
}
