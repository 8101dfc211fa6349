/// Counts beside their thresholds, for people.
public struct CountTable: CustomStringConvertible {
  private var rows: [[String]] = [
    ["benchmark", "instructions", "threshold", "allocations", "threshold", "retains+releases"]
  ]

  public init() {}

  public mutating func add(_ name: String, _ counts: Counts, _ limit: Thresholds.Limit?) {
    rows.append([
      name, shown(counts.instructions), limit.map { shown($0.instructions) } ?? "-", shown(counts.allocations),
      limit.map { shown($0.allocations) } ?? "-", shown(counts.references),
    ])
  }

  public var description: String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      row.indices.map { column in
        let gap = String(repeating: " ", count: widths[column] - row[column].count)
        return column == 0 ? row[column] + gap : gap + row[column]
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
