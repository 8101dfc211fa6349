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

  private static func threads(of process: Int32) -> [SeenThread] {
    let threads = KernelThread.all(of: process)
    guard let own = threads.first(where: { $0.number == process })?.niceness else { return [] }
    return threads.map { SeenThread(name: $0.name, niceness: $0.niceness - own) }
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
