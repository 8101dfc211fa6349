import CoreMetrics
import Foundation
import Metering
import TestSupport
import Testing
import Wire

@testable import Log

@Suite("What the log counts", .ownThread)
struct LogMetricsTests {
  @Test(
    "Commits count with their time, entries and bytes, and a disk that refuses shows until it heals",
    arguments: Refusal.allCases)
  func commits(_ refusal: Refusal) throws {
    let folder = try TemporaryFolder()
    let registry = PrometheusRegistry(version: "1.2.3")
    func shows(_ line: String) -> Bool { String(decoding: registry.render(), as: UTF8.self).contains("\n\(line)\n") }
    let subject = try withMetricsFactory(registry) { try SQLiteSubject(folder.path) }
    let name = try channel("a")
    let epoch = try subject.store.open(name, durability: .durable).position.epoch
    for offset in 1...3 as ClosedRange<UInt64> {
      subject.append(name, epoch: epoch, offset: offset, durability: .durable)
      try subject.completions.wait(for: Int(offset))
    }
    #expect(shows("fanfare_log_commit_seconds_count 3"))
    #expect(shows("fanfare_log_commit_entries_sum 3"))
    #expect(!shows("fanfare_log_written_bytes_total 0"))
    #expect(shows("fanfare_log_commits_failed_total 0"))
    #expect(shows("fanfare_log_refusing{cause=\"disk\"} 0"))
    #expect(shows("fanfare_log_refusing{cause=\"room\"} 0"))

    try subject.perform(refusal.begin)
    let large = [UInt8](repeating: 7, count: 20_000)
    subject.append(name, epoch: epoch, offset: 4, durability: .durable, data: large)
    try subject.completions.wait(for: 4)
    #expect(shows("fanfare_log_commit_seconds_count 3"))
    #expect(shows("fanfare_log_commits_failed_total 1"))
    #expect(shows("fanfare_log_refusing{cause=\"disk\"} 1"))

    try subject.perform(refusal.end)
    subject.append(name, epoch: epoch, offset: 4, durability: .durable)
    try subject.completions.wait(for: 5)
    #expect(shows("fanfare_log_commit_seconds_count 4"))
    #expect(shows("fanfare_log_refusing{cause=\"disk\"} 0"))
  }

  @Test("A log that has lost something counts, and one that has not shows 0")
  func losses() throws {
    let folder = try TemporaryFolder()
    for losses in 0...1 {
      let registry = PrometheusRegistry(version: "1.2.3")
      let subject = try withMetricsFactory(registry) { try SQLiteSubject(folder.path) }
      let lines = String(decoding: registry.render(), as: UTF8.self).split(separator: "\n")
      #expect(lines.contains("fanfare_log_losses_total \(losses)"))
      subject.store.close()
      // As where the database was put back without its mark.
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(DataFolder.markName)")
    }
  }
}
