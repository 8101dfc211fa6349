import Synchronization

/// What one reader of a picture has read ahead, so that a picture of many chunks costs few calls of a store. A folder needs
/// none of it.
///
/// Bounded: one stretch of at most ``aheadChunks`` chunks for each reader, and for all of them together ``WindowRoom/limit``
/// bytes; who finds no room reads chunk by chunk.
final class PictureWindow: Sendable {
  /// The object that was found for the reader.
  struct Object: Sendable {
    var name: String
    var header: PictureFile.Header
    var fileBytes: Int
  }

  private struct State {
    var object: Object?
    var start = 0
    var bytes: [UInt8] = []
    var lastChunk: Int?
    var place: WindowRoom.Place?
  }

  /// Half a MiB: 10 calls for a picture of 5 MB.
  static let aheadChunks = 8

  /// Chunks that are read at once.
  let chunks: Int
  /// Whether the picture's first chunks are wanted, so that they come with its header.
  let beginsAtStart: Bool
  private let state = Mutex(State())

  init(chunks: Int = PictureWindow.aheadChunks, beginsAtStart: Bool = false) {
    self.chunks = chunks
    self.beginsAtStart = beginsAtStart
  }

  var object: Object? {
    get { state.withLock(\.object) }
    set { state.withLock { $0.object = newValue } }
  }

  /// It was another object than the one that is wanted.
  func clear() { state.withLock { ($0.object, $0.start, $0.bytes) = (nil, 0, []) } }

  /// Nothing is wanted behind this chunk.
  func end(with chunk: Int) { state.withLock { $0.lastChunk = chunk } }

  /// What is wanted, if all of it was read ahead.
  func bytes(at offset: Int, count: Int) -> [UInt8]? {
    state.withLock { state in
      let start = offset - state.start
      guard start >= 0, start + count <= state.bytes.count else { return nil }
      return Array(state.bytes[start..<(start + count)])
    }
  }

  /// How many bytes to read from an offset on, where `count` are wanted now.
  func reach(from offset: Int, count: Int, of object: Object, _ room: WindowRoom) -> Int {
    let layout = object.header.layout
    let stretch = chunks * (PictureFile.chunkBytes + layout.overheadBytes)
    return state.withLock { state in
      if stretch <= count { return count }
      if state.place == nil { state.place = room.take(stretch) }
      if state.place == nil { return count }
      let end = state.lastChunk.map { layout.place(ofChunk: $0 + 1) } ?? object.fileBytes
      return max(count, min(stretch, min(end, object.fileBytes) - offset))
    }
  }

  /// Bytes to read first, of an object of which nothing is known yet.
  func first(_ room: WindowRoom) -> Int {
    guard beginsAtStart else { return PictureFile.longestHeader }
    let stretch = chunks * (PictureFile.chunkBytes + PictureFile.Layout.current.overheadBytes)
    return state.withLock { state in
      if state.place == nil { state.place = room.take(stretch) }
      return PictureFile.longestHeader + (state.place == nil ? 0 : stretch)
    }
  }

  func fill(_ bytes: [UInt8], at offset: Int) {
    state.withLock { ($0.start, $0.bytes) = (offset, $0.place == nil ? [] : bytes) }
  }
}

/// Room for what all readers of a gateway read ahead.
final class WindowRoom: Sendable {
  /// A reader's share, given back with its last reference.
  final class Place: Sendable {
    private let room: WindowRoom
    private let bytes: Int

    fileprivate init(_ room: WindowRoom, _ bytes: Int) {
      self.room = room
      self.bytes = bytes
    }

    deinit { room.taken.withLock { $0 -= bytes } }
  }

  /// Bytes: 64 readers.
  static let limit = 32 << 20

  private let limit: Int
  fileprivate let taken = Mutex(0)

  init(limit: Int = WindowRoom.limit) { self.limit = limit }

  /// - Returns: nil where there is not so much.
  func take(_ bytes: Int) -> Place? {
    let isTaken = taken.withLock { taken in
      guard taken + bytes <= limit else { return false }
      taken += bytes
      return true
    }
    return isTaken ? Place(self, bytes) : nil
  }

  /// Bytes that readers have.
  var takenBytes: Int { taken.withLock { $0 } }
}
