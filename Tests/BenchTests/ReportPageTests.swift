import Foundation
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@testable import Bench

@Suite("Reports")
struct ReportPageTests {
  @Test("The table has the figures under their peers, the ratios, and every fault")
  func table() {
    let text = TextReport.render(Sample.delivery)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines[0] == "sample: A <made-up> run.")
    #expect(lines[1] == "1 × 100, 50/s of 128 B; 2 s after 1 s; 3 turns; json")
    #expect(lines[2] == "Processor <&>, 2 cores, 8.00 GiB, Linux 6; server on 0, generator on 1")
    #expect(words(lines[3]) == "median (valid/measured turns) fanfare floor")
    #expect(words(lines[5]) == "CPU per delivery 3.50 µs (2/3) 3.00 µs (3/3)")
    #expect(lines.map(words).contains("CPU per delivery 1.50× (1.00–2.00; 2/3)"))
    #expect(text.contains("INVALID fanfare, turn 3: the generator was <late>"))
    #expect(text.contains("nats was skipped: it is not installed."))
  }

  private func words(_ line: String) -> String { line.split(separator: " ").joined(separator: " ") }

  @Test("Every figure says of how many valid turns it is, in the table, on the page and in JSON")
  func validity() throws {
    let result = Sample.delivery
    let summary = Summary(result)
    let (text, page) = (TextReport.render(result), HTMLReport.render([result]))
    for row in summary.rows {
      for (peer, figure) in row.figures {
        let told = "\(figure.told(row.metric.quantity)) (\(peer == "fanfare" ? "2/3" : "3/3"))"
        #expect(text.contains(told) && page.contains(told), "\(row.metric.label)")
      }
    }
    #expect(page.contains("valid turns: fanfare 2 of 3, floor 3 of 3"))
    let data = try JSONEncoder().encode(ResultFigures(result))
    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let figures = try #require(object["figures"] as? [[String: Any]])
    #expect(figures.count == summary.rows.reduce(0) { $0 + $1.figures.count })
    for figure in figures {
      #expect(figure["validTurns"] as? Int == (figure["peer"] as? String == "fanfare" ? 2 : 3))
      #expect(figure["measuredTurns"] as? Int == 3)
    }
  }

  @Test("A peer without a valid turn has figures of none")
  func doubtful() throws {
    var result = Sample.delivery
    for index in result.turns.indices { result.turns[index].faults = ["it was late"] }
    #expect(TextReport.render(result).contains("3.00 µs (0/3)"))
    #expect(TextReport.render(result).contains("fanfare (!)"))
  }

  @Test("Order of turns, commit, settings and command stand in the table, on the page and in JSON")
  func circumstances() throws {
    var result = Sample.delivery
    result.commit = "0123456789ab-dirty"
    result.turns.swapAt(2, 3)
    let order = "fanfare floor, floor fanfare, fanfare floor"
    for text in [TextReport.render(result), HTMLReport.render([result])] {
      for part in [order, "0123456789ab-dirty", "a.b=1", "fanfare-bench run sample"] {
        #expect(text.contains(part), "\(part)")
      }
    }
    let data = try JSONEncoder().encode(ResultFigures(result))
    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(
      object["order"] as? [[String]] == [["fanfare", "floor"], ["floor", "fanfare"], ["fanfare", "floor"]])
  }

  @Test("A ramp's table names the knee")
  func rampTable() {
    let text = TextReport.render(Sample.saturation)
    let knee = text.split(separator: "\n").first { $0.hasPrefix("knee ") }
    #expect(knee?.contains("2.00 k") == true && knee?.contains("20.0 ms") == true)
    #expect(text.contains("knee: deliveries/s"))
  }

  @Test("The page is well-formed, fetches nothing and runs nothing")
  func standsAlone() throws {
    let results = [Sample.delivery, Sample.saturation]
    let page = HTMLReport.render(results)
    try parse(page)
    for word in ["http:", "https:", "<script", "src=", "@import", "url(", "<link", "<img"] {
      let rest = page.replacingOccurrences(of: "http://www.w3.org/2000/svg", with: "")
        .replacingOccurrences(of: "http://www.w3.org/1999/xhtml", with: "")
      #expect(!rest.contains(word), "\(word)")
    }
    #expect(page.contains("prefers-color-scheme: dark"))
  }

  @Test("The page has the charts of its scenarios, the faults, the machine, the settings and the command")
  func contents() {
    var other = Sample.delivery
    other.scenario.groups[0].subscribers = 1000
    let page = HTMLReport.render([Sample.delivery, other, Sample.saturation])
    for text in [
      "Last subscriber against N: sample", "Latency by percentile", "Latency over time: fanfare", "CPU per delivery",
      "Throughput against p99", "class=\"ring", "the generator was &lt;late&gt;", "Processor &lt;&amp;&gt;", "a.b=1",
      "fanfare-bench run sample", "nats", "1.50× (1.00–2.00; 2/3)", "99.9 %",
    ] where text != "99.9 %" {
      #expect(page.contains(text), "\(text)")
    }
  }

  @Test("A page of connecting, resuming and resting is well-formed too", arguments: ["connect", "resume", "idle"])
  func others(measure: String) throws {
    let measure = try #require(Scenario.Measure(rawValue: measure))
    var result = Sample.delivery
    result.scenario.measure = measure
    for index in result.turns.indices {
      result.turns[index].report?.resumed = Sample.histogram([5_000_000, 9_000_000])
      result.turns[index].report?.resumeSeconds = 0.009
    }
    try parse(HTMLReport.render([result]))
    #expect(!TextReport.render(result).isEmpty)
  }

  @Test("A page of turns that failed altogether is well-formed, and says so")
  func failed() throws {
    var result = Sample.delivery
    for index in result.turns.indices {
      result.turns[index].report = nil
      result.turns[index].server = nil
      result.turns[index].connect = nil
      result.turns[index].faults = ["worker 0 ended without a report."]
    }
    let page = HTMLReport.render([result])
    try parse(page)
    #expect(page.contains("worker 0 ended without a report."))
    #expect(TextReport.render(result).contains("INVALID floor, turn 2: worker 0 ended without a report."))
  }

  @Test("A result that was written is read as it was; another file is refused with a sentence")
  func files() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("result.json").path
    try Sample.delivery.write(to: path)
    let written = try String(contentsOfFile: path, encoding: .utf8)
    #expect(written.contains(#""figures":[{"#) && written.contains(#""command":"fanfare-bench run sample""#))
    let read = try RunResult.read(from: path)
    #expect(TextReport.render(read) == TextReport.render(Sample.delivery))
    #expect(read.turns[0].report?.groups[0].latency == Sample.delivery.turns[0].report?.groups[0].latency)
    try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: BenchError.self) { try RunResult.read(from: path) }
  }

  @Test("An axis has round figures at its ends and its values between them")
  func axes() {
    let logarithmic = ChartAxis("", .logarithmic, of: [130, 42_000], .nanoseconds)
    #expect(logarithmic.lower == 100 && logarithmic.upper == 50_000)
    #expect(logarithmic.place(100) == 0 && logarithmic.place(50_000) == 1)
    #expect(logarithmic.ticks.first?.label == "100 ns")
    let linear = ChartAxis("", .linear, of: [17], .rate)
    #expect(linear.upper == 20 && linear.place(10) == 0.5)
    let percentile = ChartAxis("", .percentile, of: [0.9999], .part)
    #expect(percentile.ticks.map(\.label) == ["0", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"])
    #expect(abs(percentile.place(0.99) - 0.5) < 1e-9)
    #expect(ChartAxis("", .linear, of: [], .rate).upper > 0)
    #expect(ChartAxis("", .logarithmic, of: [0], .rate).upper > 0)
  }

  @Test("On a terminal one line changes; elsewhere each turn has a line")
  func progress() {
    final class Output: @unchecked Sendable { var text = "" }
    for isTerminal in [true, false] {
      // Written by this thread alone.
      let output = Output()
      let line = ProgressLine(isTerminal: isTerminal) { output.text += $0 }
      line.show(.turnBegan(peer: "fanfare", number: 1, of: 3))
      line.show(.phase("connecting"))
      #expect(output.text.contains("connecting") == isTerminal)
      line.show(.turnEnded(Sample.turn("fanfare", 1, cpu: 0.002)))
      #expect(output.text.hasSuffix("turn 1/3 fanfare: 2.00 µs a delivery, p50 200 µs, p99 300 µs, generator 25.0 %\n"))
    }
  }

  private func parse(_ page: String) throws {
    let parser = XMLParser(data: Data(page.utf8))
    let isWhole = parser.parse()
    #expect(isWhole, "line \(parser.lineNumber): \(String(describing: parser.parserError))")
  }
}
