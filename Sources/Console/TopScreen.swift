/// Draws a ``TopFrame`` as lines of text: pure, for a terminal of any size and for a pipe.
public struct TopScreen: Sendable {
  public let width: Int
  /// Nil: as many lines as it takes.
  public let height: Int?

  private static let narrowest = 40

  public init(width: Int, height: Int? = nil) {
    self.width = max(width, Self.narrowest)
    self.height = height.map { max($0, 1) }
  }

  /// The lines, none longer than the width and no more of them than the height. What does not fit is cut at the end: what
  /// matters most stands first.
  public func lines(_ frame: TopFrame) -> [String] {
    var lines = [headline(frame)]
    for trouble in frame.troubles { lines.append("! \(trouble.visible)") }
    lines += sideBySide(table("per second", frame.rates), table("now", frame.now))
    lines += latencies(frame)
    lines += channels(frame)
    lines += sideBySide(
      clients("slowest clients", frame.slowest) { Self.bytes($0.waitingBytes) },
      clients("busiest clients", frame.busiest) { "\(Self.count($0.subscriptions)) subs" })
    if !frame.limits.isEmpty { lines += [""] + table("limits hit", Array(frame.limits.prefix(Self.listed))) }
    let fitting = lines.map(fit)
    guard let height, fitting.count > height else { return fitting }
    return Array(fitting.prefix(height))
  }

  /// Rows of a list.
  private static let listed = 8

  private func headline(_ frame: TopFrame) -> String {
    guard let seconds = frame.seconds else { return "fanfare top: one look" }
    return "fanfare top: the last \(Self.decimal(seconds)) s"
  }

  // MARK: Parts

  private func table(_ title: String, _ rows: [TopFrame.Row]) -> [String] {
    if rows.isEmpty { return [] }
    return [title.uppercased()]
      + rows.map { Self.pad(Self.value($0), to: 12, atTheRight: false) + "  " + $0.name.visible }
  }

  private func latencies(_ frame: TopFrame) -> [String] {
    if frame.latencies.isEmpty { return [] }
    return ["", "LATENCY BY HOP           P50          P99      MEASURED"]
      + frame.latencies.map { latency in
        Self.pad(latency.hop.visible, to: 16) + Self.pad(Self.time(latency.median), to: 12, atTheRight: false)
          + " " + Self.pad(Self.time(latency.p99), to: 12, atTheRight: false)
          + " " + Self.pad(Self.count(latency.count), to: 13, atTheRight: false)
      }
  }

  private func channels(_ frame: TopFrame) -> [String] {
    if frame.channels.isEmpty { return [] }
    return ["", "HOTTEST CHANNELS    BYTES/S    SUBS   PUBS/S  DELIVERIES/S"]
      + frame.channels.prefix(Self.listed).map { channel in
        Self.pad(Self.bytes(channel.bytesPerSecond), to: 27, atTheRight: false)
          + Self.pad(Self.count(channel.subscribers), to: 8, atTheRight: false)
          + Self.pad(channel.publicationsPerSecond.map(Self.decimal) ?? "-", to: 9, atTheRight: false)
          + Self.pad(channel.deliveriesPerSecond.map(Self.count) ?? "-", to: 14, atTheRight: false)
          + "  \(channel.name.visible)"
      }
  }

  private func clients(
    _ title: String, _ clients: [TopSnapshot.Client], _ value: (TopSnapshot.Client) -> String
  ) -> [String] {
    if clients.isEmpty { return [] }
    return [title.uppercased()]
      + clients.prefix(Self.listed).map { client in
        let user = client.user.isEmpty ? "(anonymous)" : client.user.visible
        return Self.pad(value(client), to: 12, atTheRight: false) + "  \(user) \(client.address.visible)"
          + " \(client.client.visible)"
      }
  }

  /// Two tables beside each other where they fit, else one below the other, after an empty line.
  private func sideBySide(_ left: [String], _ right: [String]) -> [String] {
    if left.isEmpty && right.isEmpty { return [] }
    let half = width / 2
    guard width >= 2 * Self.narrowest, !left.isEmpty, !right.isEmpty else {
      return (left.isEmpty ? [] : [""] + left) + (right.isEmpty ? [] : [""] + right)
    }
    let rows = max(left.count, right.count)
    return [""]
      + (0..<rows).map { row in
        let first = row < left.count ? left[row] : ""
        let second = row < right.count ? right[row] : ""
        return Self.pad(String(first.prefix(half - 2)), to: half) + second
      }
  }

  // MARK: Text

  private func fit(_ line: String) -> String {
    var cut = String(line.prefix(width))
    while cut.last == " " { cut.removeLast() }
    return cut
  }

  private static func pad(_ text: String, to width: Int, atTheRight: Bool = true) -> String {
    let padding = String(repeating: " ", count: max(0, width - text.count))
    return atTheRight ? text + padding : padding + text
  }

  private static func value(_ row: TopFrame.Row) -> String {
    switch row.unit {
    case .count: row.value == row.value.rounded() ? count(row.value) : decimal(row.value)
    case .perSecond: decimal(row.value)
    case .bytes, .bytesPerSecond: bytes(row.value)
    case .seconds: time(row.value)
    }
  }

  /// Thousands apart, without a fraction.
  static func count(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "-" }
    let digits = Array(String(Int64(value.rounded())))
    var text = ""
    for (place, digit) in digits.enumerated() {
      let left = digits.count - place
      if place > 0 && left % 3 == 0 && digits[place - 1] != "-" { text.append(" ") }
      text.append(digit)
    }
    return text
  }

  static func decimal(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "-" }
    if abs(value) >= 100 { return count(value) }
    let tenths = Int64((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    return "\(sign)\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  static func bytes(_ value: Double) -> String {
    var (rest, unit) = (value, "B")
    for larger in ["KiB", "MiB", "GiB", "TiB"] where abs(rest) >= 1024 { (rest, unit) = (rest / 1024, larger) }
    return "\(unit == "B" ? count(rest) : decimal(rest)) \(unit)"
  }

  static func time(_ seconds: Double) -> String {
    if seconds < 0.001 { return "\(decimal(seconds * 1_000_000)) us" }
    if seconds < 1 { return "\(decimal(seconds * 1000)) ms" }
    return "\(decimal(seconds)) s"
  }
}
