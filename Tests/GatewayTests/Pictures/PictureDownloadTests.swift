import Testing
import Wire

@testable import Gateway

@Suite("Pictures over HTTP: downloads that go on where they stood, and discarding", .overBothDepots)
struct PictureDownloadTests {
  private static let id = PictureScene.id
  private static let path = "/state/pictures/" + id

  @Test(
    "a part of a picture is these bytes of it, wherever they stand in its chunks",
    arguments: [
      0..<1, 0..<65_536, 65_535..<65_537, 65_536..<65_537, 70_000..<200_000, 131_072..<196_608, 199_999..<200_000,
      0..<200_000, 65_536..<131_072,
    ])
  func parts(range: Range<Int>) async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(200_000)
      #expect(try scene.put(Self.id, picture).status == 201)
      scene.broker.show(to: "bob")
      let headers = ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"]
      let answer = try scene.ask("GET", Self.path, token: "token-of-bob", headers)
      #expect(answer.status == 206)
      #expect(answer.header("Content-Range") == "bytes \(range.lowerBound)-\(range.upperBound - 1)/200000")
      #expect(answer.header("Content-Length") == "\(range.count)")
      #expect(answer.header("Content-Type") == "image/jpeg")
      #expect(answer.header("Cache-Control") == "no-store")
      let isSame = answer.body == Array(picture[range])
      #expect(isSame)
    }
  }

  @Test("a download that was cut off goes on with its tag, and ends as the whole picture")
  func resumes() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(300_000)
      #expect(try scene.put(Self.id, picture).status == 201)
      scene.broker.show(to: "ada")
      let client = try ListenerRawClient(port: scene.harness.port)
      try client.send(PictureScene.head("GET", Self.path))
      let head = try client.readHead()
      #expect(head.contains("Accept-Ranges: bytes\r\n"))
      let tag = try #require(PictureScene.Answer(status: 200, head: head, body: []).header("ETag"))
      let first = try #require(try client.read(100_000))
      let rest = try scene.ask("GET", Self.path, ["Range: bytes=100000-", "If-Range: \(tag)"])
      #expect(rest.status == 206 && rest.header("ETag") == tag)
      let isWhole = first + rest.body == picture
      #expect(isWhole)
      // With another picture's tag the whole picture comes, and not the range.
      let anew = try scene.ask("GET", Self.path, ["Range: bytes=100000-", "If-Range: \"other\""])
      #expect(anew.status == 200 && anew.body.count == 300_000)
      #expect(try scene.ask("GET", Self.path, ["Range: bytes=0-1,5-6"]).body.count == 300_000)
      withExtendedLifetime(client) {}
    }
  }

  @Test("HEAD says what GET would, without the picture; a tag that is known says that nothing has changed")
  func headAndTag() async throws {
    try await withPictures { scene throws in
      #expect(try scene.put(Self.id, PictureScene.picture(100_000)).status == 201)
      scene.broker.show(to: "ada")
      let head = try scene.ask("HEAD", Self.path, ["Range: bytes=0-1"])
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(head.header("Content-Length") == "100000" && head.header("Content-Type") == "image/jpeg")
      #expect(head.header("Accept-Ranges") == "bytes" && head.header("Content-Range") == nil)
      let tag = try #require(head.header("ETag"))
      #expect(tag.hasPrefix("\"") && tag.utf8.count == 34)
      #expect(try scene.get(Self.id).header("ETag") == tag)
      for method in ["GET", "HEAD"] {
        let known = try scene.ask(method, Self.path, ["If-None-Match: \(tag)"])
        #expect(known.status == 304 && known.body.isEmpty && known.header("ETag") == tag)
        #expect(known.header("Content-Length") == nil)
        let other = try scene.ask(method, Self.path, ["If-Match: \"other\""])
        #expect(other.status == 412 && (method == "GET") == !other.body.isEmpty)
      }
      let outside = try scene.ask("GET", Self.path, ["Range: bytes=100000-"])
      #expect(outside.status == 416 && outside.header("Content-Range") == "bytes */100000")
    }
  }

  @Test("a tag tells uploads apart, and not what is in them")
  func tags() async throws {
    try await withPictures { scene throws in
      let (other, third) = (String(repeating: "c", count: 22), String(repeating: "d", count: 22))
      let picture = PictureScene.picture(5000)
      #expect(try scene.put(Self.id, picture).status == 201)
      #expect(try scene.put(other, picture).status == 201)
      #expect(try scene.put(third, PictureScene.picture(5000, seed: 2)).status == 201)
      scene.broker.show(to: "ada")
      var tags: Set<String> = []
      for id in [Self.id, other, third] { tags.insert(try scene.get(id).header("ETag") ?? "") }
      #expect(tags.count == 3, "the same picture under two ids has two tags")
      let before = try scene.get(Self.id).header("ETag")
      // The same bytes under the same id are another upload.
      try scene.discard([Self.id])
      #expect(!scene.files.contains(Self.id))
      #expect(try scene.put(Self.id, picture).status == 201)
      #expect(try scene.get(Self.id).header("ETag") != before)
    }
  }

  @Test("who may not see a picture learns nothing from a range, a tag or HEAD, and the right is asked for each time")
  func rights() async throws {
    try await withPictures { scene throws in
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 201)
      scene.broker.show(to: "ada")
      let tag = try #require(try scene.get(Self.id).header("ETag"))
      let nothing = "/state/pictures/" + String(repeating: "e", count: 22)
      let asked = scene.broker.keysAsked
      let requests = [
        ["Range: bytes=0-1"], ["Range: bytes=9999-"], ["If-None-Match: \(tag)"], ["If-None-Match: *"],
        ["If-Match: \"x\""], [],
      ]
      for method in ["GET", "HEAD"] {
        for headers in requests {
          let sealed = try scene.ask(method, Self.path, token: "token-of-eve", headers)
          let missing = try scene.ask(method, nothing, token: "token-of-eve", headers)
          #expect(sealed.status == 404 && sealed.head == missing.head && sealed.body == missing.body)
          #expect(sealed.body.isEmpty == (method == "HEAD"))
          #expect(sealed.header("ETag") == nil && sealed.header("Content-Range") == nil)
        }
      }
      #expect(scene.broker.keysAsked == asked + 24)
      // Whoever could see it and has its tag cannot any more.
      scene.broker.hide(from: "ada")
      #expect(try scene.ask("GET", Self.path, ["If-None-Match: \(tag)"]).status == 404)
      #expect(try scene.ask("HEAD", Self.path).status == 404)
      #expect(try scene.ask("HEAD", Self.path, token: "expired").status == 401)
    }
  }

  @Test("a page of an allowed origin reads tags and ranges, and may ask for them")
  func origins() async throws {
    try await withPictures(listener: { $0.allowedOrigins = ["https://app.example"] }) { scene throws in
      let origin = "Origin: https://app.example"
      let preflight = try scene.ask(
        "OPTIONS", Self.path, token: nil, [origin, "Access-Control-Request-Method: DELETE"])
      #expect(preflight.header("Access-Control-Allow-Methods")?.contains("DELETE") == true)
      #expect(preflight.header("Access-Control-Allow-Headers")?.contains("If-Range") == true)
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 201)
      scene.broker.show(to: "ada")
      for headers in [["Range: bytes=0-1"], ["If-None-Match: *"], ["Range: bytes=2000-"]] {
        let answer = try scene.ask("GET", Self.path, [origin] + headers)
        #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example")
        #expect(answer.header("Access-Control-Expose-Headers")?.contains("Content-Range") == true)
      }
    }
  }

  // MARK: Discarding

  @Test("an upload under way is discarded by its owner: it ends, its file goes, and it is not taken in again")
  func discardsUpload() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(200_000)
      let hanging = try scene.hangingUpload(of: picture, after: 100_000)
      let upload = "/state/pictures?id=" + Self.id
      let discarded = try scene.ask("DELETE", upload)
      #expect(discarded.status == 200 && scene.broker.barred == [Self.id])
      #expect(scene.files == [])
      try? hanging.send(Array(picture[100_000...]))
      #expect(try scene.offset(Self.id) == "0")
      #expect(try scene.put(Self.id, picture).status == 409)
      #expect(scene.files == [] && scene.broker.picture(Self.id) == nil)
      #expect(try scene.ask("DELETE", upload).status == 200, "a repeated one is no error")
    }
  }

  @Test("nobody discards another's upload, and what the broker refuses stays")
  func discardsOwn() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(100_000)
      #expect(try scene.put(Self.id, picture, 0..<70_000).status == 202)
      let upload = "/state/pictures?id=" + Self.id
      #expect(try scene.ask("DELETE", upload, token: "token-of-eve").status == 200)
      #expect(try scene.offset(Self.id) == "65536", "of which eve learns nothing")
      for (code, temporary, status) in [
        (435, false, 409), (111, true, 429), (100, true, 503),
      ] as [(UInt32, Bool, Int)] {
        scene.broker.refusal = ClientError(code: code, message: "not now", temporary: temporary)
        #expect(try scene.ask("DELETE", upload).status == status)
        #expect(scene.files == [Self.id + ".part"])
      }
      #expect(try scene.ask("DELETE", upload, token: nil).status == 401)
      #expect(try scene.ask("DELETE", "/state/pictures?id=short").status == 400)
    }
  }
}
