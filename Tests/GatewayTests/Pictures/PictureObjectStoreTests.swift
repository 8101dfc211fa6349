import Cryptography
import Foundation
import ObjectStore
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

/// An object store that fails between its gateways and itself: nothing is said that is not so, and nothing is left.
@Suite(
  "Pictures in an object store that fails", .skipUnlessStrict(.moto, isThere: MotoServer.isThere))
struct PictureObjectStoreTests {
  private static let id = PictureScene.id
  /// Of five windows and a bit.
  private static let picture = PictureScene.picture(2_700_000)

  /// Longer than any test waits, so that calls end by what happens to them.
  private static let patience = 600_000

  /// A scene whose store is behind a proxy, and the bucket as it is.
  private func withStore(
    timeout: Int = Self.patience, bucket: String = "pictures",
    _ configure: @escaping @Sendable (inout PictureConfiguration) -> Void = { _ in },
    _ body:
      @escaping @Sendable (_ scene: PictureScene, _ proxy: SocketProxy, _ bucket: Bucket) throws -> Void
  ) async throws {
    let server = try await MotoServer.shared()
    let proxy = try SocketProxy(at: "0", to: "\(server.port)")
    defer { proxy.close() }
    var objects = PictureStand.configuration(
      of: server, endpoint: "http://127.0.0.1:\(proxy.port)", bucket: bucket)
    objects.timeoutMilliseconds = timeout
    let throughProxy = objects
    objects.endpoint = server.endpoint
    objects.timeoutMilliseconds = Self.patience
    let store = Bucket(store: try ObjectStore(objects, userAgent: "tests"), server: server)
    defer { store.store.close() }
    try await withPictures({
      $0.objects = throughProxy
      $0.retryMilliseconds = 1
      configure(&$0)
    }) { scene throws in try body(scene, proxy, store) }
  }

  /// The bucket without the proxy before it.
  private struct Bucket: Sendable {
    let store: ObjectStore
    let server: MotoServer
    var prefix: String { store.configuration.prefix }
    /// How often an object was read.
    var reads: Int { server.requests("GET", holding: "/pictures/\(prefix)") }
    func names() throws -> [String] { try store.names() }
    func isEmpty() throws -> Bool { try store.names().isEmpty }
  }

  private static func away(_ proxy: SocketProxy) { proxy.lead(to: "1") }
  private static func back(_ proxy: SocketProxy, _ bucket: Bucket) { proxy.lead(to: "\(bucket.server.port)") }

  @Test("a store that is away keeps no picture and loses none: the client is told to try again, and sends no byte anew")
  func away() async throws {
    try await withStore { scene, proxy, bucket throws in
      #expect(try scene.offset(Self.id) == "0")
      // Asking for what is there goes through it too.
      Self.away(proxy)
      let refused = try scene.put(Self.id, Self.picture)
      #expect(refused.status == 503 && refused.header("Retry-After") != nil)
      #expect(try scene.ask("HEAD", "/state/pictures?id=\(Self.id)").status == 503)
      Self.back(proxy, bucket)
      #expect(try scene.put(Self.id, Self.picture, 0..<200_000).status == 202)
      #expect(try scene.put(Self.id, Self.picture, 196_608..<2_699_999).status == 202)
      #expect(try bucket.isEmpty())
      #expect(try scene.put(Self.id, Self.picture, 2_686_976..<2_700_000).status == 201)
      #expect(try bucket.names().count == 1 && scene.names == [])
      #expect(try scene.shows(Self.picture))
    }
  }

  @Test("a connection that is closed in the middle of a PUT puts nothing there, and the next try does")
  func cut() async throws {
    try await withStore { scene, proxy, bucket throws in
      // Whether there is one already is asked with less than this.
      proxy.cut(afterBytes: 1_000_000)
      #expect(try scene.put(Self.id, Self.picture).status == 503)
      #expect(proxy.hasCut)
      #expect(try bucket.isEmpty() && scene.names == [Self.id + ".part"])
      #expect(scene.broker.registrations == 1)
      proxy.cut(afterBytes: nil)
      #expect(try scene.offset(Self.id) == "2700000", "nothing of it has to be sent again")
      #expect(try scene.put(Self.id, Self.picture, 2_699_999..<2_700_000).status == 201)
      #expect(try bucket.names().count == 1 && scene.names == [])
      #expect(scene.broker.uploadKeysAsked == 0)
      #expect(try scene.shows(Self.picture))
    }
  }

