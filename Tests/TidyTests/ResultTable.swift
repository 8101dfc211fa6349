import Foundation

/// A committed result of fanfare-bench, as its table of medians was printed.
enum ResultTable {
  /// Whether it has the figure in the row, in the column of that server, of five valid turns at least.
  static func holds(_ result: String, _ row: String, _ figure: String, of peer: String) -> Bool {
    let lines = result.components(separatedBy: "\n").map(cells)
    guard let column = lines.first(where: { $0.first?.hasPrefix("median ") == true })?.firstIndex(of: peer),
      let line = lines.first(where: { $0.first == row }), line.indices.contains(column)
    else { return false }
    let parts = line[column].components(separatedBy: " (")
    guard parts.count == 2, parts[0] == figure, let valid = parts[1].split(separator: "/").first else { return false }
    return Int(valid) ?? 0 >= 5
  }

  /// Columns are two spaces apart at least, and words one.
  private static func cells(_ line: String) -> [String] {
    line.components(separatedBy: "  ").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}
