import Foundation
import Synchronization
import Testing

@testable import Gateway

@Suite("The picture store")
struct PictureStoreTests {
  private final class Clock: Sendable {
    let seconds = Mutex<Int64>(1_000_000)
    func advance(_ more: Int64) { seconds.withLock { $0 += more } }
  }

  private func withStore(
    _ configure: (inout PictureStore.Limits) -> Void = { _ in }, _ body: (PictureStore, Clock, String) throws -> Void
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-" + UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let clock = Clock()
    var limits = PictureStore.Limits()
    configure(&limits)
    try body(
      try PictureStore(folder: folder, limits: limits) { clock.seconds.withLock { $0 } }, clock, folder)
  }

  private func id(_ number: Int) -> String { String(repeating: "0", count: 20) + String(100 + number) }

  private func begin(_ store: PictureStore, _ number: Int, user: String = "ada", start: Int? = nil) throws
    -> (PictureStore.Ticket, Int)
  {
    guard
      case .receives(let ticket, let offset) = try store.begin(
        id: id(number), user: user, total: 100_000, start: start)
    else { throw PictureFault.empty }
    return (ticket, offset)
  }

  @Test("an upload that nobody goes on with for an hour is deleted")
  func sweep() throws {
    try withStore { store, clock, folder throws in
      let (ticket, _) = try begin(store, 1)
      _ = try store.append(Array(PictureScene.picture(65_536)), to: ticket)
      clock.advance(3_599)
      store.sweep()
      #expect(store.partialCount == 1)
      clock.advance(1)
      store.sweep()
      #expect(store.partialCount == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      #expect(throws: PictureFault.superseded) { try store.append([1], to: ticket) }
      #expect(throws: PictureFault.offset(0)) { try begin(store, 1, start: 65_536) }
    }
  }

  @Test("a user's uploads under way are few: one more ends the oldest; another user's stay")
  func evictions() throws {
    try withStore({ $0.partialsPerUser = 2 }) { store, clock, folder throws in
      _ = try begin(store, 9, user: "bob")
      for number in 1...3 {
        clock.advance(1)
        _ = try begin(store, number)
      }
      #expect(store.partialCount == 3)
      #expect(
        try Set(FileManager.default.contentsOfDirectory(atPath: folder))
          == Set([9, 2, 3].map { id($0) + ".part" }))
    }
  }

  @Test("to begin again takes another key, so that no nonce is used twice")
  func newKey() throws {
    try withStore { store, _, folder throws in
      let chunk = PictureScene.picture(65_536)
      var files: Set<Data> = []
      for _ in 0..<3 {
        let (ticket, offset) = try begin(store, 1, start: 0)
        #expect(offset == 0)
        _ = try store.append(chunk, to: ticket)
        files.insert(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + id(1) + ".part")))
      }
      #expect(files.count == 3)
    }
  }

  @Test("a chunk of another size than the next is refused, and the upload begins anew")
  func oddChunk() throws {
    try withStore { store, _, _ throws in
      let (ticket, _) = try begin(store, 1)
      #expect(throws: PictureFault.offset(0)) { try store.append(PictureScene.picture(1000), to: ticket) }
      #expect(store.partialCount == 0)
    }
  }

  @Test("where the disk does not take a chunk the upload begins anew, and nothing stays behind")
  func failedWrite() throws {
    try withStore { store, _, folder throws in
      let (ticket, _) = try begin(store, 1)
      try FileManager.default.removeItem(atPath: folder + "/" + id(1) + ".part")
      #expect(throws: PictureFault.self) { try store.append(PictureScene.picture(65_536), to: ticket) }
      #expect(store.partialCount == 0)
      #expect(try begin(store, 1).1 == 0)
    }
  }

  @Test("sizes of files and of pictures follow from each other", arguments: [1, 65_535, 65_536, 65_537, 8 << 20])
  func sizes(bytes: Int) {
    let chunks = PictureFile.chunkCount(ofPicture: bytes)
    let file = PictureFile.headerBytes + bytes + chunks * PictureFile.tagBytes
    #expect(PictureFile.pictureBytes(ofFile: file) == bytes)
    #expect(PictureFile.pictureBytes(ofFile: 36) == nil)
    #expect(PictureFile.pictureBytes(ofFile: 10) == nil)
    #expect(PictureFile.pictureBytes(ofFile: 52) == nil)
  }
}
