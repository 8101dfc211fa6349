import Synchronization
import Wire

/// How messages are compressed for clients that ask for it.
public struct CompressionOptions: Sendable, Equatable {
  /// Shorter messages are sent as they are: there is too little in them that comes twice.
  public var leastBytes: Int

  public init(leastBytes: Int) { self.leastBytes = leastBytes }
}

/// Compresses the frames of connections that agreed on the same window (permessage-deflate, RFC 7692). Connections of
/// one gateway with the same window have the same compressor, so that they share their tapes and a publication is
/// compressed once for all of them.
///
/// That is why no context is taken over from one message to the next: each connection would need other bytes, and would
/// keep the memory of a stream while it is at rest.
final class Compressor: Sendable, Hashable {
  let window: DeflateWindow
  private let options: CompressionOptions
  private let counters: ListenerCounters
  private let pool: DeflaterPool

  init(_ window: DeflateWindow, _ options: CompressionOptions, counters: ListenerCounters, pool: DeflaterPool) {
    self.window = window
    self.options = options
    self.counters = counters
    self.pool = pool
  }

  static func == (one: Compressor, other: Compressor) -> Bool { one === other }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// - Parameter frame: one whole plain frame of a message (``ServerFrame``).
  /// - Returns: the message in a compressed frame, or the frame itself where that is not longer.
  func compress(_ frame: [UInt8], _ format: WireFormat) -> [UInt8] {
    let header = ServerFrame.headerBytes(of: frame)
    let count = frame.count - header
    guard count >= options.leastBytes, count > 0, count <= Deflater.mostBytes else { return frame }
    let window = window.fitting(count)
    // Without memory for a stream, messages go out as they are.
    guard let deflater = pool.take(window) else { return frame }
    defer { pool.giveBack(deflater, window) }
    let compressed = unsafe frame.withUnsafeBytes { bytes -> [UInt8]? in
      guard let payload = unsafe deflater.deflate(UnsafeRawBufferPointer(rebasing: bytes[header...])) else {
        return nil
      }
      return unsafe ServerFrame.compressedMessage(payload, format: format)
    }
    counters.countCompression(from: frame.count, to: (compressed ?? frame).count)
    return compressed ?? frame
  }
}

/// The streams of a gateway: as many as are in use at a time, which is one for each event loop and window at most.
final class DeflaterPool: Sendable {
  private let free = Mutex<[DeflateWindow: [Deflater]]>([:])

  /// - Returns: nil where memory is out.
  func take(_ window: DeflateWindow) -> Deflater? {
    free.withLock { $0[window]?.popLast() } ?? Deflater(window)
  }

  func giveBack(_ deflater: Deflater, _ window: DeflateWindow) {
    free.withLock { $0[window, default: []].append(deflater) }
  }
}

/// The compressors of a gateway, one for each window.
struct Compressors: Sendable {
  private let all: [DeflateWindow: Compressor]

  init(_ options: CompressionOptions, counters: ListenerCounters) {
    let pool = DeflaterPool()
    all = Dictionary(
      uniqueKeysWithValues: DeflateWindow.allCases.map {
        ($0, Compressor($0, options, counters: counters, pool: pool))
      })
  }

  subscript(window: DeflateWindow) -> Compressor? { all[window] }
}
