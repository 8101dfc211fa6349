import Foundation
import TestSupport
import Testing

/// What moderators see and do, on real servers with their disks.
@Suite("Moderation end to end", .ownThread)
struct SafetyTests {
  private static let key = "a-key-that-only-this-test-has"

  private func call(_ method: String, _ body: String, _ hall: PhoneHall) throws -> JSON {
    try hall.server.call(method, body, key: Self.key)
  }

  private func tool(_ arguments: [String], _ hall: PhoneHall) async throws -> String {
    let made = try await Tool.run(
      arguments + ["--endpoint", hall.server.endpoints.commands ?? ""], in: hall.data.deletingLastPathComponent())
    try #require(made.status == 0, "\(made.tool.errors)")
    return made.tool.output
  }

  @Test("a backend makes people known and sets their profiles, in their names, over HTTP", arguments: HallPlace.here)
  func callsInUsersNames(at place: HallPlace) async throws {
    let settings = ["admin.api.key=\(Self.key)", "clique.known_users_only=true"]
    try await PhoneHall.with(settings, at: place) { hall in
      let ada = try await hall.phone(of: "ada")
      await #expect(throws: Phone.Fault.self) { try await ada.call("clique.send", #"{"to":"dan","text":"hello"}"#) }
      let set = #"{"user":"dan","method":"clique.profile.set","data":{"name":"Dan"},"idempotency_key":"k"}"#
      let made = try call("call", set, hall)
      #expect(made["name"].string == "Dan")
      #expect(try call("call", set, hall)["changed"].int == made["changed"].int)
      try await ada.call("clique.send", #"{"to":"dan","text":"hello"}"#, within: hall.patience)
      let isAsked = try await eventually(within: hall.patience) {
        try call("call", #"{"user":"dan","method":"clique.totals"}"#, hall)["requests"].int == 1
      }
      #expect(isAsked)
      let dan = try await hall.phone(of: "dan")
      try await dan.subscribeMap("clique.profile:dan")
      #expect(dan.map("clique.profile:dan")["profile"]?["name"].string == "Dan")
      for wrong in [
        "{}", #"{"user":"dan"}"#, #"{"method":"clique.totals"}"#, #"{"user":"","method":"clique.totals"}"#,
        #"{"user":"dan","method":"clique.nothing"}"#, #"{"user":"dan","method":"clique.send","data":[1]}"#,
        #"{"user":"dan","method":"clique.picture_key"}"#, #"{"user":"dan\u0000","method":"clique.totals"}"#,
      ] {
        #expect(throws: Failure.self, "\(wrong)") { try call("call", wrong, hall) }
      }
    }
  }

  @Test(
    "a message that is reported is kept as it was, over kill -9; moderators settle it, and each look is audited",
    arguments: HallPlace.here)
  func reports(at place: HallPlace) async throws {
    try await PhoneHall.with(["admin.api.key=\(Self.key)"], at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await dan.call("clique.send", #"{"to":"ada","text":"let me in"}"#)
      try await ada.call("clique.accept", #"{"person":"dan"}"#)
      let sent = try await dan.call("clique.send", #"{"to":"ada","text":"I know where you live"}"#)
      let (id, offset) = (try #require(sent["conversation"].string), try #require(sent["offset"].int))
      try await ada.subscribe("clique.chat:\(id)")
      let report = #"{"person":"dan","offset":\#(offset),"reason":"threat","text":"again"}"#
      let answer = try await ada.call("clique.report", report)
      try await dan.subscribe("clique.chat:\(id)")
      try await dan.call("publication.delete", #"{"channel":"clique.chat:\#(id)","offset":\#(offset)}"#)
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      #expect(try await ada.call("clique.report", report)["report"].string == answer["report"].string)
      let listed = try call("clique_reports", "{}", hall)
      #expect(listed["open"].int == 1 && listed["reports"].array.map { $0["user"].string } == ["dan"])
      let number = try #require(listed["reports"].array.first?["report"].int)
      let shown = try JSON(try await tool(["report", "show", "\(number)"], hall))
      #expect(shown["messages"].array.map { $0["text"].string } == ["let me in", "I know where you live"])
      #expect(shown["by"].string == "ada" && shown["text"].string == "again")
      try await ada.subscribeMap("clique.reports:ada")
      await #expect(throws: Phone.Fault.self) { try await dan.subscribeMap("clique.reports:ada") }
      _ = try await tool(["report", "settle", "\(number)", "--outcome", "warned", "--note", "first time"], hall)
      #expect(
        await eventually {
          ada.map("clique.reports:ada")[answer["report"].string ?? ""]?["state"].string == "settled"
        })
      #expect(try await tool(["report", "list", "--state", "settled"], hall).contains(#""note":"first time""#))
      for action in ["list", "look", "settle"] {
        #expect(
          await eventually {
            hall.server.errorOutput.split(separator: "\n")
              .contains { $0.contains("audit=report") && $0.contains("action=\(action)") }
          })
      }
      #expect(throws: Failure.self) { try call("clique_report", #"{"report":99}"#, hall) }
      let data = try call("user_data", #"{"user":"dan"}"#, hall)
      #expect(data["kept"].array.contains { $0["kind"].string == "clique.report" })
      _ = try call("user_delete", #"{"user":"dan"}"#, hall)
      #expect(
        try await eventually(within: DeletionDesk.patience) {
          try call("user_delete_status", #"{"user":"dan"}"#, hall)["state"].string == "done"
        })
      #expect(try call("clique_reports", #"{"state":"all"}"#, hall)["reports"].array.isEmpty)
    }
  }

  @Test(
    "a picture that was reported is kept for moderators over kill -9, and its owner sees it gone",
    arguments: HallPlace.here)
  func reportedPicture(at place: HallPlace) async throws {
    try await PhoneHall.with(["admin.api.key=\(Self.key)"], at: place) { hall in
      let (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await dan.call("clique.send", #"{"to":"ada","text":"hello"}"#)
      try await ada.call("clique.accept", #"{"person":"dan"}"#)
      let folder = hall.data.appendingPathComponent("pictures").path
      func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder) }
      func http(_ user: String) throws -> PictureClient {
        PictureClient(port: URL(string: hall.url)?.port ?? 0, token: try hall.token(user), app: "clique")
      }
      // More than one part of the API's answers.
      let sample = PictureSample.jpeg(pixels: 1_300_000)
      let picture = PictureClient.Picture(sample.dirty)
      #expect(try http("dan").put(picture) == 201)
      let sent = try await dan.call("clique.send", #"{"to":"ada","picture":{"id":"\#(picture.id)","hash":"LEHV6n"}}"#)
      let (id, offset) = (try #require(sent["conversation"].string), try #require(sent["offset"].int))
      try await ada.call("clique.report", #"{"person":"dan","offset":\#(offset),"reason":"nudity"}"#)
      try await dan.subscribe("clique.chat:\(id)")
      try await dan.call("publication.delete", #"{"channel":"clique.chat:\#(id)","offset":\#(offset)}"#)
      #expect(await eventually { (try? files().map { $0.hasSuffix(".kept") }) == [true] })
      try await hall.killAndRestart()
      for user in ["ada", "dan"] { #expect(try http(user).get(picture).status == 404) }
      #expect(try http("dan").offset(of: picture) == 0, "nothing stands under the id")
      let out = hall.data.deletingLastPathComponent().path
      let shown = try await tool(["report", "show", "1", "--pictures", out], hall)
      #expect(shown.contains(#""pictures":[{"id":"\#(picture.id)","type":"image/jpeg","bytes":\#(sample.clean.count)"#))
      let isSame = FileManager.default.contents(atPath: "\(out)/\(picture.id).jpeg").map(Array.init) == sample.clean
      #expect(isSame)
      for wrong in [
        #"{"report":1}"#, #"{"report":1,"picture":"no such picture"}"#, #"{"report":2,"picture":"\#(picture.id)"}"#,
        #"{"report":1,"picture":"\#(picture.id)","cursor":"7"}"#,
        #"{"report":1,"picture":"\#(picture.id)","cursor":"1048576000"}"#,
      ] {
        #expect(throws: Failure.self, "\(wrong)") { try call("clique_report_picture", wrong, hall) }
      }
      #expect(
        await eventually {
          hall.server.errorOutput.split(separator: "\n").contains {
            $0.contains("audit=report") && $0.contains("action=picture") && $0.contains(picture.id)
          }
        })
      _ = try call("user_delete", #"{"user":"dan"}"#, hall)
      #expect(await eventually { (try? files()) == [] })
    }
  }

  @Test(
    "who is suspended is sent away and let in no more, over kill -9, until it is lifted; others see them away",
    arguments: HallPlace.here)
  func suspension(at place: HallPlace) async throws {
    try await PhoneHall.with(["admin.api.key=\(Self.key)"], at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      try await ada.call("clique.send", #"{"to":"dan","text":"hi"}"#)
      let id = try #require(try await dan.call("clique.accept", #"{"person":"ada"}"#)["conversation"].string)
      _ = try call("user_suspend", #"{"user":"ada","reason":"threats"}"#, hall)
      #expect(await eventually { ada.closing != nil })
      await #expect(throws: (any Error).self) { try await hall.phone(of: "ada") }
      try await hall.killAndRestart()
      // Whoever is let in before the gateway has its link is sent away when it has, and is told nothing before.
      let early = try? await hall.phone(of: "ada")
      #expect(await eventually { early?.closing != nil || early == nil })
      dan = try await hall.phone(of: "dan")
      let sent = try await dan.call("clique.send", #"{"to":"ada","text":"are you there?"}"#)
      #expect(sent["conversation"].string == id && sent["offset"].int == 2)
      #expect(try call("user_suspensions", "{}", hall)["suspensions"].array.map { $0["user"].string } == ["ada"])
      let shown = try await tool(["explain", "--user", "ada", "--publish", "news", "--json"], hall)
      #expect(shown.contains(#""suspended":{"user":"ada","reason":"threats"}"#), "\(shown)")
      let why = try await tool(["why", "--user", "ada", "clique.chat:\(id)", "2"], hall)
      #expect(why.contains("The user is suspended now"), "\(why)")
      #expect(
        await eventually {
          hall.server.errorOutput.split(separator: "\n").contains { $0.contains("audit=suspension") }
        })
      _ = try await tool(["user", "unsuspend", "ada"], hall)
      #expect(await eventually { (try? await hall.phone(of: "ada")) != nil })
      ada = try await hall.phone(of: "ada")
      #expect(try await ada.call("clique.send", #"{"to":"dan","text":"back"}"#)["offset"].int == 3)
      let out = try await tool(["user", "suspend", "ada", "--hours", "1"], hall)
      #expect(out.contains("for 1 hours"))
      #expect(await eventually { ada.closing != nil })
    }
  }

  /// Calls a method of the server API.
  private func call(_ method: String, _ body: String, at deployment: Deployment) throws -> JSON {
    try JSON(deployment.broker.ask(method, body, key: Self.key).text)
  }

  @Test("a suspension sends away and keeps out at every gateway, also at one that comes later, and so does lifting it")
  func twoGateways() async throws {
    try await Deployment.with(.ipc, settings: ["admin.api.key=\(Self.key)"]) { deployment in
      let here = try await deployment.client("ada", at: deployment.a)
      let there = try await deployment.client("ada", at: deployment.b)
      let dan = try await deployment.client("dan", at: deployment.b)
      #expect(try call("user_suspend", #"{"user":"ada"}"#, at: deployment)["error"].isNull)
      for peer in [here, there] { #expect(await eventually { peer.socket.closing != nil }) }
      for place in [deployment.a, deployment.b] {
        await #expect(throws: (any Error).self) { try await deployment.client("ada", at: place) }
      }
      #expect(dan.socket.closing == nil)
      let endpoint = "backbone.endpoint=\(deployment.broker.endpoints.backbone ?? "")"
      try await deployment.startGateway("c", settings: [endpoint])
      // Whoever is let in before the gateway has its link is sent away when it has.
      let early = try? await deployment.client("ada", at: deployment.gateway("c").endpoints.websocket ?? "")
      #expect(await eventually { early?.socket.closing != nil || early == nil })
      #expect(try call("user_unsuspend", #"{"user":"ada"}"#, at: deployment)["error"].isNull)
      for place in [deployment.a, deployment.b] {
        #expect(await eventually { (try? await deployment.client("ada", at: place)) != nil })
      }
    }
  }
}
