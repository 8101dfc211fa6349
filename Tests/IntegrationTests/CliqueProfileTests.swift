import Foundation
import TestSupport
import Testing

/// Profiles over the public protocol, on real servers and disks.
@Suite("Profiles of Clique, end to end", .ownThread)
struct CliqueProfileTests {
  private func name(_ phone: Phone, _ reader: String, _ user: String) -> String? {
    phone.map("clique.people:\(reader)")[user]?["name"].string
  }

  private func set(_ phone: Phone, _ name: String) async throws {
    try await phone.call("clique.profile.set", #"{"name":"\#(name)"}"#)
  }

  @Test(
    "Through two gateways, a name is in sync for whoever may see it, and a block freezes it",
    arguments: HallPlace.here)
  func twoGateways(at place: HallPlace) async throws {
    try await place.withGateways { deployment in
      func phone(_ user: String, at url: String) async throws -> Phone {
        let phone = try Phone(url)
        try await phone.connect(deployment.token(user))
        return phone
      }
      let ada = try await phone("ada", at: deployment.a)
      let tablet = try await phone("ada", at: deployment.b)
      let (dan, eve) = (try await phone("dan", at: deployment.b), try await phone("eve", at: deployment.a))
      try await set(ada, "Ada")
      try await set(dan, "Dan")
      try await tablet.subscribeMap("clique.profile:ada")
      try await dan.subscribeMap("clique.people:dan")
      try await eve.subscribeMap("clique.people:eve")
      #expect(tablet.map("clique.profile:ada")["profile"]?["name"].string == "Ada")
      await #expect(throws: Phone.Fault.self) {
        try await eve.subscribe("clique.people:dan", ",\"type\":1,\"phase\":2")
      }
      #expect(name(dan, "dan", "ada") == nil)
      try await ada.call("clique.send", #"{"to":"dan","text":"hello"}"#)
      #expect(await eventually { name(dan, "dan", "ada") == "Ada" })
      try await dan.call("clique.accept", #"{"person":"ada"}"#)
      try await tablet.subscribeMap("clique.people:ada")
      #expect(await eventually { name(tablet, "ada", "dan") == "Dan" })
      try await set(ada, "Ada L.")
      #expect(await eventually { name(dan, "dan", "ada") == "Ada L." })
      #expect(await eventually { tablet.map("clique.profile:ada")["profile"]?["name"].string == "Ada L." })
      // Behind the block nothing changes for dan, and ada sees him no more.
      try await ada.call("clique.block", #"{"person":"dan"}"#)
      #expect(await eventually { name(tablet, "ada", "dan") == nil })
      try await set(ada, "Somebody else")
      try await tablet.subscribeMap("clique.blocked:ada")
      let isBlocked = await eventually(within: place.patience) {
        tablet.map("clique.blocked:ada")["dan"]?["name"].string == "Dan"
      }
      #expect(isBlocked)
      let found = try await dan.call("clique.people", #"{"text":"ADA"}"#)["people"].array
      #expect(found.map { $0["user"].string } == ["ada"])
      #expect(try await ada.call("clique.people", #"{"text":"dan"}"#)["people"].array.isEmpty)
      try await ada.call("clique.unblock", #"{"person":"dan"}"#)
      #expect(await eventually { name(tablet, "ada", "dan") == "Dan" })
      let asked = try await dan.call("clique.profiles", #"{"people":["ada","eve"]}"#)["people"].array
      #expect(asked.map { $0["name"].string } == ["Ada L."])
      try await set(ada, "Ada again")
      #expect(await eventually { name(dan, "dan", "ada") == "Ada again" })
      #expect(dan.publications("clique.people:dan").allSatisfy { $0["data"]["name"].string != "Somebody else" })
      #expect(eve.map("clique.people:eve").isEmpty)
    }
  }

  @Test("Profiles are there after kill -9, and are found by name", arguments: HallPlace.here)
  func killed(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await ada.call("clique.profile.set", #"{"name":"Ada Groß","fields":{"university":"TU"}}"#)
      try await set(dan, "Dan")
      for phone in [ada, dan] { try await phone.call("clique.enter", #"{"place":"park"}"#) }
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await dan.subscribeMap("clique.people:dan")
      #expect(await eventually { name(dan, "dan", "ada") == "Ada Groß" })
      #expect(dan.map("clique.people:dan")["ada"]?["fields"]["university"].string == "TU")
      let found = try await dan.call("clique.people", #"{"text":"gross"}"#)["people"].array
      #expect(found.map { $0["user"].string } == ["ada"])
      try await ada.call("clique.invisible", #"{"on":true}"#)
      #expect(await eventually { name(dan, "dan", "ada") == nil })
      await #expect(throws: Phone.Fault.self) {
        try await ada.call("clique.profile.set", #"{"fields":{"shoe":"42"}}"#)
      }
    }
  }
}
