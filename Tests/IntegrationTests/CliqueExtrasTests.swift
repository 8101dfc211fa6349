import Foundation
import TestSupport
import Testing

/// What stands around the messages of Clique, over the public protocol, on real servers and disks.
@Suite("Clique around the messages, end to end", .ownThread)
struct CliqueExtrasTests {
  private func befriend(_ one: Phone, _ user: String, _ other: Phone, _ friend: String) async throws -> String {
    try await one.call("clique.send", #"{"to":"\#(friend)","text":"hello"}"#)
    let accepted = try await other.call("clique.accept", #"{"person":"\#(user)"}"#)
    return try #require(accepted["conversation"].string)
  }

  @Test(
    "A draft stands on all of a person's devices, over kill -9, until it is sent from one of them",
    arguments: HallPlace.here)
  func drafts(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var ada = try await hall.phone(of: "ada")
      let dan = try await hall.phone(of: "dan")
      let id = try await befriend(ada, "ada", dan, "dan")
      try await ada.call("clique.draft", #"{"conversation":"\#(id)","text":"see y","reply":1}"#)
      try await hall.killAndRestart()
      ada = try await hall.phone(of: "ada")
      let tablet = try await hall.phone(of: "ada")
      for phone in [ada, tablet] { try await phone.subscribeMap("clique.drafts:ada") }
      let stands = await eventually(within: hall.patience) {
        tablet.map("clique.drafts:ada")[id]?["text"].string == "see y"
      }
      #expect(stands)
      #expect(tablet.map("clique.drafts:ada")[id]?["reply"].int == 1)
      await #expect(throws: Phone.Fault.self) {
        try await hall.phone(of: "dan").subscribe("clique.drafts:ada", ",\"type\":1,\"phase\":2")
      }
      try await tablet.call("clique.draft", #"{"conversation":"\#(id)","text":"see you there"}"#)
      #expect(await eventually { ada.map("clique.drafts:ada")[id]?["text"].string == "see you there" })
      try await ada.call("clique.send", #"{"conversation":"\#(id)","text":"see you there","key":"k"}"#)
      for phone in [ada, tablet] { #expect(await eventually { phone.map("clique.drafts:ada").isEmpty }) }
    }
  }

  @Test(
    "Reactions are read, changed and taken back by members alone, over kill -9, and go with the message",
    arguments: HallPlace.here)
  func reactions(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let id = try await befriend(ada, "ada", dan, "dan")
      let channel = "clique.reactions:\(id)"
      func react(_ phone: Phone, _ offset: Int, _ reaction: String) async throws {
        try await phone.call(
          "clique.react", #"{"conversation":"\#(id)","offset":\#(offset),"reaction":"\#(reaction)"}"#)
      }
      try await dan.call("clique.send", #"{"conversation":"\#(id)","text":"two"}"#)
      try await ada.subscribeMap(channel)
      try await react(dan, 1, "👍")
      #expect(await eventually { ada.map(channel)["1/dan"]?["reaction"].string == "👍" })
      #expect(ada.entry(channel, "1/dan")["tags"].keys.allSatisfy { $0 == "key" }, "nothing tells of a block")
      await #expect(throws: Phone.Fault.self) { try await react(dan, 9, "👍") }
      try await react(dan, 1, "❤️")
      try await react(ada, 2, "🎉")
      #expect(await eventually { ada.map(channel)["1/dan"]?["reaction"].string == "❤️" })
      #expect(await eventually { ada.map(channel)["2/ada"]?["reaction"].string == "🎉" })
      try await ada.call("clique.block", #"{"person":"dan"}"#)
      #expect(await eventually { ada.unsubscribed(channel) != nil })
      try await dan.subscribeMap(channel)
      try await react(dan, 1, "👎")
      try await react(dan, 2, "👎")
      #expect(await eventually { dan.map(channel)["2/dan"]?["reaction"].string == "👎" })
      await #expect(throws: Phone.Fault.self) { try await ada.subscribe(channel, ",\"type\":1,\"phase\":2") }
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await ada.call("clique.unblock", #"{"person":"dan"}"#)
      for phone in [ada, dan] { try await phone.subscribeMap(channel) }
      #expect(ada.map(channel).mapValues { $0["reaction"].string } == ["1/dan": "❤️", "2/ada": "🎉"])
      #expect(dan.map(channel).mapValues { $0["reaction"].string } == ["1/dan": "👎", "2/ada": "🎉", "2/dan": "👎"])
      #expect(ada.entry(channel, "1/dan")["tags"].keys.allSatisfy { $0 == "key" }, "nothing tells of a block")
      try await react(ada, 2, "")
      #expect(await eventually { dan.map(channel)["2/ada"] == nil })
      try await ada.ask(
        "\"rpc\":{\"method\":\"publication.delete\",\"data\":{\"channel\":\"clique.chat:\(id)\",\"offset\":1}}")
      for phone in [ada, dan] { #expect(await eventually { phone.map(channel)["1/dan"] == nil }) }
      await #expect(throws: Phone.Fault.self) {
        try await hall.phone(of: "eve").subscribe(channel, ",\"type\":1,\"phase\":2")
      }
    }
  }

  @Test(
    "The totals follow messages, what is read, mutings and requests, and begin with what was there",
    arguments: HallPlace.here)
  func totals(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let eve = try await hall.phone(of: "eve")
      let id = try await befriend(ada, "ada", dan, "dan")
      try await ada.call("clique.send", #"{"to":"dan","text":"one"}"#)
      let last = try await ada.call("clique.send", #"{"to":"dan","text":"two"}"#)["offset"].int
      try await eve.call("clique.send", #"{"to":"dan","text":"a request"}"#)
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await dan.subscribeMap("clique.totals:dan")
      func total() -> [Int?] {
        let all = dan.map("clique.totals:dan")["all"]
        return ["conversations", "messages", "requests"].map { all?[$0].int }
      }
      #expect(await eventually { total() == [1, 2, 1] })
      let answer = try await dan.call("clique.totals")
      #expect(answer["messages"].int == 2)
      try await dan.call("clique.decline", #"{"person":"eve"}"#)
      #expect(await eventually { total() == [1, 2, 0] })
      try await dan.call("clique.keep", #"{"conversation":"\#(id)","muted":true}"#)
      #expect(await eventually { total() == [0, 0, 0] })
      try await dan.call("clique.keep", #"{"conversation":"\#(id)","muted":false}"#)
      #expect(await eventually { total() == [1, 2, 0] })
      try await ada.call("clique.send", #"{"to":"dan","text":"three"}"#)
      #expect(await eventually { total() == [1, 3, 0] })
      try await dan.call("clique.read", #"{"conversation":"\#(id)","offset":\#(try #require(last) + 1)}"#)
      #expect(await eventually { total() == [0, 0, 0] })
      await #expect(throws: Phone.Fault.self) {
        try await ada.subscribe("clique.totals:dan", ",\"type\":1,\"phase\":2")
      }
    }
  }
}
