import CLinuxIO

/// Sends for many sockets in one system call, through io_uring.
///
/// A send here never waits inside the kernel: it is done, in part or wholly or not at all, when ``submit()`` returns.
/// So no buffer outlives the call, and no descriptor can be closed and given away while a send for it is under way:
/// both happen on the same thread, one after the other.
@safe final class SendRing {
  /// A batch is submitted at this size: some 0.1 ms of sends, so that a slice ends when it should.
  static let capacity = 32

  struct Entry {
    /// The connection's place in the ``OutletDirectory``.
    let outlet: UInt32
    /// Safe without a reference: no tape is given up inside a slice, and the batch is through before the slice ends.
    unowned(unsafe) let tape: Tape
    let start: UInt64
    let count: Int
  }

  private let ring: OpaquePointer
  private(set) var entries: ContiguousArray<Entry> = []
  private let results: UnsafeMutablePointer<Int32>

  /// Nil where the kernel, or a sandbox around us, does not allow io_uring.
  init?() {
    var error: Int32 = 0
    guard let ring = unsafe linuxio_ring_open(UInt32(Self.capacity), &error) else { return nil }
    unsafe self.ring = ring
    unsafe results = .allocate(capacity: Self.capacity)
    unsafe results.initialize(repeating: 0, count: Self.capacity)
    entries.reserveCapacity(Self.capacity)
  }

  deinit {
    unsafe linuxio_ring_close(ring)
    unsafe results.deallocate()
  }

  var isFull: Bool { entries.count == Self.capacity }

  func add(_ entry: Entry, _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    unsafe linuxio_ring_send(ring, descriptor, start, bytes.count, UInt32(entries.count))
    entries.append(entry)
  }

  /// Performs the batch, and tells of each send that was not taken whole, in order: `(entry, bytes taken or -errno)`.
  ///
  /// - Returns: false where the ring itself has failed and is not to be used again. A send that it did not do is told
  ///   as 0 bytes.
  func submit(_ directory: OutletDirectory, _ incomplete: (Entry, Int) -> Void) -> Bool {
    guard !entries.isEmpty else { return true }
    let failed = unsafe linuxio_ring_submit(ring, results)
    for entry in entries {
      directory.set(entry.outlet, OutletDirectory.inBatch - directory.descriptor(entry.outlet))
    }
    for (index, entry) in entries.enumerated() {
      let result = unsafe results[index]
      if result != entry.count { incomplete(entry, result == .min ? 0 : Int(result)) }
    }
    entries.removeAll(keepingCapacity: true)
    return failed == 0
  }
}
