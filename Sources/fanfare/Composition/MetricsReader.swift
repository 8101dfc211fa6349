import HTTPClient

/// Reads the metrics of processes over HTTP: an operator's own, wherever they stand.
final class MetricsReader: Sendable {
  private static let pageBytes = 16 << 20

  private let http: HTTPClient
  private let timeoutMilliseconds: Int

  /// - Parameter name: what runs this, for the threads and for those that are asked.
  init(_ name: String, timeoutMilliseconds: Int) {
    self.timeoutMilliseconds = timeoutMilliseconds
    http = HTTPClient(
      HTTPClient.Limits(
        connections: 16, connectionsPerHost: 2, waiting: 256, replyBytes: Self.pageBytes, allowsPrivateAddresses: true,
        certificateAuthorities: nil),
      name: name, userAgent: "fanfare-\(name)/\(Fanfare.version)")
  }

  /// The text of a page, or why it could not be read, as a sentence.
  func page(at address: String) async -> Result<String, Complaint> {
    let call = HTTPCall(
      method: "GET", url: address, headers: [], body: [], timeoutMilliseconds: timeoutMilliseconds)
    let reply = await withCheckedContinuation { continuation in http.send(call) { continuation.resume(returning: $0) } }
    switch reply {
    case .failure(let error): return .failure(Complaint("\(error)"))
    case .success(let reply) where reply.status != 200:
      return .failure(
        Complaint("the answer has status \(reply.status); name a process's metrics, http://HOST:9000/metrics"))
    case .success(let reply): return .success(String(decoding: reply.body, as: UTF8.self))
    }
  }

  /// The pages of several processes, all asked at once, and what could not be read.
  func pages(at addresses: [String]) async -> (pages: [String], troubles: [String]) {
    await withTaskGroup(of: (Int, Result<String, Complaint>).self) { group in
      for (place, address) in addresses.enumerated() {
        group.addTask { (place, await self.page(at: address)) }
      }
      var found: [(Int, Result<String, Complaint>)] = []
      for await one in group { found.append(one) }
      var (pages, troubles): ([String], [String]) = ([], [])
      for (place, result) in found.sorted(by: { $0.0 < $1.0 }) {
        switch result {
        case .success(let page): pages.append(page)
        case .failure(let error): troubles.append("\(addresses[place]): \(error)")
        }
      }
      return (pages, troubles)
    }
  }

  func close() { http.close() }
}
