import Foundation
import Testing

@Suite("docs/COMPARISON.md and README.md claim what was measured, and no more")
struct ComparisonDocumentTests {
  @Test("Each figure of the comparison stands in the result that the row names, of five valid turns at least")
  func figures() throws {
    let rows = Self.rows(in: try Repository.text("docs/COMPARISON.md"))
    #expect(rows.count >= 5)
    for row in rows {
      let result = try Repository.text(row.file)
      #expect(ResultTable.holds(result, row.name, row.own, of: "fanfare"), "\(row)")
      #expect(ResultTable.holds(result, row.name, row.other, of: "nats"), "\(row)")
    }
  }

  @Test("A figure of another server, of another row or of too few turns is found")
  func checker() {
    let table = """
      | Row | Fanfare | nats-server | In |
      |---|---|---|---|
      | p50 | 1 µs | 2 µs | `r.txt` |

      | Row | Else |
      """
    #expect(Self.rows(in: table).map(\.name) == ["p50"])
    let result = """
      median (valid/measured turns)       nats       fanfare
      ─────────────────────────────  ─────────  ────────────
      p50                            2 µs (5/7)   1 µs (4/7)
      p99                            5 µs (7/7)  12 µs (7/7)
      """
    #expect(ResultTable.holds(result, "p50", "2 µs", of: "nats"))
    #expect(!ResultTable.holds(result, "p50", "1 µs", of: "fanfare"))
    #expect(ResultTable.holds(result, "p99", "12 µs", of: "fanfare"))
    #expect(!ResultTable.holds(result, "p99", "2 µs", of: "fanfare"))
    #expect(!ResultTable.holds(result, "p99", "5 µs", of: "fanfare"))
    #expect(!ResultTable.holds(result, "p9", "5 µs", of: "nats"))
  }

  /// What README.md says, and where it stands.
  private static let claims: [(said: String, file: String, row: String, figure: String)] = [
    ("to one of 1,000 costs 0.91 times", "fanout", "CPU per delivery", "0.91×"),
    ("to one of 10,000 0.97 times", "fanout-10k", "CPU per delivery", "0.97×"),
    ("with a p99 of 3.9 ms", "durable", "p99", "3.90 ms"),
    ("A message at rest takes 0.42 ms", "latency", "p50", "424 µs"),
    ("through nats-server 0.31 ms", "latency", "p50", "309 µs"),
    ("5.8 KiB of the server's memory each", "idle", "memory per connection", "5.76 KiB"),
    ("within 2.2 s", "resumestorm", "time until all recovered", "2.13 s"),
  ]

  @Test("Each figure of README.md stands in the committed results, and there are no others")
  func readme() throws {
    let text = try Repository.text("README.md").replacingOccurrences(of: "\n", with: " ")
    let measured = try #require(text.components(separatedBy: "## Measured").last?.components(separatedBy: " ## ").first)
    for claim in Self.claims {
      #expect(measured.contains(claim.said), "\(claim)")
      let lines = try Repository.text("benchmarks/results/\(claim.file).txt").components(separatedBy: "\n")
      #expect(lines.contains { $0.hasPrefix("\(claim.row)  ") && $0.contains(" \(claim.figure) (") }, "\(claim)")
    }
    var rest = measured
    for claim in Self.claims { rest = rest.replacingOccurrences(of: claim.said, with: "") }
    let digits = rest.split { !$0.isNumber && $0 != "," && $0 != "." }.map(String.init).filter {
      $0.contains(where: \.isNumber)
    }
    // How many there were of each, which the results say in the commands with which they were made.
    #expect(digits == ["5,000", "10,000", "100"])
  }

  private typealias Row = (name: String, own: String, other: String, file: String)

  private static func rows(in text: String) -> [Row] {
    var rows: [Row] = []
    var isTable = false
    for line in text.components(separatedBy: "\n") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if cells == ["Row", "Fanfare", "nats-server", "In"] {
        isTable = true
      } else if cells.count != 4 {
        isTable = false
      } else if isTable, cells[0] != "---" {
        rows.append((cells[0], cells[1], cells[2], cells[3].replacingOccurrences(of: "`", with: "")))
      }
    }
    return rows
  }
}
