import CLinuxIO

extension EventLoop {
  /// Reports for good; connections stay until `stop`.
  func finish() throws(BenchError) {
    if run.cpuBegin != 0 && run.cpuEnd == nil {
      run.cpuEnd = linuxio_process_cpu()
      run.wallEnd = now
    }
    run.stage = .waiting
    run.deadline = .max
    connecting.deadline = .max
    guard !run.hasReported else { return }
    run.hasReported = true
    try console.write(.finished(makeReport()))
  }

  func makeReport() -> WorkerReport {
    let rest = ledger.endSecond()
    if rest.delivered > 0 { run.seconds.append(rest) }
    if ledger.strays > 0 {
      run.remark("\(ledger.strays) deliveries were no publications of this run, or of another group")
    }
    let groups = publishing.groups.indices.map(makeReport(group:))
    let cpu = run.cpuEnd.map { Double($0 - run.cpuBegin) / 1e9 } ?? 0
    return WorkerReport(
      groups: groups, seconds: run.seconds, lateness: publishing.lateness.encoded, reading: stamps?.reading.encoded,
      acknowledged: publishing.acknowledged.encoded, answered: publishing.answeredInTime, cpuSeconds: cpu,
      wallSeconds: run.cpuEnd == nil ? 0 : Double(run.wallEnd - run.wallBegin) / 1e9,
      received: received, disconnected: run.disconnected, resumed: resumed?.encoded,
      resumeSeconds: resumed.map { Double($0.values(at: [1])[0]) / 1e9 }, remarks: run.remarks)
  }

  private func makeReport(group: Int) -> WorkerReport.Group {
    let part = publishing.groups[group]
    let before = part.base + part.schedule.number(before: run.measureFrom)
    let after = part.base + part.schedule.count
    let table = unsafe ledger.tables[group]
    let total = total(group)
    if total < after {
      run.remark(
        "\(after - total) publications of \(plan.scenario.groups[group].name) never went out: the server took no more")
    }
    let histograms = ledger.histograms[group]
    return WorkerReport.Group(
      name: plan.scenario.groups[group].name, intended: plan.worker == 0 ? after - before : 0,
      published: part.published, refused: part.refused, unanswered: publishing.unanswered(group: group),
      expected: expected(group, before, after), delivered: table.delivered, arrived: table.arrivedInTime,
      // A publication that never went out is told of above, and is not lost.
      lost: lost(group, before, total), lostBefore: lost(group, part.reported, min(before, total)),
      duplicated: table.duplicated, misordered: table.misordered, latency: histograms.latency.encoded,
      kernel: stamps == nil ? nil : histograms.kernel.encoded, first: histograms.first.encoded,
      median: histograms.median.encoded, last: histograms.last.encoded)
  }

  /// Deliveries of a group's publications, counted since the beginning, from the one to before the other.
  private func expected(_ group: Int, _ from: Int, _ to: Int) -> Int {
    (0..<ledger.channels[group]).reduce(0) { sum, channel in
      unsafe sum + window(of: channel, from, to, group).count * Int(ledger.tables[group].members[channel])
    }
  }

  private func lost(_ group: Int, _ from: Int, _ to: Int) -> Int {
    ledger.missing(group: group) { window(of: $0, from, to, group) }
  }

  /// Sequence numbers on one channel.
  private func window(of channel: Int, _ from: Int, _ to: Int, _ group: Int) -> Range<UInt64> {
    let first = publications(of: channel, in: from, group)
    return first..<max(first, publications(of: channel, in: to, group))
  }

  /// In a resume run, the time from the beginning of the return to each client's last recovered publication.
  private var resumed: FlatHistogram? {
    guard run.isReturning else { return nil }
    let histogram = FlatHistogram()
    for index in 0..<ledger.lineCount where unsafe ledger.lines[index].lastArrival > run.origin {
      unsafe histogram.record(ledger.lines[index].lastArrival - run.origin)
    }
    return histogram
  }
}
