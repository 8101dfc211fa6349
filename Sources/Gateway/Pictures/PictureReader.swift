import Cryptography
import Dispatch

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Reads pictures for the broker's process, where somebody exports a user's data: from the folder in which gateways keep
/// them, on a thread of its own, since that waits for the disk.
public final class PictureReader: Sendable {
  public enum Failure: Error, Sendable, Equatable {
    /// There is no file of this picture.
    case missing
    /// The file is not what was written, or the key is not its own.
    case damaged
    /// The folder, or the file, cannot be read now. The text is a sentence.
    case unavailable(String)
  }

  private let folder: String
  private let queue = DispatchQueue(label: "fanfare.pictures.export")

  /// - Parameter folder: of the gateways; need not exist yet.
  public init(folder: String) { self.folder = folder }

  /// Reads some bytes of a picture. Returns at once.
  ///
  /// - Parameters:
  ///   - id: which has to be one of a picture; any other is missing.
  ///   - upload: the upload that is meant, which may be kept for moderators alone; nil: whatever stands under the id.
  ///   - total: bytes of the whole picture; a file of another size is damaged.
  ///   - range: begins at a multiple of 64 KiB and lies within the picture.
  ///   - then: called once, on another thread.
  public func read(
    _ id: String, _ upload: [UInt8]? = nil, key: [UInt8], total: Int, _ range: Range<Int>,
    then: @escaping @Sendable (Result<[UInt8], Failure>) -> Void
  ) {
    queue.async { [self] in
      do throws(Failure) { then(.success(try read(id, upload, key, total, range))) } catch { then(.failure(error)) }
    }
  }

  private func read(
    _ id: String, _ upload: [UInt8]?, _ key: [UInt8], _ total: Int, _ range: Range<Int>
  ) throws(Failure) -> [UInt8] {
    guard PictureRequest.isID(id) else { throw .missing }
    do {
      return try chunks(of: open(id, upload), id, SecretKey(key), total, range)
    } catch PictureFault.missing {
      // A broker that was given another folder than its gateways must not say that all pictures are lost.
      guard unsafe access(folder, F_OK) == 0 else {
        throw .unavailable(
          "the folder of the pictures is not here: set state.picture_directory of the broker to that of its gateways")
      }
      throw .missing
    } catch PictureFault.damaged {
      throw .damaged
    } catch {
      throw .unavailable("a picture cannot be read now, \(error); try again later")
    }
  }

  private func open(_ id: String, _ upload: [UInt8]?) throws -> OpenPicture {
    guard let upload else { return try OpenPicture.reading(folder + "/" + id) }
    // Under its id first: it may get the other name in between, and never the other way round.
    do {
      let file = try OpenPicture.reading(folder + "/" + id)
      if try file.header().upload == upload { return file }
    } catch PictureFault.missing {}
    return try OpenPicture.reading(folder + "/" + KeptPictureName(id, upload).name)
  }

  private func chunks(
    of file: consuming OpenPicture, _ id: String, _ key: SecretKey, _ total: Int, _ range: Range<Int>
  ) throws -> [UInt8] {
    let header = try file.header()
    let key = header.purpose == .clique ? PictureFile.cleanedKey(key) : key
    guard header.total == total, range.lowerBound % PictureFile.chunkBytes == 0,
      range.upperBound <= total
    else { throw PictureFault.damaged }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    for start in stride(from: range.lowerBound, to: range.upperBound, by: PictureFile.chunkBytes) {
      let chunk = try PictureStore.chunk(start / PictureFile.chunkBytes, of: file, id: id, key: key)
      bytes += chunk.prefix(range.upperBound - start)
    }
    return bytes
  }
}
