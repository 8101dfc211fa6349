import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite("Reading pictures for an export", .ownThread, .overBothDepots)
struct PictureReaderTests {
  /// A folder with one picture, as a gateway leaves it.
  private struct Kept {
    let folder: TemporaryFolder
    let id = "0123456789abcdef0123456789abcdef"
    let picture: [UInt8]
    let key: [UInt8]

    init(bytes: Int) throws {
      folder = try TemporaryFolder()
      picture = PictureScene.picture(bytes)
      let store = try PictureStore(folder: folder.path, depot: try PictureStand.depot()) { 0 }
      guard case .receives(let ticket, _, _) = try store.begin(id: id, user: "ada", total: bytes, start: nil) else {
        throw PictureFault.empty
      }
      for start in stride(from: 0, to: bytes, by: PictureFile.chunkBytes) {
        _ = try store.append(Array(picture[start..<min(bytes, start + PictureFile.chunkBytes)]), to: ticket)
      }
      key = try store.finish(ticket).key
      try store.keep(ticket)
    }

    var file: URL { folder.url.appendingPathComponent(id) }

    func read(
      _ range: Range<Int>, id: String? = nil, key: [UInt8]? = nil, total: Int? = nil, in folder: String? = nil
    ) async -> Result<[UInt8], PictureReader.Failure> {
      let reader =
        try? PictureStand.objects.map { try PictureReader(objects: $0, userAgent: "tests") }
        ?? PictureReader(folder: folder ?? self.folder.path)
      guard let reader else { return .failure(.unavailable("the store cannot be used")) }
      return await withCheckedContinuation { continuation in
        reader.read(id ?? self.id, key: key ?? self.key, total: total ?? picture.count, range) {
          continuation.resume(returning: $0)
        }
      }
    }
  }

  @Test("any part that begins with a chunk is read as it was sent")
  func parts() async throws {
    let kept = try Kept(bytes: 200_000)
    for range in [0..<200_000, 0..<65_536, 65_536..<131_072, 131_072..<200_000, 65_536..<70_000, 196_608..<200_000] {
      #expect(await kept.read(range) == .success(Array(kept.picture[range])))
    }
  }

  @Test("a picture that is not there is missing; in a folder that is not there, nobody can say", .inFolderAlone)
  func missing() async throws {
    let kept = try Kept(bytes: 1000)
    #expect(await kept.read(0..<1000, id: String(repeating: "f", count: 32)) == .failure(.missing))
    #expect(await kept.read(0..<1000, id: "../../etc/passwd") == .failure(.missing))
    guard case .failure(.unavailable(let sentence)) = await kept.read(0..<1000, in: kept.folder.path + "/other") else {
      Issue.record("a folder that is not there is an empty one")
      return
    }
    #expect(sentence.contains("state.picture_directory"))
  }

  @Test(
    "a file that was changed, cut or is of another size, and a key that is not its own, are found out", .inFolderAlone)
  func damaged() async throws {
    let kept = try Kept(bytes: 100_000)
    #expect(await kept.read(0..<100_000, key: Array(repeating: 1, count: 32)) == .failure(.damaged))
    #expect(await kept.read(0..<100_000, total: 100_001) == .failure(.damaged))
    #expect(await kept.read(65_536..<165_536) == .failure(.damaged))
    #expect(await kept.read(10..<1000) == .failure(.damaged))
    let whole = try Data(contentsOf: kept.file)
    var changed = whole
    changed[changed.count - 1] ^= 1
    try changed.write(to: kept.file)
    #expect(await kept.read(0..<100_000) == .failure(.damaged))
    try whole.prefix(70_000).write(to: kept.file)
    #expect(await kept.read(0..<100_000) == .failure(.damaged))
    #expect(await kept.read(0..<65_536) == .success(Array(kept.picture[..<65_536])), "what is whole of it")
  }
}
