/// Lines over two axes, as SVG that stands alone.
struct LineChart {
  struct Series {
    enum Stroke: String { case solid, dashed, faint }
    var name: String
    /// Number of its colour.
    var colour: Int
    var points: [(x: Double, y: Double)]
    var stroke = Stroke.solid
    /// A dot at each point.
    var hasDots = false
    /// Whether the legend names it.
    var isNamed = true
  }

  /// A ring around a point, with a word beside it.
  struct Ring {
    var x: Double
    var y: Double
    var colour: Int
    var label: String
  }

  var title: String
  var x: ChartAxis
  var y: ChartAxis
  var series: [Series]
  var rings: [Ring] = []
  /// A line across, such as a limit, with its label.
  var limit: (y: Double, label: String)?

  static let width = 600.0
  static let height = 330.0
  /// Room for the axes' labels and, above, for the legend.
  private static let (left, right, top, bottom) = (78.0, 22.0, 34.0, 46.0)

  var svg: String {
    var parts = [
      "<svg viewBox=\"0 0 \(Markup.number(Self.width)) \(Markup.number(Self.height))\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">",
      "<title>\(Markup.escape(title))</title>",
    ]
    parts += axes
    if let limit {
      let place = vertical(limit.y)
      parts.append(
        "<path class=\"limit\" d=\"M\(Markup.number(Self.left)) \(Markup.number(place))H\(Markup.number(Self.width - Self.right))\"/>"
      )
      parts.append(Markup.text(limit.label, x: Self.left + 6, y: place - 5, anchor: "start"))
    }
    for line in series { parts += draw(line) }
    for ring in rings {
      let (x, y) = (horizontal(ring.x), vertical(ring.y))
      parts.append(
        "<circle class=\"ring c\(ring.colour)\" cx=\"\(Markup.number(x))\" cy=\"\(Markup.number(y))\" r=\"7\"/>")
      let isRight = x > Self.width * 0.75
      parts.append(Markup.text(ring.label, x: x + (isRight ? -12 : 12), y: y + 16, anchor: isRight ? "end" : "start"))
    }
    parts.append(
      Legend.draw(series.filter(\.isNamed).map { ($0.name, $0.colour, $0.stroke.rawValue) }, x: Self.left, y: 14))
    parts.append("</svg>")
    return parts.joined(separator: "\n")
  }

  private func horizontal(_ value: Double) -> Double {
    Self.left + x.place(value) * (Self.width - Self.left - Self.right)
  }
  private func vertical(_ value: Double) -> Double {
    Self.height - Self.bottom - y.place(value) * (Self.height - Self.top - Self.bottom)
  }

  private var axes: [String] {
    let (right, base) = (Self.width - Self.right, Self.height - Self.bottom)
    var parts: [String] = []
    for tick in y.ticks {
      let place = vertical(tick.value)
      parts.append(
        "<path class=\"grid\" d=\"M\(Markup.number(Self.left)) \(Markup.number(place))H\(Markup.number(right))\"/>")
      parts.append(Markup.text(tick.label, x: Self.left - 8, y: place + 4, anchor: "end"))
    }
    var taken = -1000.0
    for tick in x.ticks {
      let place = horizontal(tick.value)
      parts.append(
        "<path class=\"grid\" d=\"M\(Markup.number(place)) \(Markup.number(Self.top))V\(Markup.number(base))\"/>")
      // A label that would touch the one before is left out.
      guard place - taken > Double(tick.label.count) * 7 + 10 else { continue }
      taken = place
      parts.append(Markup.text(tick.label, x: place, y: base + 18, anchor: "middle"))
    }
    parts.append(
      "<path class=\"axis\" d=\"M\(Markup.number(Self.left)) \(Markup.number(base))H\(Markup.number(right))\"/>")
    parts.append(Markup.text(x.label, x: (Self.left + right) / 2, y: Self.height - 8, anchor: "middle"))
    let middle = (Self.top + base) / 2
    parts.append(
      "<text transform=\"translate(11 \(Markup.number(middle))) rotate(-90)\" text-anchor=\"middle\">\(Markup.escape(y.label))</text>"
    )
    return parts
  }

  private func draw(_ line: Series) -> [String] {
    let points = line.points.filter { $0.x.isFinite && $0.y.isFinite && (y.scale != .logarithmic || $0.y > 0) }
      .map { (horizontal($0.x), vertical($0.y)) }
    guard !points.isEmpty else { return [] }
    let path = points.enumerated().map { "\($0 == 0 ? "M" : "L")\(Markup.number($1.0)) \(Markup.number($1.1))" }
      .joined()
    var parts = ["<path class=\"line \(line.stroke.rawValue) c\(line.colour)\" d=\"\(path)\"/>"]
    if line.hasDots {
      parts += points.map {
        "<circle class=\"dot c\(line.colour)\" cx=\"\(Markup.number($0.0))\" cy=\"\(Markup.number($0.1))\" r=\"3\"/>"
      }
    }
    return parts
  }
}

/// Names with samples of their lines, one after another.
enum Legend {
  static func draw(_ entries: [(name: String, colour: Int, stroke: String)], x: Double, y: Double) -> String {
    var place = x
    return entries.map { entry in
      defer { place += 34 + Double(entry.name.count) * 7.4 }
      return
        "<path class=\"line \(entry.stroke) c\(entry.colour)\" d=\"M\(Markup.number(place)) \(Markup.number(y))h18\"/>"
        + Markup.text(entry.name, x: place + 23, y: y + 4, anchor: "start")
    }.joined(separator: "\n")
  }
}

enum Markup {
  static func escape(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      // XML has no other control characters.
      case "\n", "\t": escaped.unicodeScalars.append(scalar)
      default: if scalar.value >= 0x20 && scalar.value != 0x7F { escaped.unicodeScalars.append(scalar) }
      }
    }
    return escaped
  }

  static func text(_ text: String, x: Double, y: Double, anchor: String, class name: String = "") -> String {
    "<text \(name.isEmpty ? "" : "class=\"\(name)\" ")x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\">\(escape(text))</text>"
  }

  /// A coordinate: a tenth of a unit is finer than any screen.
  static func number(_ value: Double) -> String { JSONValue.plain((value * 10).rounded() / 10) }
}
