import Foundation
import TestSupport
import Testing

/// What stands around the messages of Clique, over the public protocol, on a real server and disk.
@Suite("Clique around the messages, end to end", .ownThread)
struct CliqueExtrasTests {
  private func befriend(_ one: Phone, _ user: String, _ other: Phone, _ friend: String) async throws -> String {
    try await one.call("clique.send", #"{"to":"\#(friend)","text":"hello"}"#)
    let accepted = try await other.call("clique.accept", #"{"person":"\#(user)"}"#)
    return try #require(accepted["conversation"].string)
  }

  @Test("A draft stands on all of a person's devices, over kill -9, until it is sent from one of them")
  func drafts() async throws {
    try await PhoneHall.with { hall in
      var ada = try await hall.phone(of: "ada")
      let bob = try await hall.phone(of: "bob")
      let id = try await befriend(ada, "ada", bob, "bob")
      try await ada.call("clique.draft", #"{"conversation":"\#(id)","text":"see y","reply":1}"#)
      try await hall.killAndRestart()
      ada = try await hall.phone(of: "ada")
      let tablet = try await hall.phone(of: "ada")
      for phone in [ada, tablet] { try await phone.subscribeMap("clique.drafts:ada") }
      #expect(tablet.map("clique.drafts:ada")[id]?["text"].string == "see y")
      #expect(tablet.map("clique.drafts:ada")[id]?["reply"].int == 1)
      await #expect(throws: Phone.Fault.self) {
        try await hall.phone(of: "bob").subscribe("clique.drafts:ada", ",\"type\":1,\"phase\":2")
      }
      try await tablet.call("clique.draft", #"{"conversation":"\#(id)","text":"see you there"}"#)
      #expect(await eventually { ada.map("clique.drafts:ada")[id]?["text"].string == "see you there" })
      try await ada.call("clique.send", #"{"conversation":"\#(id)","text":"see you there","key":"k"}"#)
      for phone in [ada, tablet] { #expect(await eventually { phone.map("clique.drafts:ada").isEmpty }) }
    }
  }
}
