import Foundation
import Testing

@Suite("docs/DEPLOYMENT.md tells the truth about figures and kernel settings")
struct DeploymentDocumentTests {
  @Test("Each figure of the sizing table stands in the result that the row names")
  func sizing() throws {
    let rows = Self.sizing(in: try Repository.text("docs/DEPLOYMENT.md"))
    #expect(rows.count >= 10)
    for row in rows {
      #expect(Self.holds(try Repository.text(row.file), row), "\(row.name): \(row.figure) is not in \(row.file)")
    }
  }

  @Test("A figure that the result has in another row, or has otherwise, is found")
  func sizingChecker() {
    let table = """
      | What | Measured | Row | In |
      |---|---|---|---|
      | a | 5.43 KiB | memory | `r.txt` |
      | b | 5.43 KiB | other | `r.txt` |
      | c | 5.4 KiB | memory | `r.txt` |

      | What | Else |
      |---|---|
      | d | e |
      """
    let result = """
      median (valid/measured turns)  floor        fanfare
      memory                         340 B (5/5)  5.43 KiB (5/5)
      other                          5.43 KiB (5/5)  340 B (5/5)
      """
    let rows = Self.sizing(in: table)
    #expect(rows.map(\.name) == ["memory", "other", "memory"])
    #expect(rows.map { Self.holds(result, $0) } == [true, false, false])
  }

  private typealias Row = (figure: String, name: String, file: String)

  private static func sizing(in text: String) -> [Row] {
    var rows: [Row] = []
    var isTable = false
    for line in text.components(separatedBy: "\n") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if cells == ["What", "Measured", "Row", "In"] {
        isTable = true
      } else if cells.count != 4 {
        isTable = false
      } else if isTable, cells[0] != "---" {
        rows.append((cells[1], cells[2], cells[3].replacingOccurrences(of: "`", with: "")))
      }
    }
    return rows
  }

  /// Whether the column of the server itself has the figure in the row.
  private static func holds(_ result: String, _ row: Row) -> Bool {
    ResultTable.holds(result, row.name, row.figure, of: row.file.hasSuffix("-tls.txt") ? "fanfare-tls" : "fanfare")
  }

  @Test("Each setting of config/sysctl.conf is one of this kernel's, and the document says why it is there")
  func kernel() throws {
    let document = try Repository.text("docs/DEPLOYMENT.md")
    let names = try Repository.text("config/sysctl.conf").components(separatedBy: "\n")
      .filter { !$0.isEmpty && !$0.hasPrefix("#") }
      .map { $0.components(separatedBy: "=")[0].trimmingCharacters(in: .whitespaces) }
    #expect(names.count >= 6)
    for name in names {
      #expect(document.contains("`\(name)`"), "\(name)")
      // There is no such setting where no firewall follows connections, and none of these but on Linux.
      if name.contains("conntrack") || !FileManager.default.fileExists(atPath: "/proc/sys/net") { continue }
      let file = "/proc/sys/" + name.replacingOccurrences(of: ".", with: "/")
      #expect(FileManager.default.fileExists(atPath: file), "\(name)")
    }
  }
}
