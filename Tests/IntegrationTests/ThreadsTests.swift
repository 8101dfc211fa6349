import Foundation
import TestSupport
import Testing

/// Whoever looks at night which thread is busy reads its name; and those who serve clients go before those who do not.
@Suite("Threads of a server")
struct ThreadsTests {
  private struct SeenThread: Equatable {
    var name: String
    /// Above that of the process, which may have been started with one of its own.
    var niceness: Int
  }

  /// Those of a process, as the kernel has them.
  private static func threads(of process: Int32) -> [SeenThread] {
    let folder = "/proc/\(process)/task"
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard let own = thread("\(folder)/\(process)")?.niceness else { return [] }
    return tasks.compactMap { thread("\(folder)/\($0)") }.map { SeenThread(name: $0.name, niceness: $0.niceness - own) }
  }

  private static func thread(_ folder: String) -> SeenThread? {
    guard let line = try? String(contentsOfFile: "\(folder)/stat", encoding: .utf8),
      let begin = line.firstIndex(of: "("), let end = line.lastIndex(of: ")")
    else { return nil }
    // The state comes first behind the name, and the niceness is the seventeenth value from there.
    let values = line[line.index(after: end)...].split(separator: " ")
    guard values.count > 16, let niceness = Int(values[16]) else { return nil }
    return SeenThread(name: String(line[line.index(after: begin)..<end]), niceness: niceness)
  }

  @Test("each has its name, and what writes and searches beside the clients leaves them the processor")
  func names() async throws {
    try await Deployment.with(.serve) { deployment in
      let process = deployment.broker.identifier
      let expected = [
        SeenThread(name: "fanfare-accept", niceness: 5), SeenThread(name: "fanfare-log", niceness: 0),
        SeenThread(name: "fanfare-read-0", niceness: 0), SeenThread(name: "fanfare-search", niceness: 10),
        SeenThread(name: "fanfare-why", niceness: 10),
      ]
      #expect(
        await eventually {
          let threads = Self.threads(of: process)
          return expected.allSatisfy { threads.contains($0) }
        }, "\(Self.threads(of: process))")
    }
  }
}
