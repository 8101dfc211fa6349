import Cryptography
import Foundation
import ObjectStore
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

/// What several gateways do with one bucket, and which bucket is none for pictures.
@Suite("Pictures in a bucket", .skipUnlessStrict(.moto, isThere: MotoServer.isThere))
struct PictureBucketTests {
  private static let id = PictureScene.id
  private static let picture = PictureScene.picture(200_000)

  /// Two gateways that share a bucket and no folder; the first one has a proxy before the bucket.
  private func withTwo(
    _ body: @escaping @Sendable (_ a: PictureScene, _ b: PictureScene, SocketProxy, MotoServer) throws -> Void
  ) async throws {
    let server = try await MotoServer.shared()
    let proxy = try SocketProxy(at: "0", to: "\(server.port)")
    defer { proxy.close() }
    let objects = PictureStand.configuration(of: server)
    var behind = objects
    behind.endpoint = "http://127.0.0.1:\(proxy.port)"
    behind.timeoutMilliseconds = 600_000
    let throughProxy = behind
    let folder = try TemporaryFolder()
    try await withPictures({ $0.objects = throughProxy }) { a throws in
      let b = try PictureScene(folder: folder.path, broker: a.broker) { $0.objects = objects }
      defer { b.stop() }
      a.broker.state.withLock { $0.keepsWhole = true }
      try body(a, b, proxy, server)
    }
  }

  @Test("a picture is at every gateway; an upload goes on where it began, and elsewhere begins anew")
  func twoGateways() async throws {
    try await withTwo { a, b, _, _ throws in
      #expect(try a.put(Self.id, Self.picture, 0..<150_000).status == 202)
      #expect(try b.offset(Self.id) == "0")
      let refused = try b.put(Self.id, Self.picture, 131_072..<200_000)
      #expect(refused.status == 409 && refused.header("Upload-Offset") == "0")
      #expect(try b.put(Self.id, Self.picture).status == 201)
      for scene in [a, b] {
        #expect(try scene.offset(Self.id) == "200000" && scene.shows(Self.picture))
      }
      #expect(try a.put(Self.id, Self.picture, 131_072..<200_000).status == 201, "it is here already")
      #expect(try a.ask("HEAD", "/state/pictures?id=\(Self.id)", token: "token-of-eve").status == 409)
      try b.discard([Self.id])
      a.broker.forget(Self.id)
      #expect(try a.get(Self.id).status == 404 && a.objects?.names() == [])
    }
  }

  @Test("a picture that the broker has and its store has not can be uploaded anew at another gateway")
  func elsewhere() async throws {
    try await withTwo { a, b, proxy, server throws in
      a.broker.state.withLock { $0.whenRegistered = { proxy.lead(to: "1") } }
      #expect(try a.put(Self.id, Self.picture).status == 503)
      a.broker.state.withLock { $0.whenRegistered = {} }
      #expect(a.broker.registrations == 1 && a.names == [Self.id + ".part"])
      #expect(try b.put(Self.id, Self.picture).status == 201)
      #expect(try b.shows(Self.picture))
      proxy.lead(to: "\(server.port)")
      #expect(try a.shows(Self.picture))
      #expect(try a.put(Self.id, Self.picture).status == 201)
    }
  }

  @Test("an upload that ends too late does not take the place of the one that the broker knows, and both go")
  func late() async throws {
    try await withTwo { a, b, proxy, _ throws in
      let other = PictureScene.picture(200_000, seed: 2)
      a.broker.state.withLock { $0.whenRegistered = { proxy.set(.paused) } }
      let client = try ListenerRawClient(port: a.harness.port)
      try client.send(
        PictureScene.head("PUT", "/state/pictures?id=\(Self.id)", ["Content-Length: \(Self.picture.count)"]))
      try client.send(Self.picture)
      #expect(blocksUntil(within: .seconds(60)) { a.broker.registrations == 1 })
      a.broker.state.withLock { $0.whenRegistered = {} }
      #expect(try b.put(Self.id, other).status == 201)
      proxy.set(.open)
      #expect(try a.read(client).status == 201)
      #expect(try b.objects?.names().count == 2)
      for scene in [a, b] {
        #expect(try scene.shows(other))
        let taken = try #require(scene.broker.picture(Self.id))
        #expect(try Self.read(taken, scene.reader()) == other)
        #expect(try Self.read(taken, scene.reader(), taken.upload) == other)
      }
      try b.discard([Self.id])
      #expect(try b.objects?.names() == [])
    }
  }

