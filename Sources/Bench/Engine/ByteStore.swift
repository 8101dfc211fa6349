import Glibc

/// Bytes that wait: behind a connection's parser for their rest, or before a socket for room. Plain memory, because it
/// stands in connections that do; ``free()`` it by hand.
@safe struct ByteStore {
  private var memory: UnsafeMutableRawPointer?
  private var start = 0
  private var end = 0
  private var capacity = 0

  var count: Int { end - start }
  var isEmpty: Bool { end == start }
  var base: UnsafeMutableRawPointer? { unsafe memory.map { unsafe $0 + start } }
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  /// Room for so many more bytes behind those that are there; ``commit(_:)`` says how many were written.
  mutating func reserve(_ more: Int) -> UnsafeMutableRawPointer {
    if let memory = unsafe memory, end + more <= capacity { return unsafe memory + end }
    let needed = count + more
    if let memory = unsafe memory, needed <= capacity {
      unsafe memmove(memory, memory + start, count)
      (start, end) = (0, end - start)
      return unsafe memory + end
    }
    let larger = max(256, needed.leadingZeroBitCount > 1 ? 1 << (Int.bitWidth - needed.leadingZeroBitCount) : needed)
    let fresh = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    if let base = unsafe base { unsafe fresh.copyMemory(from: base, byteCount: count) }
    unsafe memory?.deallocate()
    unsafe (memory, start, end, capacity) = unsafe (fresh, 0, count, larger)
    return unsafe fresh + end
  }

  mutating func commit(_ written: Int) { end += written }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    guard let source = more.baseAddress else { return }
    unsafe reserve(more.count).copyMemory(from: source, byteCount: more.count)
    commit(more.count)
  }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
  }

  mutating func removeFirst(_ count: Int) {
    start += count
    if start == end { (start, end) = (0, 0) }
  }

  mutating func removeAll() { (start, end) = (0, 0) }

  mutating func free() {
    unsafe memory?.deallocate()
    self = ByteStore()
  }
}
