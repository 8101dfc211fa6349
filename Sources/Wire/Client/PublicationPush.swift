/// A publication as its subscribers get it, written at once into memory of the right size.
///
/// The other replies go through general writers. This one is written once for each publication, channel and wire format,
/// in front of everything that waits, so it is measured first and then written without a step between.
struct PublicationPush {
  let channel: String
  let publication: Publication
  /// The channel's data format is binary: base64 in JSON.
  let binaryData: Bool
  let format: WireFormat

  /// Appends the reply, as it stands among others in one message.
  func append(to bytes: inout [UInt8]) {
    let size = payloadBytes
    bytes.append(contentsOf: Rendering(count: size) { memory in writePayload(to: &memory) })
  }

  /// Appends one whole WebSocket frame.
  func appendFrame(to bytes: inout [UInt8]) {
    let size = payloadBytes
    let header = ServerFrame.headerBytes(payloadBytes: size)
    bytes.append(
      contentsOf: Rendering(count: header + size) { memory in
        ServerFrame.writeHeader(payloadBytes: size, format: format, to: &memory)
        writePayload(to: &memory)
      })
  }

  private var payloadBytes: Int {
    switch format {
    case .json:
      var size = ByteCount()
      writeJSON(to: &size)
      return size.count
    case .protobuf:
      let reply = ProtobufSizes(self).reply
      return varintBytes(UInt64(reply)) + reply
    }
  }

  private func writePayload(to memory: inout MemoryWriter) {
    switch format {
    case .json: writeJSON(to: &memory)
    case .protobuf: writeProtobuf(ProtobufSizes(self), to: &memory)
    }
  }
}

/// Bytes of a known number that are written by a closure, straight into the array that they are appended to.
///
/// An array asks a sequence that it appends to copy itself into the array's memory. That is how a frame is written behind
/// others without a buffer of its own.
private struct Rendering: Sequence {
  let count: Int
  let write: (inout MemoryWriter) -> Void

  var underestimatedCount: Int { count }

  func makeIterator() -> Array<UInt8>.Iterator {
    Array(
      unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, written in
        unsafe render(into: UnsafeMutableRawBufferPointer(memory))
        written = count
      }
    ).makeIterator()
  }

  func _copyContents(
    initializing buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> (Array<UInt8>.Iterator, UnsafeMutableBufferPointer<UInt8>.Index) {
    precondition(buffer.count >= count, "an array reserves what a sequence says that it holds")
    unsafe render(into: UnsafeMutableRawBufferPointer(buffer))
    return ([].makeIterator(), count)
  }

  private func render(into memory: UnsafeMutableRawBufferPointer) {
    var writer = unsafe MemoryWriter(UnsafeMutableRawBufferPointer(rebasing: memory[..<count]))
    write(&writer)
    precondition(writer.isFull, "a frame was measured otherwise than it was written")
  }
}

/// What both the measuring and the writing of a text are made of.
protocol ByteSink {
  mutating func put(_ literal: StaticString)
  mutating func put(_ bytes: UnsafeRawBufferPointer)
}

struct ByteCount: ByteSink {
  private(set) var count = 0

  @inline(__always)
  mutating func put(_ literal: StaticString) { count += literal.utf8CodeUnitCount }
  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) { count += bytes.count }
}

/// A cursor in memory that is as large as what is to be written.
@safe struct MemoryWriter: ByteSink {
  private var rest: UnsafeMutableRawBufferPointer

  init(_ memory: UnsafeMutableRawBufferPointer) { unsafe rest = memory }

  var isFull: Bool { unsafe rest.isEmpty }

  @inline(__always)
  mutating func put(_ literal: StaticString) {
    unsafe put(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  @inline(__always)
  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    if unsafe bytes.isEmpty { return }
    unsafe taking(bytes.count).copyMemory(from: bytes)
  }

  @inline(__always)
  mutating func put(_ byte: UInt8) { unsafe taking(1)[0] = byte }

  /// The memory of the next so many bytes.
  @inline(__always)
  mutating func taking(_ count: Int) -> UnsafeMutableRawBufferPointer {
    // Checked always: what comes from peers decides how much is written.
    precondition(unsafe count <= rest.count, "a frame was measured otherwise than it was written")
    let taken = unsafe UnsafeMutableRawBufferPointer(rebasing: rest[..<count])
    unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
    return unsafe taken
  }
}
