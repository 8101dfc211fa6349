import Foundation
import Testing
import Wire

@testable import Gateway

@Suite("Pictures over HTTP: taking in", .overBothDepots)
struct PictureUploadTests {
  static let id = PictureScene.id

  @Test(
    "a picture of any size is taken in, and given out as it was to whom the broker says",
    arguments: [12, 65_535, 65_536, 65_537, 131_072, 1_000_003])
  func roundTrip(size: Int) async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(size)
      let answer = try scene.put(Self.id, picture)
      #expect(answer.status == 201)
      #expect(answer.header("Upload-Offset") == "\(size)")
      let taken = try #require(scene.broker.picture(Self.id))
      #expect(taken.user == "ada" && taken.type == "image/jpeg" && taken.bytes == size && taken.key.count == 32)
      #expect(try scene.get(Self.id).status == 404)
      scene.broker.show(to: "bob")
      let got = try scene.get(Self.id, user: "bob")
      #expect(got.status == 200)
      #expect(got.header("Content-Type") == "image/jpeg")
      #expect(got.header("Cache-Control") == "no-store")
      let isSame = got.body == picture
      #expect(isSame)
      #expect(try scene.get(Self.id, user: "ada").status == 404)
    }
  }

  @Test("no stretch of a picture is on the disk, neither while it comes nor afterwards", .inFolderAlone)
  func nothingPlain() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(300_000)
      func check() throws {
        for name in scene.files {
          let file = try Data(contentsOf: URL(fileURLWithPath: scene.folder + "/" + name))
          for start in stride(from: 0, to: picture.count - 8, by: 997) {
            #expect(file.firstRange(of: picture[start..<(start + 8)]) == nil)
          }
          if let key = scene.broker.picture(Self.id)?.key { #expect(file.firstRange(of: key) == nil) }
        }
      }
      #expect(try scene.put(Self.id, picture, 0..<200_000).status == 202)
      #expect(scene.files == [Self.id + ".part"])
      try check()
      #expect(try scene.put(Self.id, picture, 196_608..<300_000).status == 201)
      #expect(scene.files == [Self.id])
      try check()
      let attributes = try FileManager.default.attributesOfItem(atPath: scene.folder + "/" + Self.id)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      let folder = try FileManager.default.attributesOfItem(atPath: scene.folder)
      #expect(folder[.posixPermissions] as? Int == 0o700)
    }
  }

  @Test("an upload whose connection is lost goes on where it stood")
  func resumes() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(400_000)
      _ = try scene.hangingUpload(of: picture, after: 150_000)
      let wrong = try scene.put(Self.id, picture, 150_000..<400_000)
      #expect(wrong.status == 409)
      #expect(wrong.header("Upload-Offset") == "131072")
      #expect(try scene.put(Self.id, picture, 131_072..<250_000).header("Upload-Offset") == "196608")
      #expect(try scene.put(Self.id, picture, 196_608..<400_000).status == 201)
      #expect(try scene.shows(picture))
    }
  }

  @Test("a connection that hangs is superseded by the next, and can write no more")
  func superseded() async throws {
    try await withPictures { scene throws in
      let (old, new) = (PictureScene.picture(200_000, seed: 1), PictureScene.picture(200_000, seed: 2))
      let hanging = try scene.hangingUpload(of: old, after: 100_000)
      #expect(try scene.put(Self.id, new).status == 201)
      try? hanging.send(Array(old[100_000...]))
      #expect(try scene.read(hanging).status == 409)
      #expect(try scene.shows(new))
    }
  }

  @Test("a finished upload that is sent again is answered as the first time, also by the next process")
  func again() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(100_000)
      let first = try scene.put(Self.id, picture)
      let second = try scene.put(Self.id, picture)
      #expect(second.status == 201)
      let isSame = second.body == first.body
      #expect(isSame)
      #expect(scene.broker.registrations == 1)
      #expect(try scene.put(Self.id, picture, token: "token-of-eve").status == 409)
      #expect(try scene.put(Self.id, PictureScene.picture(99_999)).status == 409)
      let folder = String(scene.folder.dropLast("/pictures".count))
      try Data([1]).write(to: URL(fileURLWithPath: scene.folder + "/" + String(repeating: "b", count: 32) + ".part"))
      let next = try PictureScene(folder: folder, broker: scene.broker)
      let third = try next.put(Self.id, picture)
      let (offset, files) = (try next.offset(Self.id), next.files)
      next.stop()
      #expect(third.status == 201)
      let isSameAgain = third.body == first.body
      #expect(isSameAgain)
      #expect(offset == "100000")
      // What another process has not ended is left to it.
      #expect(files == [Self.id, String(repeating: "b", count: 32) + ".part"])
    }
  }

  @Test("a broker that is away is asked again without sending the picture again")
  func brokerAway() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(100_000)
      scene.broker.refusal = .internalError
      #expect(try scene.put(Self.id, picture).status == 503)
      #expect(scene.files == [Self.id + ".part"])
      #expect(try scene.offset(Self.id) == "100000")
      scene.broker.refusal = nil
      #expect(try scene.put(Self.id, picture, 99_999..<100_000).status == 201)
      #expect(try scene.shows(picture))
    }
  }

  @Test("what the broker discarded while there was no link to it is deleted when there is one again, and nothing else")
  func reconciled() async throws {
    try await withPictures { scene throws in
      let other = String(repeating: "c", count: 32)
      for id in [Self.id, other] { #expect(try scene.put(id, PictureScene.picture(1000)).status == 201) }
      scene.broker.forget(other)
      scene.service.reconcile()
      #expect(try scene.harness.wait { scene.files == [Self.id] })
    }
  }

  @Test("what the broker does not take is not kept")
  func brokerRefuses() async throws {
    try await withPictures { scene throws in
      scene.broker.refusal = .limitExceeded.saying("too many")
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 429)
      scene.broker.refusal = ClientError(code: 437, message: "in use")
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 409)
      #expect(scene.files == [])
    }
  }

  @Test("what is no picture is refused, whatever it says of itself, and nothing is kept")
  func otherContent() async throws {
    try await withPictures { scene throws in
      for text in ["<svg xmlns='http://www.w3.org/2000/svg'>", "GIF89a-and-more", "short", "%PDF-1.7 and more"] {
        let answer = try scene.ask(
          "PUT", "/state/pictures?id=\(Self.id)", ["Content-Type: image/jpeg"], body: Array(text.utf8))
        #expect(answer.status == 415)
      }
      #expect(scene.files == [])
      #expect(scene.service.store.partialCount == 0)
    }
  }

  @Test("too much is refused at its head, and nothing is kept; the largest allowed is taken")
  func tooLarge() async throws {
    try await withPictures({ $0.maximumBytes = 70_000 }) { scene throws in
      #expect(try scene.put(Self.id, PictureScene.picture(70_001)).status == 413)
      #expect(try scene.put(Self.id, PictureScene.picture(10), 0..<10, total: 70_001).status == 413)
      #expect(
        try scene.ask("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: 9999999999999"]).status == 413)
      #expect(scene.files == [])
      #expect(try scene.put(Self.id, PictureScene.picture(70_000)).status == 201)
    }
  }

  @Test("a body that does not come ends in time, and what came stays to go on with")
  func slow() async throws {
    try await withPictures({ $0.idleTimeoutMilliseconds = 1_500 }) { scene throws in
      let client = try ListenerRawClient(port: scene.harness.port)
      let head = PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: 200000"])
      try client.send(Array(head.utf8) + PictureScene.picture(200_000)[..<70_000])
      #expect(try scene.read(client).status == 408)
      #expect(try scene.harness.wait { try scene.offset(Self.id) == "65536" })
    }
  }

  @Test("a body that drips without end ends too")
  func dripping() async throws {
    try await withPictures({ $0.requestTimeoutMilliseconds = 2_000 }) { scene throws in
      let client = try ListenerRawClient(port: scene.harness.port)
      try client.send(PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: 8000000"]))
      for byte in PictureScene.picture(100_000) {
        do { try client.send([byte]) } catch { break }
        usleep(500)
        if scene.harness.listener.counters.rejectedRequests > 0 { break }
      }
      #expect(try scene.read(client).status == 408)
    }
  }

  @Test("while the disk has what a client sent, the client is not waited for")
  func diskTakesItsTime() async throws {
    // A client that has to send anything more is too late.
    try await withPictures({ $0.idleTimeoutMilliseconds = 0 }) { scene throws in
      for number in 100..<120 {
        let client = try ListenerRawClient(port: scene.harness.port)
        let id = String(repeating: "0", count: 20) + "\(number)"
        let head = PictureScene.head("PUT", "/state/pictures?id=\(id)", ["Content-Length: 100"])
        try client.send(Array(head.utf8) + PictureScene.picture(100))
        #expect(try scene.read(client).status == 201)
      }
    }
  }

  @Test("a client that waits for our word gets it, or the refusal at once")
  func expectContinue() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(1000)
      let client = try ListenerRawClient(port: scene.harness.port)
      let headers = ["Content-Length: 1000", "Expect: 100-continue"]
      try client.send(PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", headers))
      #expect(try client.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
      try client.send(picture)
      #expect(try scene.read(client).status == 201)
      let refused = try ListenerRawClient(port: scene.harness.port)
      try refused.send(PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", token: "x", headers))
      #expect(try scene.read(refused).status == 401)
    }
  }

  @Test("a picture that comes byte by byte is the same")
  func dripped() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(500)
      let client = try ListenerRawClient(port: scene.harness.port)
      let head = PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: 500"])
      try client.drip(Array(head.utf8) + picture)
      #expect(try scene.read(client).status == 201)
      #expect(try scene.shows(picture))
    }
  }
}
