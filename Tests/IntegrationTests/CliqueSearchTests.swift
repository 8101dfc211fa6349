import Foundation
import TestSupport
import Testing

/// `clique.search` as a phone sees it.
@Suite("Clique search end to end", .ownThread)
struct CliqueSearchTests {
  private func search(_ phone: Phone, _ data: String) async throws -> [String?] {
    try await phone.call("clique.search", data)["messages"].array.map { $0["data"]["text"].string }
  }

  @Test(
    "one's own conversations are searched by words and by person, as they stand now, over kill -9",
    arguments: HallPlace.here)
  func conversations(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let eve = try await hall.phone(of: "eve")
      let sent = try await ada.call("clique.send", #"{"to":"dan","text":"shall we meet in the park?"}"#)
      let id = try #require(sent["conversation"].string)
      #expect(try await search(ada, #"{"text":"park"}"#).isEmpty, "a request is no conversation yet")
      try await dan.call("clique.accept", #"{"person":"ada"}"#)
      let reply = try await dan.call(
        "clique.send", #"{"conversation":"\#(id)","text":"the Café by the park, \"tomorrow\""}"#)
      let offset = try #require(reply["offset"].int)
      for phone in [ada, dan] {
        #expect(
          try await search(phone, #"{"text":"PARK"}"#) == [
            "the Café by the park, \"tomorrow\"", "shall we meet in the park?",
          ])
        #expect(try await search(phone, #"{"text":"park cafe","person":"dan"}"#).count == 1)
        #expect(try await search(phone, #"{"text":"cafe","person":"ada"}"#).isEmpty)
        #expect(try await search(phone, #"{"text":"\" OR park*","conversation":"\#(id)"}"#).isEmpty)
      }
      let found = try await ada.call("clique.search", #"{"text":"tomorr","conversation":"\#(id)"}"#)["messages"][0]
      #expect(found["channel"].string == "clique.chat:\(id)" && found["offset"].int == offset)
      #expect(found["user"].string == "dan" && found["time"].int != nil && found["tags"].isNull)
      #expect(try await search(eve, #"{"text":"park"}"#).isEmpty)
      await #expect(throws: Phone.Fault.self) {
        try await eve.call("clique.search", #"{"text":"park","conversation":"\#(id)"}"#)
      }
      let change = #"{"channel":"clique.chat:\#(id)","offset":\#(offset),"data":{"text":"rather the lake"}}"#
      try await dan.call("publication.edit", change)
      #expect(try await search(ada, #"{"text":"cafe"}"#).isEmpty)
      #expect(try await search(ada, #"{"text":"lake"}"#) == ["rather the lake"])
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      #expect(try await search(ada, #"{"text":"lake"}"#) == ["rather the lake"])
      try await dan.call("publication.delete", #"{"channel":"clique.chat:\#(id)","offset":\#(offset)}"#)
      #expect(try await search(ada, #"{"text":"lake"}"#).isEmpty)
      try await ada.call("clique.block", #"{"person":"dan"}"#)
      #expect(try await search(ada, #"{"text":"park"}"#).isEmpty, "whom one has blocked is not found")
    }
  }
}
