import Foundation
import TestSupport
import Testing

/// Map channels as a client sees them, with the configuration that the server comes with.
@Suite("Map channels", .ownThread)
struct MapChannelTests {
  @Test("A private journal: add, list newest first, read, delete; it survives kill -9, and nobody else sees it")
  func journal() async throws {
    try await PhoneHall.with { hall in
      var ada = try await hall.phone(of: "ada")
      let journal = "journal:#ada"
      for day in 1...5 {
        try await ada.ask(
          "\"publish\":{\"channel\":\"\(journal)\",\"type\":1,\"key\":\"day-\(day)\","
            + "\"data\":{\"title\":\"Day \(day)\",\"text\":\"It was day \(day).\"}}")
      }
      try await ada.call("map.remove", "{\"channel\":\"\(journal)\",\"key\":\"day-2\"}")
      try await hall.killAndRestart()
      ada = try await hall.phone(of: "ada")
      let first = try await ada.call("map.list", "{\"channel\":\"\(journal)\",\"limit\":3}")
      #expect(first["entries"].array.map { $0["key"].string } == ["day-5", "day-4", "day-3"])
      let second = try await ada.call(
        "map.list", "{\"channel\":\"\(journal)\",\"cursor\":\(JSON.quoted(first["cursor"].string ?? ""))}")
      #expect(second["entries"].array.map { $0["key"].string } == ["day-1"])
      #expect(second["cursor"].isNull)
      let one = try await ada.call("map.get", "{\"channel\":\"\(journal)\",\"key\":\"day-4\"}")
      #expect(one["entries"][0]["data"]["title"].string == "Day 4")
      let eve = try await hall.phone(of: "eve")
      for request in [
        "\"subscribe\":{\"channel\":\"\(journal)\",\"type\":1,\"phase\":2}",
        "\"subscribe\":{\"channel\":\"\(journal)\"}", "\"history\":{\"channel\":\"\(journal)\",\"limit\":10}",
        "\"presence\":{\"channel\":\"\(journal)\"}",
        "\"publish\":{\"channel\":\"\(journal)\",\"type\":1,\"key\":\"x\",\"data\":1}",
        "\"rpc\":{\"method\":\"map.list\",\"data\":{\"channel\":\"\(journal)\"}}",
        "\"rpc\":{\"method\":\"map.get\",\"data\":{\"channel\":\"\(journal)\",\"key\":\"day-1\"}}",
        "\"rpc\":{\"method\":\"map.remove\",\"data\":{\"channel\":\"\(journal)\",\"key\":\"day-1\"}}",
      ] {
        await #expect(throws: Phone.Fault.self, "\(request)") { try await eve.ask(request) }
      }
    }
  }

