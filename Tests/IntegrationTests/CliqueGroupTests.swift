import Foundation
import TestSupport
import Testing

/// Groups over the public protocol, on real servers and disks.
@Suite("Clique groups end to end", .ownThread)
struct CliqueGroupTests {
  private func befriend(_ one: Phone, _ user: String, _ other: Phone, _ friend: String) async throws {
    try await one.call("clique.send", #"{"to":"\#(friend)","text":"hello"}"#)
    try await other.call("clique.accept", #"{"person":"\#(user)"}"#)
  }

  private func texts(_ phone: Phone, _ chat: String) async throws -> [String?] {
    let reply = try await phone.ask("\"history\":{\"channel\":\"\(chat)\",\"limit\":100}")
    return reply["history"]["publications"].array.map { $0["data"]["text"].string ?? $0["data"]["event"].string }
  }

  private func names(_ phone: Phone, _ user: String, _ id: String, _ field: String) -> [String?] {
    phone.map("clique.list:\(user)")[id]?[field].array.map(\.string) ?? []
  }

  @Test(
    "founded once for its key, joined by a link, changed by administrators on all devices; over kill -9",
    arguments: HallPlace.here)
  func life(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      var eve = try await hall.phone(of: "eve")
      try await befriend(ada, "ada", dan, "dan")
      let creation = #"{"members":["dan"],"name":"Sunday","key":"k1"}"#
      let founded = try await ada.call("clique.group.create", creation, within: hall.patience)
      let id = try #require(founded["conversation"].string)
      #expect(try await ada.call("clique.group.create", creation)["conversation"].string == id, "a retry")
      let (chat, own) = ("clique.chat:\(id)", #"{"conversation":"\#(id)"}"#)
      try await dan.call("clique.send", #"{"conversation":"\#(id)","text":"before eve"}"#)
      let made = try await ada.call("clique.group.link", #"{"conversation":"\#(id)","uses":1}"#)
      let link = try #require(made["link"].string)
      await #expect(throws: Phone.Fault.self) { try await dan.call("clique.group.link", own) }
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      eve = try await hall.phone(of: "eve")
      let tablet = try await hall.phone(of: "dan")
      try await eve.subscribeMap("clique.list:eve")
      for phone in [dan, tablet] {
        try await phone.subscribeMap("clique.list:dan")
        try await phone.subscribe(chat)
      }
      await #expect(throws: Phone.Fault.self) { try await eve.subscribe(chat) }
      #expect(try await eve.call("clique.group.join", #"{"link":"\#(link)"}"#)["conversation"].string == id)
      #expect(await eventually { names(eve, "eve", id, "members") == ["ada", "dan", "eve"] })
      #expect(await eventually { names(tablet, "dan", id, "members") == ["ada", "dan", "eve"] })
      let zoe = try await hall.phone(of: "zoe")
      await #expect(throws: Phone.Fault.self, "used up") {
        try await zoe.call("clique.group.join", #"{"link":"\#(link)"}"#)
      }
      try await eve.subscribe(chat)
      try await ada.call("clique.send", #"{"conversation":"\#(id)","text":"after eve"}"#)
      #expect(await eventually { eve.publications(chat).last?["data"]["text"].string == "after eve" })
      #expect(eve.publications(chat).last?["tags"].isNull == true, "nothing tells of terms")
      #expect(try await texts(eve, chat) == ["joined", "after eve"])
      #expect(try await texts(dan, chat) == ["before eve", "joined", "after eve"])
      let search = #"{"text":"eve"}"#
      #expect(try await eve.call("clique.search", search)["messages"].array.count == 1)
      #expect(try await dan.call("clique.search", search)["messages"].array.count == 2)
      try await dan.call("clique.keep", #"{"conversation":"\#(id)","pinned":true,"muted":true}"#)
      #expect(await eventually { tablet.map("clique.list:dan")[id]?["pinned"].int != nil })
      #expect(tablet.map("clique.list:dan")[id]?["muted"].bool == true)
      #expect(eve.map("clique.list:eve")[id]?["pinned"].isNull == true)
      try await remove(ada, [dan, tablet], eve, id)
    }
  }

  private func remove(_ ada: Phone, _ dans: [Phone], _ eve: Phone, _ id: String) async throws {
    let (chat, list) = ("clique.chat:\(id)", "clique.list:dan")
    try await ada.call("clique.group.rename", #"{"conversation":"\#(id)","name":"Monday"}"#)
    for dan in dans { #expect(await eventually { dan.map(list)[id]?["name"].string == "Monday" }) }
    try await ada.call("clique.group.remove", #"{"conversation":"\#(id)","person":"dan"}"#)
    for dan in dans {
      #expect(await eventually { dan.map(list)[id] == nil && dan.unsubscribed(chat) != nil })
      await #expect(throws: Phone.Fault.self) { try await dan.subscribe(chat) }
    }
    let heard = dans.map { $0.publications(chat).count }
    try await ada.call("clique.send", #"{"conversation":"\#(id)","text":"without dan"}"#)
    #expect(await eventually { eve.publications(chat).last?["data"]["text"].string == "without dan" })
    #expect(dans.map { $0.publications(chat).count } == heard)
    try await ada.call("clique.group.leave", #"{"conversation":"\#(id)"}"#)
    #expect(await eventually { names(eve, "eve", id, "admins") == ["eve"] })
    #expect(try await eve.call("clique.group.links", #"{"conversation":"\#(id)"}"#)["links"].array.isEmpty)
  }
}
