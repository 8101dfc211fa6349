import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

/// Several gateways with one folder of pictures and one broker.
@Suite("Pictures at several gateways", .overBothDepots)
struct PictureSharedTests {
  private static let id = PictureScene.id

  /// Two gateways; the body may start more.
  private func withTwo(
    _ body:
      @escaping @Sendable (_ a: PictureScene, _ b: PictureScene, _ another: () throws -> PictureScene) throws
      -> Void
  ) async throws {
    try await withPictures { a throws in
      let folder = String(a.folder.dropLast("/pictures".count))
      let b = try PictureScene(folder: folder, broker: a.broker)
      defer { b.stop() }
      try body(a, b) { try PictureScene(folder: folder, broker: a.broker) }
    }
  }

  @Test("an upload that one gateway began goes on at another, and the picture is at both")
  func goesOn() async throws {
    try await withTwo { a, b, another throws in
      let picture = PictureScene.picture(400_000)
      #expect(try a.put(Self.id, picture, 0..<150_000).status == 202)
      // A gateway that starts leaves what others do alone.
      let third = try another()
      defer { third.stop() }
      for scene in [a, b, third] { #expect(try scene.offset(Self.id) == "131072") }
      #expect(try b.put(Self.id, picture, 131_072..<250_000).header("Upload-Offset") == "196608")
      #expect(try third.put(Self.id, picture, 196_608..<300_000).header("Upload-Offset") == "262144")
      #expect(try a.put(Self.id, picture, 262_144..<400_000).status == 201)
      a.broker.show(to: "ada")
      for scene in [a, b, third] {
        let isSame = try scene.get(Self.id).body == picture
        #expect(isSame)
        #expect(try scene.offset(Self.id) == "400000")
      }
      #expect(a.broker.picture(Self.id)?.type == "image/jpeg")
    }
  }

  @Test("a part is acknowledged once the broker knows the upload, so that any gateway can go on with it")
  func acknowledgedWhenKnown() async throws {
    try await withTwo { a, b, _ throws in
      let picture = PictureScene.picture(300_000)
      let begun = Mutex<(@Sendable () -> Void)?>(nil)
      a.broker.state.withLock { $0.whenBegun = { tell in begun.withLock { $0 = tell } } }
      let client = try ListenerRawClient(port: a.harness.port)
      let headers = ["Content-Range: bytes 0-149999/300000", "Content-Length: 150000"]
      try client.send(PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", headers))
      try client.send(Array(picture[..<150_000]))
      #expect(try a.harness.wait { try a.offset(Self.id) == "131072" })
      try a.runLoops(afterMilliseconds: 20)
      #expect(!client.hasBytes)
      // The other gateway cannot go on yet, and says so.
      #expect(a.broker.uploads.isEmpty)
      begun.withLock(\.self)?()
      let answer = try a.read(client)
      #expect(answer.status == 202 && answer.header("Upload-Offset") == "131072")
      #expect(try b.put(Self.id, picture, 131_072..<300_000).status == 201)
      #expect(try b.shows(picture))
    }
  }

  @Test("the gateway that began an upload ends, and nothing of it is lost")
  func killed() async throws {
    try await withTwo { a, b, another throws in
      let picture = PictureScene.picture(300_000)
      let third = try another()
      #expect(try third.put(Self.id, picture, 0..<150_000).status == 202)
      third.stop()
      #expect(try b.put(Self.id, picture, 131_072..<300_000).status == 201)
      #expect(try a.shows(picture))
    }
  }

  @Test("an upload is its owner's at every gateway")
  func owner() async throws {
    try await withTwo { a, b, _ throws in
      let picture = PictureScene.picture(300_000)
      #expect(try a.put(Self.id, picture, 0..<150_000).status == 202)
      #expect(try b.put(Self.id, picture, token: "token-of-eve").status == 409)
      #expect(try b.ask("HEAD", "/state/pictures?id=\(Self.id)", token: "token-of-eve").status == 409)
      #expect(a.broker.uploadKeysAsked == 0)
      #expect(try b.offset(Self.id) == "131072")
    }
  }

  @Test("whoever goes on elsewhere supersedes the connection that hangs, which can write no more")
  func superseded() async throws {
    try await withTwo { a, b, _ throws in
      let picture = PictureScene.picture(300_000)
      let hanging = try a.hangingUpload(of: picture, after: 100_000)
      #expect(try b.put(Self.id, picture, 65_536..<200_000).header("Upload-Offset") == "196608")
      try? hanging.send(Array(picture[100_000...]))
      #expect(try a.read(hanging).status == 409)
      #expect(try b.put(Self.id, picture, 196_608..<300_000).status == 201)
      #expect(try a.shows(picture))
    }
  }

  @Test("a whole upload that the broker did not take is ended by another gateway, with no byte of it sent again")
  func whole() async throws {
    try await withTwo { a, b, _ throws in
      let picture = PictureScene.picture(100_000)
      #expect(try a.put(Self.id, picture, 0..<70_000).status == 202)
      a.broker.refusal = .internalError
      #expect(try a.put(Self.id, picture, 65_536..<100_000).status == 503)
      #expect(try b.put(Self.id, picture, 99_999..<100_000).status == 503)
      a.broker.refusal = nil
      #expect(try b.put(Self.id, picture, 99_999..<100_000).status == 201)
      #expect(try a.shows(picture))
    }
  }

  @Test("where nobody has the key any more, the upload begins anew")
  func keyLost() async throws {
    try await withTwo { a, b, _ throws in
      let picture = PictureScene.picture(200_000)
      #expect(try a.put(Self.id, picture, 0..<70_000).status == 202)
      a.broker.forgetUploads()
      let refused = try b.put(Self.id, picture, 65_536..<200_000)
      #expect(refused.status == 409 && refused.header("Upload-Offset") == "0")
      #expect(b.files == [])
      #expect(try b.put(Self.id, picture).status == 201)
      #expect(try a.shows(picture))
    }
  }

  @Test("what the broker does not want to take is refused while it comes, and nothing is kept")
  func refused() async throws {
    try await withTwo { a, _, _ throws in
      a.broker.refusal = .limitExceeded.saying("too many")
      let client = try ListenerRawClient(port: a.harness.port)
      try client.send(PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: 400000"]))
      #expect(try a.read(client).status == 429)
      #expect(try a.harness.wait { a.files == [] })
    }
  }

  // MARK: Budgets

  @Test("requests of one user under way are counted; another user, and the same one later, notice nothing")
  func perUser() async throws {
    try await withPictures({ $0.maximumRequestsPerUser = 2 }) { scene throws in
      var hanging: [ListenerRawClient] = []
      for number in 0..<2 {
        let client = try ListenerRawClient(port: scene.harness.port)
        let id = String(repeating: "\(number)", count: 32)
        try client.send(PictureScene.head("PUT", "/state/pictures?id=\(id)", ["Content-Length: 200000"]))
        try client.send(PictureScene.picture(70_000))
        #expect(try scene.harness.wait { scene.service.budget.underWay(of: "ada") == number + 1 })
        hanging.append(client)
      }
      let refused = try scene.put(Self.id, PictureScene.picture(1000))
      #expect(refused.status == 429 && refused.header("Retry-After") != nil)
      #expect(scene.harness.refusals.count(.pictureRequestsOfUser) >= 1)
      #expect(try scene.put(Self.id, PictureScene.picture(1000), token: "token-of-bob").status == 201)
      hanging = []
      #expect(try scene.harness.wait { scene.service.budget.underWay == 0 && scene.service.budget.users == 0 })
      #expect(try scene.put(String(repeating: "e", count: 32), PictureScene.picture(1000)).status == 201)
    }
  }

  @Test("requests under way are counted in all, also before anybody has said who asks")
  func inAll() async throws {
    try await withPictures({ $0.maximumRequests = 1 }) { scene throws in
      do {
        let client = try ListenerRawClient(port: scene.harness.port)
        try client.send(PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: 200000"]))
        #expect(try scene.harness.wait { scene.service.budget.underWay == 1 })
        #expect(try scene.put(Self.id, PictureScene.picture(1000), token: "token-of-bob").status == 503)
        #expect(scene.harness.refusals.count(.pictureRequests) == 1)
      }
      #expect(try scene.harness.wait { scene.service.budget.underWay == 0 })
      #expect(try scene.put(String(repeating: "e", count: 32), PictureScene.picture(1000)).status == 201)
    }
  }

  @Test("of an upload that comes faster than the disk takes it, little waits in memory, and all that is given back")
  func memory() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(8 << 20)
      let blocked = (0..<scene.service.configuration.threads).map { _ in scene.occupyDisk() }
      let client = try ListenerRawClient(port: scene.harness.port)
      try client.send(
        PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: \(picture.count)"]))
      // Sent from here, read by the test's thread: two directions of one socket.
      nonisolated(unsafe) let socket = client
      let sender = Thread { try? socket.send(picture) }
      sender.start()
      #expect(try scene.harness.wait { scene.service.budget.underWay == 1 })
      for semaphore in blocked { semaphore.signal() }
      var most = 0
      #expect(
        try scene.harness.wait {
          most = max(most, scene.service.budget.bytesWaiting)
          return scene.files == [Self.id]
        })
      #expect(most <= PictureHandler.mostWaiting)
      #expect(try scene.read(client).status == 201)
      #expect(try scene.harness.wait { scene.service.budget.bytesWaiting == 0 && scene.service.budget.underWay == 0 })
    }
  }
}
