import Foundation
import TestSupport
import Testing

/// A real Prometheus on a free port, that reads the page of some servers five times a second.
final class PrometheusServer: Sendable {
  let port: Int
  private let process: ChildProcess

  /// - Parameters:
  ///   - folder: for its data, and what it says.
  ///   - targets: `host:port` of each server's page.
  init(in folder: URL, targets: [String]) async throws {
    let program = try #require(PrometheusTools.path(of: "prometheus"))
    let file = folder.appendingPathComponent("prometheus.json")
    // JSON is YAML.
    let configuration: [String: Any] = [
      "global": ["scrape_interval": "200ms", "scrape_timeout": "200ms"],
      "scrape_configs": [["job_name": "fanfare", "static_configs": [["targets": targets]]]],
    ]
    try JSONSerialization.data(withJSONObject: configuration).write(to: file)
    let errors = folder.appendingPathComponent("prometheus.txt")
    let process = try ChildProcess(
      program,
      [
        "--config.file=\(file.path)", "--storage.tsdb.path=\(folder.path)/tsdb", "--web.listen-address=127.0.0.1:0",
      ], environment: ProcessInfo.processInfo.environment, errors: errors)
    self.process = process
    var found: Int?
    let isThere = await eventually {
      let said = (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
      let port = said.firstMatch(of: /msg="Listening on" address=127\.0\.0\.1:(\d+)/)?.1
      if said.contains("Server is ready"), let port { found = Int(port) }
      return found != nil || !process.isRunning
    }
    guard isThere, let found else {
      process.signal(SIGKILL)
      throw Failure("Prometheus did not start: \((try? String(contentsOf: errors, encoding: .utf8)) ?? "")")
    }
    port = found
  }

  /// The value that a query has now; nil: it has none. Of several series the first.
  func value(of query: String) throws -> Double? {
    struct Answer: Decodable {
      struct Found: Decodable { var result: [Series] }
      struct Series: Decodable { var value: Sample }
      struct Sample: Decodable {
        let value: Double?
        init(from decoder: any Decoder) throws {
          var list = try decoder.unkeyedContainer()
          _ = try list.decode(Double.self)
          value = Double(try list.decode(String.self))
        }
      }
      var data: Found
    }
    let allowed = CharacterSet.alphanumerics
    let text = query.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    let answer = try HTTPExchange(port: port).ask("GET", "/api/v1/query?query=\(text)", "Connection: close\r\n")
    guard answer.status == 200 else { throw Failure("Prometheus does not take \(query): \(answer.text)") }
    return try JSONDecoder().decode(Answer.self, from: Data(answer.body)).data.result.first?.value.value
  }

  /// Ends it and waits for its end.
  func end() async {
    process.signal(SIGKILL)
    _ = await eventually { !self.process.isRunning }
  }
}