  /// Sends the last bytes of a picture while the store's answers are lost, from the moment on in which it is asked to take
  /// the picture, until the client is told something.
  private static func endDeaf(_ scene: PictureScene, _ proxy: SocketProxy, _ bucket: Bucket) throws -> Int {
    let puts = bucket.server.requests("PUT", holding: bucket.prefix)
    let isRegistered = Mutex(false)
    scene.broker.state.withLock { state in
      state.whenRegistered = {
        proxy.set(.deaf)
        isRegistered.withLock { $0 = true }
      }
    }
    let client = try endUpload(scene)
    // Before that the request may not have begun, and nothing is under way either.
    #expect(blocksUntil(within: .seconds(60)) { isRegistered.withLock { $0 } })
    #expect(
      blocksUntil(within: .seconds(60)) {
        // Once the store has it. libcurl asks once more on another connection, which is deaf too.
        if bucket.server.requests("PUT", holding: bucket.prefix) > puts { proxy.cut() }
        return scene.service.budget.underWay == 0
      })
    scene.broker.state.withLock { $0.whenRegistered = {} }
    proxy.set(.open)
    return try scene.read(client).status
  }

  /// Sends the last bytes of a picture of which all chunks but one are there.
  private static func endUpload(_ scene: PictureScene) throws -> ListenerRawClient {
    let client = try ListenerRawClient(port: scene.harness.port)
    let headers = ["Content-Length: 13024", "Content-Range: bytes 2686976-2699999/2700000"]
    try client.send(PictureScene.head("PUT", "/state/pictures?id=\(id)", headers))
    try client.send(Array(picture[2_686_976...]))
    return client
  }

  @Test("a picture that a deaf store has taken, and nobody was told of, is there at the next try")
  func deaf() async throws {
    try await withStore { scene, proxy, bucket throws in
      #expect(try scene.put(Self.id, Self.picture, 0..<2_699_999).status == 202)
      #expect(try Self.endDeaf(scene, proxy, bucket) == 503)
      #expect(try bucket.names().count == 1)
      #expect(try scene.put(Self.id, Self.picture, 2_699_999..<2_700_000).status == 201)
      #expect(try bucket.names().count == 1 && scene.names == [], "nothing is left of the upload")
      #expect(try scene.shows(Self.picture))
    }
  }

  @Test("a picture that a deaf store has taken, and that nobody asks for again, goes when the broker knows it no more")
  func doubted() async throws {
    try await withStore { scene, proxy, bucket throws in
      #expect(try scene.put(Self.id, Self.picture, 0..<2_699_999).status == 202)
      #expect(try Self.endDeaf(scene, proxy, bucket) == 503)
      scene.service.sweep()
      try scene.decide([])
      #expect(try bucket.names().count == 1, "the broker may still want it")
      scene.broker.forget(Self.id)
      scene.service.sweep()
      #expect(try blocksUntil(within: .seconds(60)) { try bucket.isEmpty() })
    }
  }

  @Test("a picture that is discarded while the store is slow to take it is not there afterwards")
  func overtaken() async throws {
    try await withStore { scene, proxy, bucket throws in
      #expect(try scene.put(Self.id, Self.picture, 0..<2_699_999).status == 202)
      scene.broker.state.withLock { $0.whenRegistered = { proxy.set(.paused) } }
      let client = try Self.endUpload(scene)
      #expect(blocksUntil(within: .seconds(60)) { scene.broker.registrations == 1 })
      scene.service.decide([PictureFate(gone: Self.id)])
      // The upload is ended first; what asks the store waits, as the picture does that is on its way there.
      #expect(blocksUntil(within: .seconds(60)) { scene.service.store.partialCount == 0 })
      proxy.set(.open)
      #expect(try scene.read(client).status == 409)
      try scene.decide([])
      #expect(try bucket.isEmpty())
      #expect(scene.names == [])
    }
  }

  @Test("what cannot be deleted is not said to be, and is when the store is back")
  func forgets() async throws {
    try await withStore { scene, proxy, bucket throws in
      let other = String(repeating: "b", count: 32)
      #expect(try scene.put(Self.id, PictureScene.picture(1000)).status == 201)
      #expect(try scene.put(other, PictureScene.picture(1000), token: "token-of-bob").status == 201)
      Self.away(proxy)
      let ended = Mutex<[Bool]>([])
      scene.service.forget(["ada"]) { isDone in ended.withLock { $0.append(isDone) } }
      scene.service.decide([PictureFate(gone: other)])
      let accepted = proxy.accepted
      #expect(blocksUntil(within: .seconds(60)) { proxy.accepted > accepted + 3 })
      #expect(try bucket.names().count == 2 && ended.withLock { $0.isEmpty })
      let reads = bucket.reads
      Self.back(proxy, bucket)
      #expect(blocksUntil(within: .seconds(60)) { ended.withLock { $0 == [true] } })
      #expect(try bucket.isEmpty())
      #expect(bucket.reads == reads, "no picture was read for it")
    }
  }

  @Test("what is kept for moderators is copied before it is deleted, and neither where the store is away")
  func kept() async throws {
    try await withStore { scene, proxy, bucket throws in
      #expect(try scene.put(Self.id, Self.picture).status == 201)
      let taken = try #require(scene.broker.picture(Self.id))
      Self.away(proxy)
      let fate = PictureFate(id: Self.id, isGone: true, kept: [taken.upload])
      #expect(scene.service.store.decide([fate]) == [fate])
      #expect(try bucket.names().allSatisfy { !$0.hasSuffix(".kept") })
      Self.back(proxy, bucket)
      try scene.decide([fate])
      let names = try bucket.names()
      #expect(names.count == 1 && names.first?.hasSuffix(".kept") == true)
      #expect(try scene.offset(Self.id) == "0", "its owner finds nothing under the id")
      try scene.decide([PictureFate(id: Self.id, isGone: false, released: [taken.upload])])
      #expect(try bucket.isEmpty())
    }
  }

  @Test("a download that the store cuts off ends early, with no byte that is not the picture's")
  func cutDownload() async throws {
    try await withStore { scene, proxy, bucket throws in
      #expect(try scene.put(Self.id, Self.picture).status == 201)
      scene.broker.show(to: "ada")
      // As much as two or three calls of the store send; all of the picture is seven.
      proxy.cut(afterBytes: 2000)
      let client = try ListenerRawClient(port: scene.harness.port)
      try client.send(PictureScene.head("GET", "/state/pictures/\(Self.id)"))
      let head = try client.readHead()
      #expect(head.contains("200 OK"))
      let rest = try client.readToEnd()
      #expect(!rest.isEmpty && rest.count < Self.picture.count && Self.picture.starts(with: rest))
      proxy.cut(afterBytes: nil)
      let again = try scene.ask("GET", "/state/pictures/\(Self.id)", ["Range: bytes=\(rest.count)-"])
      let isWhole = rest + again.body == Self.picture
      #expect(isWhole)
      #expect(blocksUntil(within: .seconds(60)) { scene.service.budget.underWay == 0 })
    }
  }

  @Test("a picture of five megabytes is few calls of the store")
  func calls() async throws {
    try await withStore { scene, _, bucket throws in
      let picture = PictureScene.picture(5_000_000)
      #expect(try scene.put(Self.id, picture).status == 201)
      let reads = bucket.reads
      #expect(try scene.shows(picture))
      let count = bucket.reads - reads
      #expect((1...11).contains(count), "\(count) reads")
    }
  }
}
