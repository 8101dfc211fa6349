import Cryptography
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite("The picture store", .ownThread, .overBothDepots)
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
      try PictureStore(folder: folder, depot: try PictureStand.depot(), limits: limits) {
        clock.seconds.withLock { $0 }
      }, clock, folder)
  }

  private func id(_ number: Int) -> String { String(repeating: "0", count: 20) + String(100 + number) }

  private func begin(_ store: PictureStore, _ number: Int, user: String = "ada", start: Int? = nil) throws
    -> (PictureStore.Ticket, Int)
  {
    guard
      case .receives(let ticket, let offset, _) = try store.begin(
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
  func sizes(bytes: Int) throws {
    let header = PictureFile.Header(id: id(1), user: "ada", upload: [UInt8](repeating: 1, count: 16), total: bytes)
    let file = header.layout.fileBytes(ofPicture: bytes)
    #expect(try PictureFile.header(header.encoded, fileBytes: file) == header)
    #expect(PictureFile.offset(inFile: file, header) == bytes)
    let lastChunk = (PictureFile.chunkCount(ofPicture: bytes) - 1) * PictureFile.chunkBytes
    #expect(PictureFile.offset(inFile: file - 1, header) == lastChunk, "half of a chunk is none of it")
    #expect(PictureFile.offset(inFile: header.encoded.count, header) == 0)
    #expect(PictureFile.offset(inFile: 0, header) == 0)
  }

  @Test("a file that is none of ours is said to be damaged, wherever it is cut off")
  func damagedHeaders() {
    let header = PictureFile.Header(id: id(1), user: "ada", upload: [UInt8](repeating: 1, count: 16), total: 100)
    for count in header.encoded.indices {
      #expect(throws: PictureFault.damaged) {
        try PictureFile.header(Array(header.encoded[..<count]), fileBytes: count)
      }
    }
    var huge = header.encoded
    huge[52] = 0xFF
    #expect(throws: PictureFault.damaged) { try PictureFile.header(huge, fileBytes: 1000) }
  }

  @Test("a picture of the format before is given out as ever", .inFolderAlone)
  func oldFormat() throws {
    try withStore { store, _, folder throws in
      let picture = PictureScene.picture(100_000)
      let key = SecretKey(randomBytes: 32)
      var file = Data("FSP1".utf8) + Data(repeating: 7, count: 32)
      for index in 0..<2 {
        let chunk = picture[(index * 65_536)..<min(picture.count, (index + 1) * 65_536)]
        let number = (0..<8).map { UInt8(truncatingIfNeeded: UInt64(index) >> UInt64(56 - 8 * $0)) }
        let sealed = try AESGCM.seal(
          Array(chunk), with: key,
          authenticating: Array("fanfare picture \(id(1))".utf8) + [0] + number + [index == 1 ? 1 : 0],
          nonce: [0, 0, 0, 0] + number)
        file += sealed.dropFirst(AESGCM.nonceBytes)
      }
      try file.write(to: URL(fileURLWithPath: folder + "/" + id(1)))
      #expect(try store.outline(id: id(1)).total == 100_000)
      let bytes = key.bytes
      #expect(
        try store.chunk(0, of: id(1), key: bytes) + store.chunk(1, of: id(1), key: bytes) == picture)
    }
  }

  @Test("half a chunk, which a crash left, is written anew by whoever goes on")
  func tornChunk() throws {
    try withStore { store, clock, folder throws in
      let picture = PictureScene.picture(100_000)
      let (ticket, _) = try begin(store, 1)
      _ = try store.append(Array(picture[..<65_536]), to: ticket)
      let key = try #require(store.key(of: ticket))
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/" + id(1) + ".part"))
      try file.seekToEnd()
      try file.write(contentsOf: Data(repeating: 9, count: 30_000))
      try file.close()
      let other = try PictureStore(folder: folder, depot: try PictureStand.depot()) { clock.seconds.withLock { $0 } }
      #expect(try other.progress(id: id(1), user: "ada").offset == 65_536)
      guard
        case .needsKey(let taken, offset: 65_536) = try other.begin(
          id: id(1), user: "ada", total: 100_000, start: 65_536)
      else { throw PictureFault.empty }
      try other.adopt(key, for: taken)
      #expect(try other.append(Array(picture[65_536...]), to: taken) == 100_000)
      #expect(try other.finish(taken).type == "image/jpeg")
      try other.keep(taken)
      #expect(try store.chunk(0, of: id(1), key: key) + store.chunk(1, of: id(1), key: key) == picture)
    }
  }

  @Test("an upload that another gateway writes to is not swept, and one that nobody writes to is")
  func sweepShared() throws {
    try withStore { store, clock, folder throws in
      let (ticket, _) = try begin(store, 1)
      let other = try PictureStore(folder: folder, depot: try PictureStand.depot()) { clock.seconds.withLock { $0 } }
      let picture = PictureScene.picture(100_000)
      other.sweep()
      clock.advance(3_000)
      _ = try store.append(Array(picture[..<65_536]), to: ticket)
      clock.advance(3_000)
      other.sweep()
      #expect(try other.progress(id: id(1), user: "ada").offset == 65_536, "written to since it was seen")
      clock.advance(3_600)
      other.sweep()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      #expect(throws: PictureFault.superseded) { try store.append(Array(picture[65_536...]), to: ticket) }
    }
  }
}
