/// Columns under each other: the first to the left, the others to the right.
struct TextTable {
  private var rows: [[String]] = []

  init(header: [String]) { rows = [header] }

  mutating func add(_ row: [String]) { rows.append(row) }

  var text: String {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.enumerated().map { number, row in
      let line = row.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + space : space + cell
      }
      let rule = number == 0 ? "\n" + widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ") : ""
      return trimmed(line.joined(separator: "  ")) + rule
    }.joined(separator: "\n")
  }

  private func trimmed(_ line: String) -> String {
    var line = Substring(line)
    while line.last == " " { line.removeLast() }
    return String(line)
  }
}
