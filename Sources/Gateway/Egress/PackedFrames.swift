import Synchronization
import Wire

/// One message's bytes for connections whose messages are not wrapped in plain frames: made by the first event loop that
/// asks for them, and for all of them.
final class PackedFrames: Sendable {
  private let frames = Mutex<[TapeForm: [UInt8]]>([:])

  /// - Parameter plain: the message as a plain frame of the same format.
  func frame(_ form: TapeForm, of plain: [UInt8]) -> [UInt8] {
    frames.withLock { known in
      if let frame = known[form] { return frame }
      let frame = form.packing.pack(plain, form.format)
      known[form] = frame
      return frame
    }
  }
}

/// How many clients have messages that are not wrapped in plain frames, on all event loops. While there is none, nobody
/// makes room for their bytes.
final class PackedClients: Sendable {
  private let count = Atomic<Int>(0)

  var areThere: Bool { count.load(ordering: .relaxed) > 0 }

  func add(_ change: Int) { count.add(change, ordering: .relaxed) }
}
