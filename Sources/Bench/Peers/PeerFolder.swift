import Foundation
import Glibc

/// A folder of a peer's own, short enough for the path of a socket.
struct PeerFolder: Sendable {
  let path: String

  /// - Parameter name: the peer's: letters, digits and hyphens.
  init(for name: String) throws(BenchError) {
    let parent = FileManager.default.temporaryDirectory.path
    var template = Array("\(parent)/bench-\(name)-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw BenchError(
        "no folder can be made in \(parent) for \(name): \(systemReason(errno)); set TMPDIR to one that can be written to."
      )
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file that its owner alone can read.
  func write(_ text: String, to name: String) throws(BenchError) {
    let descriptor = unsafe open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw BenchError("\(file(name)) cannot be written: \(systemReason(errno)).") }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw BenchError("\(file(name)) cannot be written: \(systemReason(errno)).")
    }
  }

  /// At most the last 2 KiB of a file, printable, for a sentence to a person.
  func end(of name: String) -> String {
    guard let data = FileManager.default.contents(atPath: file(name)) else { return "" }
    let text = String(decoding: data.suffix(2048), as: UTF8.self)
    let clean = text.unicodeScalars.map { $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" ? Character($0) : "?" }
    return String(clean).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

func systemReason(_ code: Int32) -> String {
  unsafe strerror(code).map { unsafe String(cString: $0) } ?? "errno \(code)"
}
