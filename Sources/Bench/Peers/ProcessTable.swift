import Glibc

/// What `/proc` says of processes (proc(5)).
enum ProcessTable {
  /// All processes of a group that have not ended.
  static func processes(inGroup group: Int32) -> [Int32] {
    guard let folder = unsafe opendir("/proc") else { return [] }
    defer { unsafe closedir(folder) }
    var found: [Int32] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let process = Int32(name), let stat = stat(of: process) else { continue }
      // The first fields are state, parent and group.
      if stat.count > 2, Int32(stat[2]) == group, stat[0] != "Z", stat[0] != "X" { found.append(process) }
    }
    return found.sorted()
  }

  /// The fields of `/proc/PID/stat` from the third on; nil where the process is gone.
  static func stat(of process: Int32) -> [Substring]? {
    let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    // The program's name stands in parentheses and may hold anything.
    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
    guard let end = text.lastIndex(of: ")") else { return nil }
    return text[text.index(after: end)...].split(separator: " ")
  }

  /// The path of the bench itself, unless another is given.
  static func ownExecutable(unless given: String? = nil) throws(BenchError) -> String {
    if let given { return given }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe buffer.withMemoryRebound(to: CChar.self) { text in
        guard let start = text.baseAddress else { return 0 }
        return unsafe readlink("/proc/self/exe", start, text.count)
      }
    }
    guard count > 0 else { throw BenchError("/proc/self/exe cannot be read: \(systemReason(errno)).") }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
