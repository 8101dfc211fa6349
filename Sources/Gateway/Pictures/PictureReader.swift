import Cryptography
import Dispatch
public import ObjectStore

/// Reads pictures for the broker's process, where somebody exports a user's data: from the folder or the store in which
/// gateways keep them, on a thread of its own, since that waits for the disk or the network.
public final class PictureReader: Sendable {
  public enum Failure: Error, Sendable, Equatable {
    /// There is no file of this picture.
    case missing
    /// The file is not what was written, or the key is not its own.
    case damaged
    /// The folder, or the file, cannot be read now. The text is a sentence.
    case unavailable(String)
  }

  private let depot: any PictureDepot
  private let queue = DispatchQueue(label: "fanfare.pictures.export")

  /// - Parameter folder: of the gateways; need not exist yet.
  public init(folder: String) { depot = FolderDepot(folder: folder) }

  /// - Parameters:
  ///   - objects: the store in which the gateways keep pictures.
  ///   - userAgent: how calls of it name this server.
  /// - Throws: where the configuration cannot be used. The description is a sentence for the operator.
  public init(objects: ObjectStoreConfiguration, userAgent: String) throws(ObjectStoreFault) {
    depot = ObjectDepot(try ObjectStore(objects, userAgent: userAgent)) { _ in }
  }

  deinit { depot.close() }

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
      return try chunks(id, upload, key, total, range)
    } catch PictureFault.missing {
      if let sentence = depot.blindness { throw .unavailable(sentence) }
      throw .missing
    } catch PictureFault.damaged {
      throw .damaged
    } catch PictureFault.unavailable(let sentence) {
      throw .unavailable("a picture cannot be read now, \(sentence); try again later")
    } catch {
      throw .unavailable("a picture cannot be read now, \(error); try again later")
    }
  }

  private func chunks(
    _ id: String, _ upload: [UInt8]?, _ key: [UInt8], _ total: Int, _ range: Range<Int>
  ) throws -> [UInt8] {
    let window = PictureWindow(chunks: Self.aheadChunks)
    let picture = try depot.open(id, upload, key: key, window)
    guard picture.header.total == total, range.lowerBound % PictureFile.chunkBytes == 0,
      range.upperBound <= total
    else { throw PictureFault.damaged }
    window.end(with: (range.upperBound - 1) / PictureFile.chunkBytes)
    let key = PictureStore.fileKey(SecretKey(key), picture.header)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    for start in stride(from: range.lowerBound, to: range.upperBound, by: PictureFile.chunkBytes) {
      let chunk = try PictureStore.chunk(start / PictureFile.chunkBytes, of: picture, id: id, key: key)
      bytes += chunk.prefix(range.upperBound - start)
    }
    return bytes
  }

  /// A part of an export, of a MiB, is one call of a store; and one part is read at a time.
  private static let aheadChunks = 16
}
