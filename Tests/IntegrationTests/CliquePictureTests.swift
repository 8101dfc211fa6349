import Foundation
import TestSupport
import Testing

/// Pictures of Clique over the public protocol and HTTP, on real servers and disks.
@Suite("Pictures of Clique, end to end", .ownThread)
struct CliquePictureTests {
  private func http(_ user: String, _ hall: PhoneHall) throws -> PictureClient {
    PictureClient(port: URL(string: hall.url)?.port ?? 0, token: try hall.token(user), app: "clique")
  }

  private func befriend(_ one: Phone, _ user: String, _ other: Phone, _ friend: String) async throws -> String {
    try await one.call("clique.send", #"{"to":"\#(friend)","text":"hello"}"#)
    let accepted = try await other.call("clique.accept", #"{"person":"\#(user)"}"#)
    return try #require(accepted["conversation"].string)
  }

  private func send(_ phone: Phone, _ id: String, _ picture: PictureClient.Picture) async throws -> JSON {
    try await phone.call(
      "clique.send",
      #"{"conversation":"\#(id)","key":"k-\#(picture.id)","picture":{"id":"\#(picture.id)","hash":"LEHV6n"}}"#)
  }

  private func files(_ hall: PhoneHall) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: hall.data.appendingPathComponent("pictures").path).sorted()
  }

  @Test(
    "A picture is uploaded in parts, sent, fetched by the other without its place, and goes with the message",
    arguments: HallPlace.here)
  func life(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      var (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let eve = try await hall.phone(of: "eve")
      _ = try await befriend(eve, "eve", ada, "ada")
      let id = try await befriend(ada, "ada", dan, "dan")
      let sample = PictureSample.jpeg(pixels: 300_000)
      let picture = PictureClient.Picture(sample.dirty)
      #expect(try http("ada", hall).put(picture, 0..<150_000) == 202)
      // An upload is answered before its key is on the broker's disk. What is written there later is not there sooner;
      // and there is where profiles are, wherever the conversation is.
      try await ada.call("clique.profile.set", #"{"name":"Ada"}"#)
      try await hall.killAndRestart()
      (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      #expect(try http("ada", hall).offset(of: picture) == 131_072)
      #expect(try http("ada", hall).put(picture, 131_072..<sample.dirty.count) == 201)
      try await dan.subscribe("clique.chat:\(id)")
      try await dan.subscribeMap("clique.list:dan")
      let sent = try await send(ada, id, picture)
      #expect(try await send(ada, id, picture)["offset"].int == sent["offset"].int, "a retry")
      #expect(
        await eventually { dan.publications("clique.chat:\(id)").last?["data"]["picture"]["id"].string == picture.id })
      let shown = try #require(dan.publications("clique.chat:\(id)").last)["data"]["picture"]
      #expect(shown["width"].int == sample.width && shown["bytes"].int == sample.clean.count)
      #expect(shown["type"].string == "image/jpeg" && shown["hash"].string == "LEHV6n")
      #expect(await eventually { dan.map("clique.list:dan")[id]?["picture"].bool == true })
      try await hall.killAndRestart()
      for user in ["ada", "dan"] {
        let answer = try http(user, hall).get(picture)
        let isSame = answer.body == sample.clean
        #expect(answer.status == 200 && isSame)
      }
      #expect(try http("eve", hall).get(picture).status == 404)
      #expect(try http("ada", hall).discard(picture) == 409, "it was sent")
      #expect(try hall.holders(of: [String(decoding: PictureSample.secret, as: UTF8.self)]) == [:])

      ada = try await hall.phone(of: "ada")
      try await ada.ask(
        "\"rpc\":{\"method\":\"publication.delete\",\"data\":"
          + "{\"channel\":\"clique.chat:\(id)\",\"offset\":\(sent["offset"].int ?? 0)}}")
      #expect(try http("dan", hall).get(picture).status == 404, "the conversation says who reads the message")
      let isGone = try await eventually(within: hall.patience) { try http("ada", hall).get(picture).status == 404 }
      #expect(isGone)
      #expect(await eventually { (try? files(hall)) == [] })
    }
  }

  @Test("Who is blocked fetches what they read, and who blocks does not", arguments: HallPlace.here)
  func blocked(at place: HallPlace) async throws {
    try await PhoneHall.with(at: place) { hall in
      let (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let id = try await befriend(ada, "ada", dan, "dan")
      let (mine, theirs) = (
        PictureClient.Picture(PictureSample.png().dirty), PictureClient.Picture(PictureSample.webP().dirty)
      )
      #expect(try http("ada", hall).put(mine) == 201 && http("dan", hall).put(theirs) == 201)
      _ = try await send(ada, id, mine)
      _ = try await send(dan, id, theirs)
      #expect(try http("dan", hall).get(mine).status == 200 && http("ada", hall).get(theirs).status == 200)
      try await ada.call("clique.block", #"{"person":"dan"}"#)
      #expect(try http("dan", hall).get(mine).status == 200 && http("dan", hall).get(theirs).status == 200)
      #expect(try http("ada", hall).get(mine).status == 200 && http("ada", hall).get(theirs).status == 404)
    }
  }

  /// A picture as its owner's export has it, of which there is one, and with whom it was shared.
  private func exported(_ phone: Phone) async throws -> (bytes: [UInt8], with: Set<String>) {
    var (bytes, with, cursor): ([UInt8], Set<String>, String?) = ([], [], nil)
    repeat {
      let page = try await phone.call("fanfare.account.export", "{\"cursor\":\"\(cursor ?? "")\"}")
      for item in page["items"].array {
        #expect(item["picture"]["lost"].string == nil)
        guard let part = item["picture"]["b64data"].string else { continue }
        with.insert(item["picture"]["with"].string ?? "nobody")
        bytes += Array(Data(base64Encoded: part) ?? Data())
      }
      cursor = page["cursor"].string
    } while cursor != nil
    return (bytes, with)
  }

  @Test(
    "An export has one's pictures as the others see them, and a deletion takes them away", arguments: HallPlace.here)
  func person(at place: HallPlace) async throws {
    try await PhoneHall.with(["account.allow_export=true", "account.allow_delete=true"], at: place) { hall in
      let (ada, dan) = (try await hall.phone(of: "ada"), try await hall.phone(of: "dan"))
      let id = try await befriend(ada, "ada", dan, "dan")
      let sample = PictureSample.jpeg(pixels: 100_000)
      let picture = PictureClient.Picture(sample.dirty)
      #expect(try http("ada", hall).put(picture) == 201)
      _ = try await send(ada, id, picture)
      var found: (bytes: [UInt8], with: Set<String>) = ([], [])
      _ = try await eventually(within: hall.patience) {
        found = try await exported(ada)
        return found.with == ["dan"]
      }
      #expect(found.with == ["dan"])
      let isSame = found.bytes == sample.clean
      #expect(isSame, "\(found.bytes.count) bytes of \(sample.clean.count)")
      try await ada.call("fanfare.account.delete", #"{"user":"ada"}"#)
      #expect(await eventually { (try? files(hall)) == [] })
      #expect(try http("dan", hall).get(picture).status == 404)
    }
  }

  @Test(
    "With one folder for all gateways a picture goes on, is cleaned and is seen through whichever is asked",
    arguments: HallPlace.here)
  func twoGateways(at place: HallPlace) async throws {
    try await place.withGateways { deployment in
      let (a, b) = (URL(string: deployment.a)?.port ?? 0, URL(string: deployment.b)?.port ?? 0)
      func client(_ user: String, at port: Int) throws -> PictureClient {
        PictureClient(port: port, token: try deployment.token(user), app: "clique")
      }
      func phone(_ user: String) async throws -> Phone {
        let phone = try Phone(deployment.b)
        try await phone.connect(deployment.token(user))
        return phone
      }
      let id = try await befriend(try await phone("ada"), "ada", try await phone("dan"), "dan")
      let sample = PictureSample.jpeg(pixels: 200_000)
      let picture = PictureClient.Picture(sample.dirty)
      #expect(try client("ada", at: a).put(picture, 0..<131_072) == 202)
      #expect(try client("ada", at: b).put(picture, 131_072..<sample.dirty.count) == 201)
      _ = try await send(try await phone("ada"), id, picture)
      for (user, port) in [("ada", a), ("ada", b), ("dan", a), ("dan", b)] {
        let answer = try client(user, at: port).get(picture)
        let isSame = answer.body == sample.clean
        #expect(answer.status == 200 && isSame)
      }
    }
  }
}
