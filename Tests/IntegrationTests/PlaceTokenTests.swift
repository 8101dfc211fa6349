import Auth
import Foundation
import TestSupport
import Testing

/// Places that a backend attests, over the public protocol and through a whole server.
@Suite("Place tokens end to end", .ownThread)
struct PlaceTokenTests {
  private func data(_ place: String, _ token: String? = nil) -> String {
    guard let token else { return "{\"place\":\(JSON.quoted(place))}" }
    return "{\"place\":\(JSON.quoted(place)),\"token\":\(JSON.quoted(token))}"
  }

  /// What an enter is answered with: `true` or the code of the error.
  private func enter(_ phone: Phone, _ data: String) async throws -> String {
    do {
      return "\(try await phone.call("clique.enter", data)["visible"].bool)"
    } catch let fault as Phone.Fault {
      return "\(fault.code)"
    }
  }

  private func crossed(_ phone: Phone) async throws -> [String] {
    try await phone.call("clique.crossings")["people"].array.compactMap { $0["user"].string }.sorted()
  }

  @Test(
    "Where places are attested, only a token of one's own for this place enters it, and two such people cross",
    arguments: HallPlace.here)
  func required(at place: HallPlace) async throws {
    try await PhoneHall.with(["clique.require_place_token=true"], at: place) { hall in
      let minter = try TokenMinter(hmacSecret: Deployment.secret)
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let own = minter.placeToken(user: "ada", place: "café", expiresIn: 300)
      let expired = try TokenMinter(
        hmacSecret: Deployment.secret, now: { Int64(Date().timeIntervalSince1970) - 600 }
      ).placeToken(user: "ada", place: "café", expiresIn: 300)
      let forged = try TokenMinter(hmacSecret: String(Deployment.secret.reversed()))
        .placeToken(user: "ada", place: "café", expiresIn: 300)
      let refused: [(String, String)] = [
        (data("café"), "103"), (data("park", own), "103"), (data("café", forged), "103"),
        (data("café", expired), "109"), (data("café", "x"), "103"), (data("café", try hall.token("ada")), "103"),
        (data("café", try minter.subscriptionToken(user: "ada", channel: "café", expiresIn: 300)), "103"),
        (data("café", minter.placeToken(user: "ada", place: "café", expiresIn: 7200)), "103"),
        (data("café", minter.placeToken(user: "bob", place: "café", expiresIn: 300)), "103"),
        (data("café", String(repeating: "x", count: 4097)), "107"),
      ]
      for (data, code) in refused { #expect(try await enter(ada, data) == code, "\(data.prefix(80))") }
      #expect(try await enter(ada, data("café", own)) == "true")
      // A place token is good any number of times until it expires.
      #expect(try await enter(ada, data("café", own)) == "true")
      #expect(try await enter(ada, data("café")) == "103")
      #expect(try await crossed(bob).isEmpty)
      #expect(
        try await enter(bob, data("café", minter.placeToken(user: "bob", place: "café", expiresIn: 300))) == "true")
      #expect(try await crossed(bob) == ["ada"])
      #expect(try await crossed(ada) == ["bob"])
      // A place token signs nobody in.
      let other = try Phone(hall.url)
      await #expect(throws: (any Error).self) { try await other.connect(own) }
      #expect(await eventually { other.closing?.code == 3500 })
    }
  }

  @Test(
    "A service attests by itself, and a token that is revoked enters nothing from then on", arguments: HallPlace.here)
  func services(at place: HallPlace) async throws {
    try await PhoneHall.with(["clique.require_place_token=true"], at: place) { hall in
      let service = hall.service()
      let entered = await service.ask(
        "call", #"{"method":"clique.enter","user":"eve"}"#, payload: #"{"place":"café"}"#)
      #expect(entered?.isError == false, "\(String(describing: entered))")
      let minter = try TokenMinter(hmacSecret: Deployment.secret, newID: { "one" })
      let token = minter.placeToken(user: "ada", place: "café", expiresIn: 300)
      let ada = try await hall.phone(of: "ada")
      #expect(try await enter(ada, data("café", token)) == "true")
      #expect(try await crossed(ada) == ["eve"])
      #expect(await service.ask("revoke_token", #"{"uid":"one"}"#)?.isError == false)
      // A gateway of its own hears of it a moment after the service is answered.
      let isRefused = try await eventually(within: hall.patience) {
        try await enter(ada, data("café", token)) == "103"
      }
      #expect(isRefused)
      #expect(ada.closing == nil)
    }
  }

  @Test(
    "Commands behind a token that is checked keep their order: whoever enters and leaves at once has left",
    arguments: HallPlace.here)
  func order(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      let minter = try TokenMinter(hmacSecret: Deployment.secret)
      let (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let token = minter.placeToken(user: "ada", place: "café", expiresIn: 300)
      for _ in 0..<20 {
        try await ada.pipeline([
          "\"rpc\":{\"method\":\"clique.enter\",\"data\":\(data("café", token))}",
          "\"rpc\":{\"method\":\"clique.leave\",\"data\":\(data("café"))}",
        ])
      }
      #expect(try await enter(bob, data("café")) == "true")
      let people = try await bob.call("clique.crossings")["people"].array
      #expect(people.allSatisfy { !$0["together"].bool })
      // Where no place token is required, a wrong one is refused all the same.
      #expect(try await enter(ada, data("café")) == "true")
      #expect(try await enter(ada, data("park", token)) == "103")
    }
  }

  @Test(
    "fanfare token --place mints one that the server takes, and nothing that it would refuse", arguments: HallPlace.here
  )
  func commandLine(at place: HallPlace) async throws {
    try await PhoneHall.with(["clique.require_place_token=true"], at: place) { hall in
      let secret = "token.hmac_secret=\(Deployment.secret)"
      let folder = hall.data
      let minted = try await Tool.run(["token", "ada", "--place", "the café", "--set", secret], in: folder)
      #expect(minted.status == 0, "\(minted.tool.errors)")
      let ada = try await hall.phone(of: "ada")
      #expect(try await enter(ada, data("the café", minted.tool.lines.first ?? "")) == "true")
      for wrong in [
        ["--expires", "16m"], ["--expires", "never"], ["--channel", "news"], ["--server-side", "news"],
        ["--info", "{}"],
      ] {
        let refused = try await Tool.run(["token", "ada", "--place", "park", "--set", secret] + wrong, in: folder)
        #expect(refused.status != 0 && !refused.tool.errors.isEmpty && refused.tool.lines.isEmpty, "\(wrong)")
      }
    }
  }
}
