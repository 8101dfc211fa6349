/// A bar for each peer's median, with each turn as a dot, and a line at the yardstick's.
struct BarChart {
  struct Bar {
    var name: String
    var colour: Int
    var median: Double
    var turns: [Double]
    /// Behind the bar: the figure, and how it compares.
    var label: String
  }

  var title: String
  var quantity: Quantity
  var bars: [Bar]
  /// The yardstick's median.
  var line: Double?

  private static let (left, right, top, row, bottom) = (116.0, 140.0, 10.0, 34.0, 30.0)

  var svg: String {
    let height = Self.top + Self.row * Double(bars.count) + Self.bottom
    let axis = ChartAxis(title, .linear, of: bars.flatMap { $0.turns + [$0.median] }, quantity)
    let span = LineChart.width - Self.left - Self.right
    func place(_ value: Double) -> Double { Self.left + axis.place(value) * span }
    let base = height - Self.bottom
    var parts = [
      "<svg viewBox=\"0 0 \(Markup.number(LineChart.width)) \(Markup.number(height))\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">",
      "<title>\(Markup.escape(title))</title>",
    ]
    for tick in axis.ticks {
      let x = Markup.number(place(tick.value))
      parts.append("<path class=\"grid\" d=\"M\(x) \(Markup.number(Self.top))V\(Markup.number(base))\"/>")
      parts.append(Markup.text(tick.label, x: place(tick.value), y: base + 18, anchor: "middle"))
    }
    for (index, bar) in bars.enumerated() {
      let y = Self.top + Self.row * Double(index) + 7
      let end = place(max(bar.median, 0))
      parts.append(Markup.text(bar.name, x: Self.left - 10, y: y + 14, anchor: "end"))
      parts.append(
        "<rect class=\"bar c\(bar.colour)\" x=\"\(Markup.number(Self.left))\" y=\"\(Markup.number(y))\" width=\"\(Markup.number(end - Self.left))\" height=\"20\"/>"
      )
      for turn in bar.turns {
        parts.append(
          "<circle class=\"turn c\(bar.colour)\" cx=\"\(Markup.number(place(turn)))\" cy=\"\(Markup.number(y + 10))\" r=\"3.5\"/>"
        )
      }
      let rightmost = max(end, bar.turns.map(place).max() ?? end)
      parts.append(Markup.text(bar.label, x: rightmost + 10, y: y + 14, anchor: "start", class: "value"))
    }
    if let line {
      parts.append(
        "<path class=\"limit\" d=\"M\(Markup.number(place(line))) \(Markup.number(Self.top))V\(Markup.number(base))\"/>"
      )
    }
    parts.append(
      "<path class=\"axis\" d=\"M\(Markup.number(Self.left)) \(Markup.number(Self.top))V\(Markup.number(base))\"/>")
    parts.append("</svg>")
    return parts.joined(separator: "\n")
  }
}
