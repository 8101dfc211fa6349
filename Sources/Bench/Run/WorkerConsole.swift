import Foundation
import Glibc

/// The coordinator's side of a worker: lines of JSON from one descriptor, lines of JSON to another.
final class WorkerConsole {
  let input: Int32
  let output: Int32
  /// Whether the input is a plain file, which no epoll takes.
  var isFile = false
  private var bytes: [UInt8] = []
  private(set) var hasEnded = false

  init(input: Int32, output: Int32) {
    self.input = input
    self.output = output
  }

  /// Waits for a line; nil at the end.
  func readLine() -> [UInt8]? {
    while true {
      if let line = nextLine() { return line }
      if hasEnded { return nil }
      fill()
    }
  }

  /// The next line that was read already; nil where none is whole.
  func nextLine() -> [UInt8]? {
    guard let end = bytes.firstIndex(of: 10) else { return nil }
    let line = Array(bytes[..<end])
    bytes.removeFirst(end + 1)
    return line
  }

  /// Reads from the input once, and waits where nothing is there.
  func fill() {
    var more = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe Glibc.read(input, &more, more.count)
    if count < 0 && errno == EINTR { return }
    guard count > 0 else {
      if !bytes.isEmpty && bytes.last != 10 { bytes.append(10) }
      hasEnded = true
      return
    }
    bytes += more.prefix(count)
  }

  func write(_ message: WorkerMessage) throws(BenchError) {
    let encoder = JSONEncoder()
    guard var line = try? encoder.encode(message) else { throw BenchError("a report cannot be written as JSON") }
    line.append(10)
    var place = 0
    while place < line.count {
      let count = unsafe line[(line.startIndex + place)...].withUnsafeBytes {
        unsafe Glibc.write(output, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw BenchError("nobody reads the worker's reports") }
      place += count
    }
  }
}
