import Foundation

/// Results as a page that stands alone: no script, nothing fetched, light and dark.
public enum HTMLReport {
  public static func write(_ results: [RunResult], to path: String) throws(BenchError) {
    try RunResult.write(Data(render(results).utf8), to: path)
  }

  static func render(_ results: [RunResult]) -> String {
    var colours: [String: Int] = [:]
    for peer in results.flatMap({ $0.peers.map(\.name) }) where colours[peer] == nil {
      colours[peer] = colours.count % 8
    }
    let names = results.map(\.scenario.name)
    let title = "fanfare-bench: " + names.joined(separator: ", ")
    var body = ["<h1>\(Markup.escape(title))</h1>"]
    if results.count > 1 {
      let links = results.indices.map { "<a href=\"#result\($0)\">\(Markup.escape(heading(results[$0])))</a>" }
      body.append("<nav>\(links.joined(separator: " · "))</nav>")
    }
    body += ReportCharts.lastAgainstCount(results, colours: colours).map(figure)
    for (index, result) in results.enumerated() { body.append(section(result, index, colours, results)) }
    return """
      <!DOCTYPE html>
      <html lang="en" xmlns="http://www.w3.org/1999/xhtml">
      <head>
      <meta charset="utf-8"/>
      <meta name="viewport" content="width=device-width, initial-scale=1"/>
      <title>\(Markup.escape(title))</title>
      <style>\(HTMLStyle.sheet)</style>
      </head>
      <body>
      <main>
      \(body.joined(separator: "\n"))
      </main>
      </body>
      </html>

      """
  }

  private static func heading(_ result: RunResult) -> String {
    "\(result.scenario.name), \(result.startedAt.prefix(10))"
  }

  private static func section(_ result: RunResult, _ index: Int, _ colours: [String: Int], _ all: [RunResult]) -> String
  {
    let summary = Summary(result)
    var parts = [
      "<section id=\"result\(index)\">", "<h2>\(Markup.escape(heading(result)))</h2>",
      "<p class=\"about\">\(Markup.escape(result.scenario.about))</p>",
      "<p class=\"shape\">\(Markup.escape(result.scenario.shape))</p>",
    ]
    parts.append(verdict(result))
    parts.append(table(summary))
    parts += (result.openingNotes + result.unknowns).map { "<p class=\"note\">\(Markup.escape($0)).</p>" }
    parts.append(goals(Verdict.all(result, beside: all)))
    parts.append("<div class=\"figures\">")
    parts += ReportCharts(result, summary, colours: colours).all.map(figure)
    parts.append("</div>")
    parts.append(turns(result))
    parts.append(circumstances(result))
    parts.append("</section>")
    return parts.joined(separator: "\n")
  }

  private static func figure(_ figure: ReportCharts.Figure) -> String {
    """
    <figure>
    <h3>\(Markup.escape(figure.title))</h3>
    \(figure.svg)
    <figcaption>\(Markup.escape(figure.note))</figcaption>
    </figure>
    """
  }

  private static func verdict(_ result: RunResult) -> String {
    let invalid = result.turns.filter { !$0.isValid }.count
    let failed = result.turns.contains(where: \.isFailure)
    let text =
      failed
      ? "A turn failed, or something was lost, came twice or out of order: see the turns below."
      : invalid > 0
        ? "\(invalid) of \(result.turns.count) turns are invalid and left out where a peer has valid ones: see the turns below."
        : "All \(result.turns.count) turns are valid: nothing lost, doubled or out of order, and the generator had room."
    return "<p class=\"verdict \(failed ? "bad" : invalid > 0 ? "warn" : "good")\">\(Markup.escape(text))</p>"
  }

  private static func table(_ summary: Summary) -> String {
    let head = summary.peers.map { "<th>\(Markup.escape($0))\(summary.doubtful.contains($0) ? " (!)" : "")</th>" }
    let rows = summary.rows.map { row in
      let cells = summary.peers.map { peer in
        guard let figure = row.figures[peer] else { return "<td>–</td>" }
        let quantity = row.metric.quantity
        let ratio = row.ratios[peer].map { "<b>\(Markup.escape(TextReport.ratio($0)))</b>" } ?? ""
        let range = "\(quantity.format(figure.least)) – \(quantity.format(figure.most))"
        let told = "\(figure.told(quantity)) (\(figure.count))"
        return "<td title=\"\(Markup.escape(range))\">\(Markup.escape(told))\(ratio)</td>"
      }
      return "<tr><th>\(Markup.escape(row.metric.label))</th>\(cells.joined())</tr>"
    }
    let note =
      "Medians of valid turns; in parentheses how many those were, of so many measured."
      + (summary.yardstick.map {
        " Below them: the ratio to \($0), of turns of the same round, as median and range."
      } ?? "")
      + (summary.doubtful.isEmpty ? "" : " (!): no turn was valid; the figures are of turns with faults.")
    return """
      <div class="scroll"><table>
      <thead><tr><th></th>\(head.joined())</tr></thead>
      <tbody>
      \(rows.joined(separator: "\n"))
      </tbody>
      </table></div>
      <p class="note">\(Markup.escape(note))</p>
      """
  }

  private static func goals(_ verdicts: [Verdict]) -> String {
    guard !verdicts.isEmpty else { return "" }
    let rows = verdicts.map {
      "<tr><th>\(Markup.escape($0.goal))</th><td>\($0.outcome.rawValue)</td>"
        + "<td class=\"left\">\(Markup.escape($0.reason))</td></tr>"
    }
    return """
      <h3>Goals</h3>
      <div class="scroll"><table class="turns"><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></div>
      """
  }

  private static func turns(_ result: RunResult) -> String {
    let rows = result.turns.map { turn in
      let notes = turn.faults + (turn.report?.remarks ?? []).map { "(\($0))" }
      let told = ProgressLine.told(turn).split(separator: "INVALID").first.map(String.init) ?? ""
      return "<tr class=\"\(turn.isValid ? "" : "bad")\"><th>\(turn.number) \(Markup.escape(turn.peer))</th>"
        + "<td>\(Markup.escape(told.trimmingCharacters(in: [",", " "])))</td>"
        + "<td>\(turn.isValid ? "valid" : "invalid")</td><td class=\"left\">\(Markup.escape(notes.joined(separator: "; ")))</td></tr>"
    }
    return """
      <h3>Turns</h3>
      <div class="scroll"><table class="turns"><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></div>
      """
  }

  private static func circumstances(_ result: RunResult) -> String {
    var rows = [
      ("machine", result.machine.described), ("started", result.startedAt), ("command", result.command),
      ("commit", result.commit ?? "unknown"), ("order of turns", result.described(order: result.order)),
    ]
    for peer in result.peers { rows.append((peer.name, "\(peer.version); \(peer.settings)")) }
    for (peer, reason) in result.skipped.sorted(by: { $0.key < $1.key }) { rows.append((peer, "skipped: \(reason)")) }
    if !result.scenario.settings.isEmpty {
      rows.append(("settings of Fanfare", result.scenario.settings.joined(separator: ", ")))
    }
    let entries = rows.map { "<dt>\(Markup.escape($0.0))</dt><dd>\(Markup.escape($0.1))</dd>" }
    return "<h3>Circumstances</h3>\n<dl>\n\(entries.joined(separator: "\n"))\n</dl>"
  }
}
