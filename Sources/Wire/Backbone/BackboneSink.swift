/// Takes the backbone's encoding in, one value after another.
///
/// What is written to it once can be written twice: where the first piece of memory was too small, ``ByteFiller`` knows
/// how much it takes.
protocol BackboneSink {
  mutating func write(byte: UInt8)
  /// As LEB128.
  mutating func write(_ value: UInt64)
  /// With the length before it.
  mutating func write(_ value: [UInt8])
  mutating func write(_ value: String)
}

extension BackboneSink {
  mutating func write(flag: Bool) { write(byte: flag ? 1 : 0) }

  mutating func write(optional value: [UInt8]?) {
    write(flag: value != nil)
    if let value { write(value) }
  }
}

/// Writes into memory that stands ready, and goes on counting where that is too small.
@safe struct ByteFiller: BackboneSink {
  private let memory: UnsafeMutableRawPointer
  private let capacity: Int
  private(set) var count = 0

  /// - Parameter memory: `capacity` bytes, that outlive the filler.
  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    unsafe self.memory = memory
    self.capacity = capacity
  }

  @inline(__always)
  mutating func write(byte: UInt8) {
    if count < capacity { unsafe memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self) }
    count += 1
  }

  @inline(__always)
  mutating func write(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      write(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    write(byte: UInt8(truncatingIfNeeded: rest))
  }

  mutating func write(_ value: [UInt8]) {
    write(UInt64(value.count))
    unsafe value.withUnsafeBytes { unsafe write(raw: $0) }
  }

  mutating func write(_ value: String) {
    let utf8 = value.utf8
    write(UInt64(utf8.count))
    let isWritten: Void? = unsafe utf8.withContiguousStorageIfAvailable { text in
      unsafe write(raw: UnsafeRawBufferPointer(text))
    }
    if isWritten == nil { for byte in utf8 { write(byte: byte) } }
  }

  @inline(__always)
  private mutating func write(raw bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    if bytes.count <= capacity - count { unsafe (memory + count).copyMemory(from: start, byteCount: bytes.count) }
    count += bytes.count
  }
}

/// What has an encoding.
protocol ByteEncodable {
  func write(to sink: inout some BackboneSink)
}

extension ByteEncodable {
  /// In memory of exactly its size. Most messages are put together on the stack, which costs no look at how long they
  /// will be.
  @inline(__always)
  var encoded: [UInt8] {
    let capacity = 1024
    var count = 0
    let small = unsafe withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { memory -> [UInt8] in
      guard let start = memory.baseAddress else { return [] }
      var filler = unsafe ByteFiller(start, capacity: capacity)
      write(to: &filler)
      count = filler.count
      guard count <= capacity else { return [] }
      return unsafe [UInt8](UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count))
    }
    return count <= capacity ? small : encoded(count: count)
  }

  @inline(never)
  private func encoded(count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, initialized in
      guard let start = memory.baseAddress else { return }
      var filler = unsafe ByteFiller(start, capacity: count)
      write(to: &filler)
      precondition(filler.count == count, "an encoding is another the second time")
      initialized = count
    }
  }
}
