import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Gateway

@Suite("Files of pictures of users whose data is deleted", .overBothDepots)
struct PictureForgettingTests {
  private static let other = String(repeating: "b", count: 32)
  private static let partial = String(repeating: "c", count: 32)

  private final class Ending: Sendable {
    private let state = Mutex<[Bool]>([])
    var all: [Bool] { state.withLock { $0 } }
    func note(_ isDone: Bool) { state.withLock { $0.append(isDone) } }
  }

  @Test("all files of a user are gone when it is said, whole or not, also those that the broker knows nothing of")
  func forgets() async throws {
    try await withPictures { scene throws in
      let picture = PictureScene.picture(70_000)
      #expect(try scene.put(PictureScene.id, picture).status == 201)
      #expect(try scene.put(Self.other, picture, token: "token-of-bob").status == 201)
      #expect(try scene.put(Self.partial, picture, 0..<65_536).status == 202)
      // The broker has forgotten it, and the gateway was not told.
      scene.broker.forget(PictureScene.id)
      let ending = Ending()
      scene.service.forget(["eve", "ada"]) { ending.note($0) }
      #expect(blocksUntil(within: .seconds(60)) { !ending.all.isEmpty })
      #expect(ending.all == [true] && scene.files == [Self.other])
      #expect(scene.service.store.partialCount == 0)
      #expect(try scene.put(Self.partial, picture, 65_536..<70_000).status == 409, "it cannot be gone on with")
      #expect(scene.files == [Self.other])
      #expect(try scene.put(PictureScene.id, picture).status == 201, "the id is free again")
    }
  }

  @Test("a file that the disk does not let go of is tried again, and nothing is said before it is gone")
  func triesAgain() async throws {
    try await withPictures({ $0.retryMilliseconds = 1 }) { scene throws in
      #expect(try scene.put(PictureScene.id, PictureScene.picture(1000)).status == 201)
      #expect(try scene.put(Self.other, PictureScene.picture(1000), token: "token-of-bob").status == 201)
      // What is a folder cannot be read or deleted as a file.
      let obstacle = scene.folder + "/" + Self.partial
      try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
      let (ending, later) = (Ending(), Ending())
      scene.service.forget(["ada"]) { ending.note($0) }
      // Behind several attempts, each of which goes through the whole folder.
      for _ in 0..<3 { scene.service.sweep() }
      scene.service.forget(["bob"]) { later.note($0) }
      try scene.runLoops(afterMilliseconds: 20)
      #expect(ending.all.isEmpty && later.all.isEmpty)
      try FileManager.default.removeItem(atPath: obstacle)
      #expect(blocksUntil(within: .seconds(60)) { !ending.all.isEmpty && !later.all.isEmpty })
      #expect(ending.all == [true] && later.all == [true] && scene.files == [])
    }
  }

  @Test("what was discarded before is gone too, and what could not be is tried again with it")
  func discarded() async throws {
    try await withPictures({ $0.retryMilliseconds = 1 }) { scene throws in
      #expect(try scene.put(Self.other, PictureScene.picture(1000), token: "token-of-bob").status == 201)
      let obstacle = scene.folder + "/" + Self.partial + ".part"
      try FileManager.default.createDirectory(atPath: obstacle + "/in", withIntermediateDirectories: true)
      scene.service.decide([Self.other, Self.partial].map(PictureFate.init(gone:)))
      let ending = Ending()
      scene.service.forget(["ada"]) { ending.note($0) }
      #expect(blocksUntil(within: .seconds(60)) { scene.files == [Self.partial + ".part"] })
      try scene.runLoops(afterMilliseconds: 20)
      #expect(ending.all.isEmpty)
      try FileManager.default.removeItem(atPath: obstacle)
      #expect(blocksUntil(within: .seconds(60)) { !ending.all.isEmpty })
      #expect(ending.all == [true] && scene.files == [])
    }
  }

  @Test("a service that is stopped says that it has not done it")
  func stopped() async throws {
    let folder = try TemporaryFolder()
    let broker = PictureBroker { _, _, answer in answer(.failure(.internalError)) }
    let service = try PictureService(
      PictureConfiguration(folder: folder.path + "/pictures"), verifier: PictureScene.Verifier(),
      broker: { _ in broker })
    await service.stop()
    let ending = Ending()
    service.forget(["ada"]) { ending.note($0) }
    #expect(await eventually { !ending.all.isEmpty })
    #expect(ending.all == [false])
  }
}