  private static func read(_ picture: TakenPicture, _ reader: PictureReader, _ upload: [UInt8]? = nil) -> [UInt8]? {
    let done = DispatchSemaphore(value: 0)
    let read = Mutex<[UInt8]?>(nil)
    reader.read(picture.id, upload, key: picture.key, total: picture.bytes, 0..<picture.bytes) { result in
      read.withLock { $0 = try? result.get() }
      done.signal()
    }
    done.wait()
    return read.withLock(\.self)
  }

  @Test("pictures that lie in the folder are moved into the bucket, and are what they were")
  func moved() async throws {
    let objects = PictureStand.configuration(of: try await MotoServer.shared())
    try await withPictures({ $0.purposes = [.state, .clique] }) { scene throws in
      let other = String(repeating: "c", count: 32)
      for id in [Self.id, other] { #expect(try scene.put(id, Self.picture).status == 201) }
      let taken = try #require(scene.broker.picture(other))
      try scene.decide([PictureFate(id: other, isGone: true, kept: [taken.upload])])
      #expect(try scene.put(String(repeating: "d", count: 32), Self.picture, 0..<70_000).status == 202)
      let folder = String(scene.folder.dropLast("/pictures".count))
      let next = try PictureScene(folder: folder, broker: scene.broker) { $0.objects = objects }
      defer { next.stop() }
      try next.decide([])
      #expect(next.names == [String(repeating: "d", count: 32) + ".part"])
      #expect(try next.objects?.names().count == 2)
      #expect(try next.shows(Self.picture))
      #expect(try Self.read(taken, next.reader(), taken.upload) == Self.picture)
      let ended = DispatchSemaphore(value: 0)
      next.service.forget(["ada"]) { _ in ended.signal() }
      ended.wait()
      #expect(next.files == [])
    }
  }

  // MARK: Which bucket

  private func service(_ objects: ObjectStoreConfiguration, _ folder: String, _ warnings: Warnings) throws {
    var configuration = PictureConfiguration(folder: folder)
    configuration.objects = objects
    let service = try PictureService(
      configuration, verifier: PictureScene.Verifier(), broker: { _ in .absent }, warn: { warnings.note($0) })
    service.stopWaiting()
  }

  private final class Warnings: Sendable {
    private let state = Mutex<[String]>([])
    var all: [String] { state.withLock { $0 } }
    func note(_ sentence: String) { state.withLock { $0.append(sentence) } }
  }

  @Test("a bucket that keeps versions is refused, with what to do; one that did, or does not say, is told of")
  func versions() async throws {
    let server = try await MotoServer.shared()
    try await onOwnThread {
      let folder = try TemporaryFolder()
      let warnings = Warnings()
      do throws(ListenerError) {
        try typed { try service(PictureStand.configuration(of: server, bucket: "versioned"), folder.path, warnings) }
        Issue.record("pictures would never be destroyed")
      } catch {
        #expect("\(error)".contains("aws s3api put-bucket-versioning --bucket versioned"))
      }
      #expect(warnings.all == [])
      try service(PictureStand.configuration(of: server), folder.path, warnings)
      #expect(warnings.all == [])
      try service(PictureStand.configuration(of: server, bucket: "suspended"), folder.path, warnings)
      #expect(warnings.all.count == 1 && warnings.all[0].contains("noncurrent versions"))
      try service(PictureStand.configuration(of: server, bucket: "locked"), folder.path, warnings)
      #expect(warnings.all.count == 2 && warnings.all[1].contains("GetBucketVersioning"))
    }
  }

  @Test("a wrong key, a bucket that is not there and an address that is none stop the start, with a sentence")
  func refused() async throws {
    let server = try await MotoServer.shared()
    try await onOwnThread {
      let folder = try TemporaryFolder()
      var wrongKey = PictureStand.configuration(of: server)
      wrongKey.secretAccessKey = SecretKey(Array("wrong".utf8))
      var wrongAddress = wrongKey
      wrongAddress.endpoint = "s3.example.com"
      for (objects, word) in [
        (wrongKey, "SignatureDoesNotMatch"),
        (PictureStand.configuration(of: server, bucket: "nobodys"), "NoSuchBucket"),
        (wrongAddress, "scheme, name and port"),
      ] {
        do throws(ListenerError) {
          try typed { try service(objects, folder.path, Warnings()) }
          Issue.record("the store cannot be used")
        } catch {
          #expect("\(error)".contains(word), "\(error)")
        }
      }
    }
  }

  @Test("a store that is away at the start is asked for versions before the first picture is put there")
  func awayAtStart() async throws {
    let server = try await MotoServer.shared()
    let proxy = try SocketProxy(at: "0", to: "1")
    defer { proxy.close() }
    let objects = PictureStand.configuration(
      of: server, endpoint: "http://127.0.0.1:\(proxy.port)", bucket: "versioned")
    try await withPictures({ $0.objects = objects }) { scene throws in
      proxy.lead(to: "\(server.port)")
      #expect(try scene.put(Self.id, Self.picture).status == 503)
      #expect(try scene.objects?.names() == [])
    }
  }

  private func typed(_ body: () throws -> Void) throws(ListenerError) {
    do { try body() } catch let error as ListenerError { throw error } catch {
      throw .pictureStore("another error: \(error)")
    }
  }

  // MARK: Names and windows

  @Test("names of objects say what they are of, and nothing else is one")
  func names() throws {
    for purpose in PicturePurpose.allCases {
      for isKept in [false, true] {
        let header = PictureFile.Header(
          id: Self.id, user: "ada", upload: [UInt8](repeating: 0xAB, count: 16), total: 5, for: purpose)
        var name = ObjectPictureName(Self.id, header)
        name.isKept = isKept
        #expect(ObjectPictureName(name.text) == name)
        #expect(name.isOf("ada") && !name.isOf("eve") && name.purpose == purpose)
        #expect(name.text.hasPrefix(ObjectPictureName.start(Self.id)))
        #expect(name.text.hasPrefix(ObjectPictureName.start(Self.id, name.upload)))
        for count in name.text.indices { #expect(ObjectPictureName(String(name.text[..<count]))?.text != name.text) }
        for other in [name.text + ".", name.text + ".kept", "a/" + name.text, name.text.uppercased(), "." + name.text] {
          if other == name.text + ".kept", !isKept { continue }
          #expect(ObjectPictureName(other) == nil)
        }
      }
    }
  }

  @Test("who finds no room to read ahead reads chunk by chunk, and room is given back with its reader")
  func room() {
    let header = PictureFile.Header(id: Self.id, user: "ada", upload: Array(repeating: 1, count: 16), total: 1_000_000)
    let object = PictureWindow.Object(
      name: "n", header: header, fileBytes: header.layout.fileBytes(ofPicture: header.total))
    let chunk = PictureFile.chunkBytes + header.layout.overheadBytes
    let room = WindowRoom(limit: 9 * chunk)
    do {
      let first = PictureWindow()
      #expect(first.reach(from: header.layout.headerBytes, count: chunk, of: object, room) == 8 * chunk)
      #expect(
        first.reach(from: header.layout.place(ofChunk: 15), count: 100, of: object, room) == object.fileBytes
          - header.layout.place(ofChunk: 15))
      first.end(with: 2)
      #expect(first.reach(from: header.layout.place(ofChunk: 1), count: chunk, of: object, room) == 2 * chunk)
      let second = PictureWindow(beginsAtStart: true)
      #expect(second.first(room) == PictureFile.longestHeader)
      #expect(second.reach(from: header.layout.headerBytes, count: chunk, of: object, room) == chunk)
      second.fill([1, 2, 3], at: 0)
      #expect(second.bytes(at: 0, count: 1) == nil, "it keeps nothing that it has no room for")
      withExtendedLifetime(first) { #expect(room.takenBytes == 8 * chunk) }
    }
    #expect(room.takenBytes == 0)
  }
}
