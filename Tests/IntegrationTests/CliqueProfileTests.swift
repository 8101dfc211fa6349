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

  @Test("Through two gateways, a name is in sync for whoever may see it, and a block freezes it")
  func twoGateways() async throws {
    try await Deployment.with(.ipc) { deployment in
      func phone(_ user: String, at url: String) async throws -> Phone {
        let phone = try Phone(url)
        try await phone.connect(deployment.token(user))
        return phone
      }
      let ada = try await phone("ada", at: deployment.a)
      let tablet = try await phone("ada", at: deployment.b)
      let (bob, eve) = (try await phone("bob", at: deployment.b), try await phone("eve", at: deployment.a))
      try await set(ada, "Ada")
      try await set(bob, "Bob")
      try await tablet.subscribeMap("clique.profile:ada")
      try await bob.subscribeMap("clique.people:bob")
      try await eve.subscribeMap("clique.people:eve")
      #expect(tablet.map("clique.profile:ada")["profile"]?["name"].string == "Ada")
      await #expect(throws: Phone.Fault.self) {
        try await eve.subscribe("clique.people:bob", ",\"type\":1,\"phase\":2")
      }
      #expect(name(bob, "bob", "ada") == nil)
      try await ada.call("clique.send", #"{"to":"bob","text":"hello"}"#)
      #expect(await eventually { name(bob, "bob", "ada") == "Ada" })
      try await bob.call("clique.accept", #"{"person":"ada"}"#)
      try await tablet.subscribeMap("clique.people:ada")
      #expect(await eventually { name(tablet, "ada", "bob") == "Bob" })
      try await set(ada, "Ada L.")
      #expect(await eventually { name(bob, "bob", "ada") == "Ada L." })
      #expect(await eventually { tablet.map("clique.profile:ada")["profile"]?["name"].string == "Ada L." })
      // Behind the block nothing changes for bob, and ada sees him no more.
      try await ada.call("clique.block", #"{"person":"bob"}"#)
      #expect(await eventually { name(tablet, "ada", "bob") == nil })
      try await set(ada, "Somebody else")
      try await tablet.subscribeMap("clique.blocked:ada")
      #expect(tablet.map("clique.blocked:ada")["bob"]?["name"].string == "Bob")
      let found = try await bob.call("clique.people", #"{"text":"ADA"}"#)["people"].array
      #expect(found.map { $0["user"].string } == ["ada"])
      #expect(try await ada.call("clique.people", #"{"text":"bob"}"#)["people"].array.isEmpty)
      try await ada.call("clique.unblock", #"{"person":"bob"}"#)
      #expect(await eventually { name(tablet, "ada", "bob") == "Bob" })
      let asked = try await bob.call("clique.profiles", #"{"people":["ada","eve"]}"#)["people"].array
      #expect(asked.map { $0["name"].string } == ["Ada L."])
      try await set(ada, "Ada again")
      #expect(await eventually { name(bob, "bob", "ada") == "Ada again" })
      #expect(bob.publications("clique.people:bob").allSatisfy { $0["data"]["name"].string != "Somebody else" })
      #expect(eve.map("clique.people:eve").isEmpty)
    }
  }

  @Test("Profiles are there after kill -9, and are found by name")
  func killed() async throws {
    try await PhoneHall.with { hall in
      var (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      try await ada.call("clique.profile.set", #"{"name":"Ada Groß","fields":{"university":"TU"}}"#)
      try await set(bob, "Bob")
      for phone in [ada, bob] { try await phone.call("clique.enter", #"{"place":"park"}"#) }
      try await hall.killAndRestart()
      (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      try await bob.subscribeMap("clique.people:bob")
      #expect(await eventually { name(bob, "bob", "ada") == "Ada Groß" })
      #expect(bob.map("clique.people:bob")["ada"]?["fields"]["university"].string == "TU")
      let found = try await bob.call("clique.people", #"{"text":"gross"}"#)["people"].array
      #expect(found.map { $0["user"].string } == ["ada"])
      try await ada.call("clique.invisible", #"{"on":true}"#)
      #expect(await eventually { name(bob, "bob", "ada") == nil })
      await #expect(throws: Phone.Fault.self) {
        try await ada.call("clique.profile.set", #"{"fields":{"shoe":"42"}}"#)
      }
    }
  }
}
