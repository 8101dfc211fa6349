import Foundation

/// A thread as Linux has it in `/proc/PID/task` (proc(5)).
public struct KernelThread: Equatable {
  /// The process's number is that of its first thread.
  public let number: Int32
  public let name: String
  /// `T` where a signal has stopped it.
  public let state: Character
  public let niceness: Int

  /// Those of a process, but for threads that end meanwhile.
  public static func all(of process: Int32) -> [KernelThread] {
    let folder = "/proc/\(process)/task"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.compactMap { number in
      (try? String(contentsOfFile: "\(folder)/\(number)/stat", encoding: .utf8)).flatMap(KernelThread.init)
    }
  }

  /// Reads the one line of `stat`.
  private init?(_ line: String) {
    // The name is the second field. It stands in parentheses and may hold anything.
    guard let begin = line.firstIndex(of: "("), let end = line.lastIndex(of: ")") else { return nil }
    let fields = line[line.index(after: end)...].split(separator: " ")
    // The state is the third field, and the niceness the nineteenth.
    guard fields.count > 16, let number = Int32(line[..<begin].dropLast()), let state = fields[0].first,
      let niceness = Int(fields[16])
    else { return nil }
    self.number = number
    name = String(line[line.index(after: begin)..<end])
    self.state = state
    self.niceness = niceness
  }
}
