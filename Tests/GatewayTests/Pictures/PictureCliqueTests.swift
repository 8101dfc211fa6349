import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

/// Pictures of Clique: the way of State's, and cleaned when they are whole.
@Suite("Pictures of Clique over HTTP", .overBothDepots)
struct PictureCliqueTests {
  private static let id = PictureScene.id

  /// A gateway that takes pictures of both apps, and is asked about Clique's.
  private func withClique(
    _ configure: @escaping @Sendable (inout PictureConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (PictureScene) throws -> Void
  ) async throws {
    try await withPictures({
      $0.purposes = [.state, .clique]
      configure(&$0)
    }) { scene throws in
      scene.path = PicturePurpose.clique.path
      try body(scene)
    }
  }

  private func another(beside scene: PictureScene) throws -> PictureScene {
    let other = try PictureScene(folder: String(scene.folder.dropLast("/pictures".count)), broker: scene.broker) {
      $0.purposes = [.state, .clique]
    }
    other.path = scene.path
    return other
  }

  @Test("a picture comes back without what may tell of a place, and the broker hears what is left")
  func cleaned() async throws {
    try await withClique { scene throws in
      for (number, sample) in (PictureSample.all + [.jpeg(pixels: 200_000)]).enumerated() {
        let id = String(repeating: "\(number)", count: 32)
        let answer = try scene.put(id, sample.dirty)
        #expect(answer.status == 201 && answer.header("Upload-Offset") == "\(sample.dirty.count)")
        let taken = try #require(scene.broker.picture(id))
        #expect(taken.type == sample.type && taken.bytes == sample.clean.count)
        #expect(taken.width == sample.width && taken.height == sample.height)
        scene.broker.show(to: "bob")
        let got = try scene.get(id, user: "bob")
        let isSame = got.body == sample.clean
        #expect(isSame && got.header("Content-Type") == sample.type)
        let part = try scene.ask("GET", "\(scene.path)/\(id)", token: "token-of-bob", ["Range: bytes=3-9"])
        #expect(part.status == 206 && part.body == Array(sample.clean[3...9]))
        // Whoever did not hear the answer asks again, and hears that all is there.
        #expect(try scene.offset(id) == "\(sample.dirty.count)")
        #expect(try scene.put(id, sample.dirty).status == 201)
      }
      #expect(scene.files.count == PictureSample.all.count + 1, "nothing else is left on the disk")
      #expect(scene.broker.registrations == PictureSample.all.count + 1)
    }
  }

  @Test("an upload goes on at another gateway, and what is cleaned there is given out by both")
  func resumed() async throws {
    try await withClique { a throws in
      let b = try another(beside: a)
      defer { b.stop() }
      let sample = PictureSample.jpeg(pixels: 300_000)
      let total = sample.dirty.count
      #expect(try a.put(Self.id, sample.dirty, 0..<150_000).status == 202)
      #expect(try b.offset(Self.id) == "131072")
      // The broker is away when it is whole: the upload waits, and is cleaned by whoever ends it.
      a.broker.refusal = .internalError
      #expect(try a.put(Self.id, sample.dirty, 131_072..<total).status == 503)
      #expect(a.files == [Self.id + ".clean", Self.id + ".part"])
      a.broker.refusal = nil
      #expect(try b.put(Self.id, sample.dirty, (total - 1)..<total).status == 201)
      #expect(a.files == [Self.id])
      a.broker.show(to: "ada")
      for scene in [a, b] {
        let isSame = try scene.get(Self.id).body == sample.clean
        #expect(isSame)
      }
    }
  }

  @Test("an upload that a kill has left beside its whole picture goes when its owner asks again, and at the next start")
  func leftBehind() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.jpeg(pixels: 100_000)
      let other = String(repeating: "e", count: 32) + ".part"
      #expect(try scene.put(String(other.dropLast(".part".count)), sample.dirty, 0..<70_000).status == 202)
      let folder = scene.folder
      let kept = Mutex<[String: Data]>([:])
      // A folder takes the cleaned file itself; a bucket leaves that, too.
      let suffixes = scene.objects == nil ? [".part"] : [".part", ".clean"]
      scene.broker.state.withLock { state in
        state.whenRegistered = {
          for name in suffixes.map({ Self.id + $0 }) {
            kept.withLock { $0[name] = try? Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)) }
          }
        }
      }
      #expect(try scene.put(Self.id, sample.dirty).status == 201)
      let (whole, left) = ([Self.id, other].sorted(), kept.withLock(\.self))
      #expect(scene.files == whole && left.count == suffixes.count)
      scene.broker.show(to: "ada")
      func expectGone(_ what: Comment, with ask: () throws -> Void) throws {
        // As it is where the kill came when the picture had got its place.
        for (name, bytes) in left { try bytes.write(to: URL(fileURLWithPath: folder + "/" + name)) }
        try ask()
        #expect(scene.files == whole, what)
        let isSame = try scene.get(Self.id).body == sample.clean
        #expect(isSame, what)
      }
      try expectGone("sent again") { () throws in #expect(try scene.put(Self.id, sample.dirty).status == 201) }
      try expectGone("asked for") { () throws in #expect(try scene.offset(Self.id) == "\(sample.dirty.count)") }
      try expectGone("started") {
        let next = try another(beside: scene)
        defer { next.stop() }
        try next.decide([])
      }
      #expect(scene.broker.registrations == 1)
    }
  }

  @Test("an export reads what was cleaned, with the key that the broker has")
  func reader() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.jpeg(pixels: 100_000)
      #expect(try scene.put(Self.id, sample.dirty).status == 201)
      let taken = try #require(scene.broker.picture(Self.id))
      let done = DispatchSemaphore(value: 0)
      let read = Mutex<[UInt8]>([])
      try scene.reader().read(
        Self.id, key: taken.key, total: taken.bytes, 0..<taken.bytes
      ) { result in
        read.withLock { $0 = (try? result.get()) ?? [] }
        done.signal()
      }
      done.wait()
      let isSame = read.withLock { $0 == sample.clean }
      #expect(isSame)
    }
  }

  @Test("what cannot be cleaned is refused with a sentence, and nothing of it is kept")
  func refused() async throws {
    try await withClique({ $0.maximumCliqueBytes = 200_000 }) { scene throws in
      let heic = [UInt8]([0, 0, 0, 24]) + Array("ftypheic".utf8) + [UInt8](repeating: 0, count: 100)
      let sentences: [(bytes: [UInt8], status: Int, text: String)] = [
        (heic, 415, "JPEG, PNG or WebP"), ([0xFF, 0xD8, 0xFF, 0xD0, 0, 0], 422, "damaged"),
        (Array(PictureSample.jpeg().clean.dropLast()), 422, "too early"),
        (PictureSample.png(width: 8193).dirty, 422, "8192 pixels"), (Array("no picture".utf8), 415, "this is no"),
        (PictureSample.jpeg(pixels: 200_001).dirty, 413, "200000 bytes"),
      ]
      for (bytes, status, text) in sentences {
        let answer = try scene.put(Self.id, bytes)
        #expect(answer.status == status)
        #expect(String(decoding: answer.body, as: UTF8.self).contains(text))
        #expect(scene.files == [])
      }
      #expect(scene.broker.registrations == 0)
      #expect(scene.broker.barred.contains(Self.id), "its place is free again")
    }
  }

  @Test("an id is of one app alone")
  func purposes() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.png()
      #expect(try scene.put(Self.id, sample.dirty).status == 201)
      scene.broker.show(to: "ada")
      scene.path = PicturePurpose.state.path
      #expect(try scene.put(Self.id, sample.dirty).status == 409)
      #expect(try scene.get(Self.id).status == 404)
      #expect(try scene.ask("HEAD", "\(scene.path)?id=\(Self.id)").status == 409)
      let other = String(repeating: "e", count: 32)
      #expect(try scene.put(other, PictureScene.picture(300_000), 0..<100_000).status == 202)
      scene.path = PicturePurpose.clique.path
      #expect(try scene.put(other, sample.dirty).status == 409)
      #expect(try scene.ask("DELETE", "\(scene.path)?id=\(other)").status == 200)
      #expect(scene.files.contains(other + ".part"), "the other app's upload goes on")
    }
  }

  @Test("without the app there is nothing, and each app's pictures stand beside the other's")
  func switchedOff() async throws {
    try await withPictures { scene throws in
      scene.path = PicturePurpose.clique.path
      #expect(try scene.put(Self.id, PictureSample.png().dirty).status == 404)
    }
    try await withPictures({ $0.purposes = [.clique] }) { scene throws in
      #expect(try scene.put(Self.id, PictureSample.png().dirty).status == 404)
    }
  }

  @Test("what is discarded, forgotten, or gone at the broker is deleted with all that was cleaned of it")
  func deleted() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.jpeg(pixels: 100_000)
      let total = sample.dirty.count
      scene.broker.refusal = .internalError
      #expect(try scene.put(Self.id, sample.dirty).status == 503)
      scene.broker.refusal = nil
      #expect(scene.files == [Self.id + ".clean", Self.id + ".part"])
      #expect(try scene.ask("DELETE", "\(scene.path)?id=\(Self.id)").status == 200)
      #expect(scene.files == [])
      let others = (0..<3).map { String(repeating: "\($0)", count: 32) }
      for id in others { #expect(try scene.put(id, sample.dirty).status == 201) }
      try scene.discard([others[0]])
      #expect(scene.files == [others[1], others[2]])
      scene.broker.forget(others[1])
      scene.service.reconcile()
      #expect(try scene.harness.wait { scene.files == [others[2]] })
      #expect(try scene.put(String(repeating: "9", count: 32), sample.dirty, 0..<(total - 1)).status == 202)
      let forgotten = DispatchSemaphore(value: 0)
      scene.service.forget(["ada"]) { _ in forgotten.signal() }
      forgotten.wait()
      #expect(scene.files == [])
    }
  }

  private func read(_ picture: TakenPicture, in scene: PictureScene) throws -> [UInt8]? {
    let done = DispatchSemaphore(value: 0)
    let read = Mutex<[UInt8]?>(nil)
    try scene.reader().read(
      picture.id, picture.upload, key: picture.key, total: picture.bytes, 0..<picture.bytes
    ) { result in
      read.withLock { $0 = try? result.get() }
      done.signal()
    }
    done.wait()
    return read.withLock(\.self)
  }

  @Test("what reports keep is read by its upload alone; its owner finds nothing under the id, and uploads there anew")
  func kept() async throws {
    try await withClique { scene throws in
      // Its own dashes, and digits behind one, do not make it another id.
      let id = "a-0123456789abcdef0123456789abcdef-_"
      let (first, second) = (PictureSample.jpeg(pixels: 300_000), PictureSample.png())
      #expect(try scene.put(id, first.dirty).status == 201)
      let taken = try #require(scene.broker.picture(id))
      #expect(try read(taken, in: scene) == first.clean, "while it stands")
      let fate = PictureFate(id: id, isGone: true, kept: [taken.upload])
      for _ in 0..<2 { try scene.decide([fate]) }
      #expect(scene.files.count == 1 && scene.files.first?.hasSuffix(".kept") == true)
      #expect(try read(taken, in: scene) == first.clean)
      #expect(try scene.offset(id) == "0")
      #expect(try scene.get(id).status == 404)
      #expect(try scene.put(id, second.dirty).status == 201)
      let other = try #require(scene.broker.picture(id))
      #expect(try read(taken, in: scene) == first.clean && read(other, in: scene) == second.clean)
      try scene.decide([PictureFate(id: id, isGone: false, released: [taken.upload])])
      #expect(scene.files == [id])
      #expect(try read(taken, in: scene) == nil && read(other, in: scene) == second.clean)
    }
  }

  @Test("what the disk does not let be kept is not deleted, and kept when it does", .inFolderAlone)
  func keptAtLast() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.png()
      let other = String(repeating: "7", count: 32)
      for id in [Self.id, other] { #expect(try scene.put(id, sample.dirty).status == 201) }
      let taken = try #require(scene.broker.picture(Self.id))
      let name = KeptPictureName(Self.id, taken.upload).name
      let obstacle = scene.folder + "/" + name
      try FileManager.default.createDirectory(atPath: obstacle + "/in", withIntermediateDirectories: true)
      scene.service.decide([PictureFate(id: Self.id, isGone: true, kept: [taken.upload])])
      // Is done after that.
      scene.service.decide([PictureFate(gone: other)])
      #expect(try scene.harness.wait { scene.files.count == 2 })
      #expect(scene.files == [Self.id, name])
      try FileManager.default.removeItem(atPath: obstacle)
      try scene.decide([])
      #expect(scene.files == [name])
      #expect(try read(taken, in: scene) == sample.clean)
    }
  }

  @Test("what reports keep is found out again after a link was lost: kept, or gone with the last of them or its owner")
  func keptLater() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.png()
      let ids = (0..<3).map { String(repeating: "\($0)", count: 32) }
      for id in ids { #expect(try scene.put(id, sample.dirty).status == 201) }
      let taken = try ids.map { try #require(scene.broker.picture($0)) }
      for picture in taken.dropLast() {
        scene.broker.keep(picture.id, [picture.upload])
        scene.broker.forget(picture.id)
      }
      scene.service.reconcile()
      func keptFiles() -> [String] { scene.files.filter { $0.hasSuffix(".kept") } }
      #expect(try scene.harness.wait { keptFiles().count == 2 && scene.files.count == 3 })
      scene.broker.keep(ids[0], [])
      scene.service.reconcile()
      #expect(try scene.harness.wait { keptFiles().count == 1 && scene.files.count == 2 })
      #expect(try read(taken[1], in: scene) == sample.clean)
      let forgotten = DispatchSemaphore(value: 0)
      scene.service.forget(["ada"]) { _ in forgotten.signal() }
      forgotten.wait()
      #expect(scene.files == [])
    }
  }

  @Test("what is cleaned is on the disk under a key of its own, and not as it is", .inFolderAlone)
  func encrypted() async throws {
    try await withClique { scene throws in
      let sample = PictureSample.jpeg(pixels: 200_000)
      #expect(try scene.put(Self.id, sample.dirty).status == 201)
      let key = try #require(scene.broker.picture(Self.id)?.key)
      let file = try Data(contentsOf: URL(fileURLWithPath: scene.folder + "/" + Self.id))
      #expect(file.firstRange(of: key) == nil && file.firstRange(of: PictureSample.secret) == nil)
      for start in stride(from: 400, to: sample.clean.count - 8, by: 997) {
        #expect(file.firstRange(of: sample.clean[start..<(start + 8)]) == nil)
      }
    }
  }
}