  @Test("Favorites: a short ordered list, the same on all devices, reordered by one write")
  func favorites() async throws {
    try await PhoneHall.with { hall in
      let (phone, tablet) = (try await hall.phone(of: "ada"), try await hall.phone(of: "ada"))
      let favorites = "favorites:#ada"
      try await tablet.subscribeMap(favorites)
      for (place, name) in ["bob", "cy", "chat:club"].enumerated() {
        try await phone.call(
          "map.set",
          "{\"channel\":\"\(favorites)\",\"key\":\"\(name)\",\"score\":\((place + 1) * 1000),"
            + "\"data\":{\"action\":\"open\"}}")
      }
      func order(_ phone: Phone) async throws -> [String?] {
        try await phone.call("map.list", "{\"channel\":\"\(favorites)\"}")["entries"].array.map { $0["key"].string }
      }
      #expect(try await order(phone) == ["bob", "cy", "chat:club"])
      // The club goes between bob and cy.
      try await phone.ask(
        "\"publish\":{\"channel\":\"\(favorites)\",\"type\":1,\"key\":\"chat:club\",\"score\":1500,"
          + "\"data\":{\"action\":\"call\"}}")
      #expect(try await order(tablet) == ["bob", "chat:club", "cy"])
      #expect(
        await eventually { tablet.entry(favorites, "chat:club")["score"].int == 1500 }, "the tablet hears of it")
      #expect(tablet.map(favorites)["chat:club"]?["action"].string == "call")
      for number in 4...50 {
        try await phone.call("map.set", "{\"channel\":\"\(favorites)\",\"key\":\"p\(number)\",\"data\":{}}")
      }
      await #expect(throws: Phone.Fault.self) {
        try await phone.call("map.set", "{\"channel\":\"\(favorites)\",\"key\":\"one too many\",\"data\":{}}")
      }
    }
  }

  @Test("A snapshot in pages, and what changes between them, is the map as it is")
  func paging() async throws {
    try await PhoneHall.with { hall in
      let (writer, reader) = (try await hall.phone(of: "ada"), try await hall.phone(of: "ada"))
      let journal = "journal:#ada"
      for number in 1...25 {
        try await writer.call("map.set", "{\"channel\":\"\(journal)\",\"key\":\"e\(number)\",\"data\":\(number)}")
      }
      let result = try await reader.subscribeMap(journal, pageSize: 10)
      #expect(reader.map(journal).count == 25)
      try await writer.call("map.remove", "{\"channel\":\"\(journal)\",\"key\":\"e7\"}")
      try await writer.call("map.set", "{\"channel\":\"\(journal)\",\"key\":\"e8\",\"data\":800}")
      #expect(await eventually { reader.map(journal)["e7"] == nil && reader.map(journal)["e8"]?.int == 800 })
      // Another device of ada's, which was away since the first one read the map.
      let late = try await hall.phone(of: "ada")
      let epoch = result["epoch"].string ?? ""
      let recovered = try await late.subscribeMap(journal, recover: (epoch, result["offset"].int ?? 0))
      #expect(recovered["recovered"].bool)
      #expect(late.map(journal).keys.sorted() == ["e8"])
      let lost = await #expect(throws: Phone.Fault.self) {
        try await hall.phone(of: "ada").subscribeMap(journal, recover: ("another", 3))
      }
      #expect(lost?.code == 112)
    }
  }

  @Test("Typing belongs to those on the channel, is said seldom, and goes by itself")
  func typing() async throws {
    // However long ten requests take, they come within the interval.
    let settings = ["channel.namespaces.typing.map_ttl=700ms", "channel.namespaces.typing.publish_interval=10m"]
    try await PhoneHall.with(settings) { hall in
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      try await ada.subscribe("chat:42")
      try await bob.subscribe("chat:42")
      try await bob.subscribeMap("typing:chat:42")
      let types = "\"publish\":{\"channel\":\"typing:chat:42\",\"type\":1,\"key\":\"ada\",\"data\":{}}"
      for _ in 1...10 { try await ada.ask(types) }
      #expect(await eventually { bob.publications("typing:chat:42").count >= 2 })
      let told = bob.publications("typing:chat:42")
      #expect(told.count == 2, "one begins, one ends: \(told)")
      #expect(told.map { $0["key"].string } == ["ada", "ada"])
      #expect(told.map { $0["removed"].bool } == [false, true])
      #expect(bob.map("typing:chat:42")["ada"] == nil)
      await #expect(throws: Phone.Fault.self, "somebody else's key") {
        try await ada.ask(types.replacingOccurrences(of: "\"ada\"", with: "\"bob\""))
      }
      let eve = try await hall.phone(of: "eve")
      await #expect(throws: Phone.Fault.self, "who is not on the channel") {
        try await eve.ask(types.replacingOccurrences(of: "\"ada\"", with: "\"eve\""))
      }
    }
  }

  @Test("Presence as a map: who is there, who comes and goes, for those on the channel and nobody else")
  func presence() async throws {
    let online = "channel.namespaces.typing"
    let settings = [
      "\(online).map_presence=clients", "\(online).map_ttl=0s", "\(online).lane=publications",
      "\(online).publish_interval=0s", "\(online).map_key_is_user=false",
      "channel.namespaces.receipts.map_mode=ephemeral",
      "channel.namespaces.receipts.map_presence=users", "channel.namespaces.receipts.map_key_is_user=false",
    ]
    try await PhoneHall.with(settings) { hall in
      let ada = try await hall.phone(of: "ada")
      await #expect(throws: Phone.Fault.self, "who is not on the channel") {
        try await ada.subscribeMap("typing:chat:42", type: 2)
      }
      try await ada.subscribe("chat:42")
      let result = try await ada.subscribeMap("typing:chat:42", type: 2)
      #expect(result["type"].int == 2)
      #expect(result["state"].array.map { $0["info"]["user"].string } == ["ada"])
      #expect(result["state"].array.first?["key"].string == result["state"].array.first?["info"]["client"].string)
      try await ada.subscribeMap("receipts:chat:42", type: 3)
      #expect(ada.map("receipts:chat:42").keys.sorted() == ["ada"])
      let (bob, tablet) = (try await hall.phone(of: "bob"), try await hall.phone(of: "bob"))
      try await bob.subscribe("chat:42")
      try await tablet.subscribe("chat:42")
      #expect(await eventually { ada.map("typing:chat:42").count == 3 && ada.map("receipts:chat:42").count == 2 })
      try await bob.ask("\"unsubscribe\":{\"channel\":\"chat:42\"}")
      #expect(await eventually { ada.map("typing:chat:42").count == 2 })
      #expect(ada.map("receipts:chat:42").keys.sorted() == ["ada", "bob"], "by another device")
      try await tablet.ask("\"unsubscribe\":{\"channel\":\"chat:42\"}")
      #expect(await eventually { ada.map("receipts:chat:42").keys.sorted() == ["ada"] })
      #expect(ada.publications("receipts:chat:42").map { $0["removed"].bool } == [false, true])
      let fault = await #expect(throws: Phone.Fault.self) {
        try await ada.call("map.set", "{\"channel\":\"typing:chat:42\",\"key\":\"x\",\"data\":1}")
      }
      #expect(fault?.code == 103)
      try await ada.ask("\"unsubscribe\":{\"channel\":\"chat:42\"}")
      #expect(await eventually { ada.pushes.count { !$0["unsubscribe"].isNull } == 2 }, "both maps end with it")
    }
  }

  @Test("The server gives the key, and says how often to publish")
  func clientKey() async throws {
    let typing = "channel.namespaces.typing"
    let settings = ["\(typing).map_client_key=client_id", "\(typing).map_key_is_user=false", "\(typing).map_ttl=10m"]
    try await PhoneHall.with(settings) { hall in
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      try await ada.subscribe("chat:42")
      try await bob.subscribe("chat:42")
      #expect(try await bob.subscribeMap("typing:chat:42")["publish_debounce"].int == 2000)
      for (phone, key) in [(ada, "one"), (bob, "one")] {
        try await phone.ask(
          "\"publish\":{\"channel\":\"typing:chat:42\",\"type\":1,\"key\":\"\(key)\",\"data\":{}}")
      }
      #expect(await eventually { bob.map("typing:chat:42").count == 2 }, "each has a key of its own")
      for publication in bob.publications("typing:chat:42") {
        #expect(publication["key"].string == publication["info"]["client"].string)
      }
    }
  }

  @Test("Receipts go forward only, count what is unread, and are the same on all devices after a restart")
  func receipts() async throws {
    try await PhoneHall.with { hall in
      let ada = try await hall.phone(of: "ada")
      var bob = try await hall.phone(of: "bob")
      try await ada.subscribe("chat:42")
      for number in 1...5 { try await ada.ask("\"publish\":{\"channel\":\"chat:42\",\"data\":\(number)}") }
      try await bob.subscribe("chat:42")
      try await ada.subscribeMap("receipts:chat:42")
      try await bob.call("receipt.delivered", "{\"channel\":\"receipts:chat:42\",\"offset\":5}")
      try await bob.call("receipt.read", "{\"channel\":\"receipts:chat:42\",\"offset\":3}")
      try await bob.call("receipt.read", "{\"channel\":\"receipts:chat:42\",\"offset\":2}")
      #expect(await eventually { ada.map("receipts:chat:42")["bob"]?["read"].int == 3 })
      #expect(ada.map("receipts:chat:42")["bob"]?["delivered"].int == 5)
      try await hall.killAndRestart()
      bob = try await hall.phone(of: "bob")
      let unread = try await bob.call("receipt.unread", "{\"channels\":[\"receipts:chat:42\"]}")
      #expect(unread["receipts:chat:42"].int == 2)
    }
  }

  @Test("An author replaces and removes what they wrote: live, in the history, after a recovery and a restart")
  func edits() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let start = try await bob.subscribe("chat:42")
      try await ada.subscribe("chat:42")
      for text in ["one", "two", "three"] {
        try await ada.ask("\"publish\":{\"channel\":\"chat:42\",\"data\":\"\(text)\"}")
      }
      let edited = try await ada.call("publication.edit", "{\"channel\":\"chat:42\",\"offset\":2,\"data\":\"TWO\"}")
      #expect(edited["offset"].int == 4)
      try await ada.call("publication.delete", "{\"channel\":\"chat:42\",\"offset\":3}")
      #expect(await eventually { bob.publications("chat:42").count == 5 })
      let live = bob.publications("chat:42")
      #expect(live[3]["tags"]["edits"].string == "2" && live[3]["data"].string == "TWO")
      #expect(live[4]["tags"]["deletes"].string == "3")
      let fault = await #expect(throws: Phone.Fault.self) {
        try await bob.call("publication.edit", "{\"channel\":\"chat:42\",\"offset\":1,\"data\":\"mine\"}")
      }
      #expect(fault?.code == 103)
      for _ in 1...2 {
        let late = try await hall.phone(of: "cy")
        let position = ",\"recover\":true,\"offset\":0,\"epoch\":\"\(start["epoch"].string ?? "")\""
        let result = try await late.subscribe("chat:42", position)
        #expect(result["recovered"].bool)
        let seen = result["publications"].array
        #expect(seen.prefix(3).map { $0["data"].string } == ["one", "TWO", nil])
        #expect(seen[1]["tags"]["edited"].string != nil && seen[2]["tags"]["deleted"].string != nil)
        let history = try await late.ask("\"history\":{\"channel\":\"chat:42\",\"limit\":3}")["history"]
        #expect(history["publications"].array.map { $0["data"].string } == ["one", "TWO", nil])
        try await hall.killAndRestart()
      }
    }
  }
}
