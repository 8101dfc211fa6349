import Foundation
import Synchronization

/// Histories that a server has on disk and not in memory, and their first reading while something else is measured.
///
/// One is read each second. The kernel may still have the file's pages: what is cold is the server.
final class ColdHistory: Sendable {
  /// Of the scenario: durable, with a history of as many publications.
  static let namespace = "archive"

  private let channels: Int
  private let publications: Int
  private let state = Mutex(State())

  private struct State {
    var failure: BenchError?
    /// Answers as they came, and in how many seconds.
    var answers: [(bytes: [UInt8], seconds: Double)] = []
    var isOver = false
  }

  private struct History: Decodable {
    struct Publication: Decodable { var offset: UInt64 }
    var publications: [Publication]
  }

  init(channels: Int, publications: Int) { (self.channels, self.publications) = (channels, publications) }

  private static func channel(_ number: Int) -> String { "\(namespace):book-\(number)" }

  /// - Throws: where the scenario's settings have no such namespace.
  static func check(_ scenario: Scenario) throws(BenchError) {
    guard scenario.settings.contains(where: { $0.hasPrefix("channel.namespaces.\(namespace).durability=durable") })
    else {
      throw BenchError(
        "this peer reads durable histories of the namespace \(namespace), which the scenario's settings lack; measure the "
          + "scenario coldread.")
    }
  }

  /// Publishes what is to be read.
  func fill(commands: String) throws(BenchError) {
    let content = "\"" + String(repeating: "x", count: 126) + "\""
    for channel in 0..<channels {
      let request = ServiceCalls.Request(
        method: "publish", parameters: "{\"channel\":\"\(Self.channel(channel))\"}", data: content)
      try ServiceCalls.make(Array(repeating: request, count: publications), at: commands)
    }
  }

  /// Begins to read, on a thread of its own.
  func begin(commands: String) {
    let reader = Thread { [self] in
      let start = MonotonicTime.now()
      do throws(BenchError) {
        for channel in 0..<channels {
          let due = start + UInt64(channel) * 1_000_000_000 + 500_000_000
          while MonotonicTime.now() < due { usleep(1000) }
          let asked = MonotonicTime.now()
          let request = ServiceCalls.Request(
            method: "history", parameters: "{\"channel\":\"\(Self.channel(channel))\",\"limit\":-1}")
          try ServiceCalls.make([request], at: commands) { _, bytes in
            let seconds = Double(MonotonicTime.now() - asked) / 1e9
            state.withLock { $0.answers.append((bytes, seconds)) }
          }
        }
      } catch { state.withLock { $0.failure = error } }
      state.withLock { $0.isOver = true }
    }
    reader.start()
  }

  /// Waits for what is being read, and looks whether it was whole.
  ///
  /// - Returns: how long it took, as a sentence.
  func conclude(seconds: Double = 120) throws(BenchError) -> [String] {
    let deadline = MonotonicTime.now() + UInt64(seconds * 1e9)
    while !state.withLock({ $0.isOver }) {
      guard MonotonicTime.now() < deadline else {
        throw BenchError("the histories were not read \(Int(seconds)) s after the measurement; is the server there?")
      }
      usleep(10_000)
    }
    let (failure, answers) = state.withLock { ($0.failure, $0.answers) }
    if let failure { throw failure }
    for (bytes, _) in answers {
      let count = (try? JSONDecoder().decode(History.self, from: Data(bytes)))?.publications.count ?? 0
      guard count == publications else {
        throw BenchError("a history of \(publications) publications was read, and \(count) came")
      }
    }
    let times = answers.map(\.seconds).sorted()
    return [
      "read for the first time meanwhile: \(channels) × a history of \(publications) publications, in "
        + "\(Quantity.seconds.format(times.first ?? 0)) to \(Quantity.seconds.format(times.last ?? 0))"
    ]
  }
}
