/// Takes bytes in, one piece after another: an array, memory that stands ready, or a count alone.
///
/// What is written once can be written twice, to be measured first: a frame is written into memory of its own size, and a
/// message of the backbone again where the first piece of memory was too small.
protocol ByteSink {
  mutating func put(_ byte: UInt8)
  mutating func put(_ bytes: UnsafeRawBufferPointer)
  /// So many bytes, that are only made where they are wanted.
  mutating func put(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void)
}

extension ByteSink {
  @inline(__always)
  mutating func put(_ literal: StaticString) {
    unsafe put(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Disfavoured, so that a literal is taken as what it is, and not made a string first.
  @_disfavoredOverload
  @inline(__always)
  mutating func put(_ text: String) {
    let isPut: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe put(UnsafeRawBufferPointer($0)) }
    if isPut == nil { for byte in text.utf8 { put(byte) } }
  }
}

/// The backbone's encoding: numbers as varints, everything else with its length before.
extension ByteSink {
  @inline(__always)
  mutating func write(byte: UInt8) { put(byte) }

  @inline(__always)
  mutating func write(_ value: UInt64) { put(varint: value) }

  @inline(__always)
  mutating func write(_ value: [UInt8]) {
    put(varint: UInt64(value.count))
    unsafe value.withUnsafeBytes { unsafe put($0) }
  }

  @inline(__always)
  mutating func write(_ value: String) {
    put(varint: UInt64(value.utf8.count))
    put(value)
  }

  /// Eight bytes, least significant first: for numbers that are random and would need ten as a varint.
  mutating func write(fixed value: UInt64) {
    unsafe withUnsafeBytes(of: value.littleEndian) { unsafe put($0) }
  }

  mutating func write(flag: Bool) { put(flag ? 1 : 0) }

  mutating func write(optional value: [UInt8]?) {
    write(flag: value != nil)
    if let value { write(value) }
  }
}

/// The array at whose end the bytes are appended.
extension [UInt8]: ByteSink {
  @inline(__always)
  mutating func put(_ byte: UInt8) { append(byte) }

  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) { unsafe append(contentsOf: bytes) }

  @inline(__always)
  mutating func put(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
    unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { memory in
      unsafe write(memory)
      unsafe append(contentsOf: UnsafeRawBufferPointer(memory))
    }
  }
}

/// Counts the bytes and keeps none.
struct ByteCount: ByteSink {
  private(set) var count = 0

  @inline(__always)
  mutating func put(_: UInt8) { count += 1 }
  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) { count += bytes.count }
  @inline(__always)
  mutating func put(_ count: Int, _: (UnsafeMutableRawBufferPointer) -> Void) { self.count += count }
}

/// Writes into memory that stands ready, and goes on counting where that is too small.
@safe struct ByteFiller: ByteSink {
  private let memory: UnsafeMutableRawPointer
  private let capacity: Int
  /// Bytes that were put, those among them that found no room.
  private(set) var count = 0

  /// - Parameter memory: `capacity` bytes, that outlive the filler.
  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    unsafe self.memory = memory
    self.capacity = capacity
  }

  @inline(__always)
  mutating func put(_ byte: UInt8) {
    if count < capacity { unsafe memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self) }
    count += 1
  }

  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    if bytes.count <= capacity - count { unsafe (memory + count).copyMemory(from: start, byteCount: bytes.count) }
    count += bytes.count
  }

  @inline(__always)
  mutating func put(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
    if count <= capacity - self.count {
      unsafe write(UnsafeMutableRawBufferPointer(start: memory + self.count, count: count))
    }
    self.count += count
  }
}

/// What has an encoding.
protocol ByteEncodable {
  func write(to sink: inout some ByteSink)
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
