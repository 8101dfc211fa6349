import TestSupport
import Testing
import Wire

@testable import Log

@Suite("How much of the disk the log takes", .ownThread)
struct DiskLimitTests {
  private func entry(
    _ subject: SQLiteSubject, _ name: ChannelName, _ position: inout StreamPosition, time: Int64 = 1000,
    usesReserve: Bool = false
  ) -> AppendOutcome {
    let outcome = subject.store.append(
      LogEntry(
        ticket: subject.nextTicket(), channel: name, epoch: position.epoch,
        publication: Publication(offset: position.offset + 1, time: time, data: .init(repeating: 1, count: 10_000)),
        durability: .durable, historySize: 10_000, historyTTLMilliseconds: 5000, mayUseReserve: usesReserve))
    if outcome == .pending { position.offset += 1 }
    return outcome
  }

  /// Publishes until the store refuses.
  private func fill(_ subject: SQLiteSubject, _ name: ChannelName, _ position: inout StreamPosition) throws -> LogError?
  {
    for count in 1...2000 {
      switch entry(subject, name, &position) {
      case .refused(let error): return error
      default: try subject.completions.wait(for: count)
      }
    }
    return nil
  }

  /// A store with the limits that `change` sets, filled until it refuses for want of room, and where the channel stands
  /// then.
  private func filled(
    in folder: TemporaryFolder, _ change: (inout DiskLimits) -> Void
  ) throws -> (SQLiteSubject, ChannelName, StreamPosition) {
    var options = SQLiteStore.Options()
    change(&options.diskLimits)
    let subject = try SQLiteSubject(folder.path, options: options)
    let name = try channel("a")
    var position = try subject.store.open(name, durability: .durable).position
    let refusal = try fill(subject, name, &position)
    guard case .full? = refusal else { throw NeverFull() }
    return (subject, name, position)
  }

  private struct NeverFull: Error {}

  @Test("At its maximum the log refuses what adds to it, takes what makes room, and goes on when history has ended")
  func maximum() throws {
    let folder = try TemporaryFolder()
    let (subject, name, full) = try filled(in: folder) { $0.maximumBytes = 1 << 20 }
    var position = full
    #expect(position.offset > 50 && position.offset < 1000)
    #expect(try subject.offsets(name).count == Int(position.offset))
    #expect(entry(subject, name, &position, usesReserve: true) == .pending)
    try subject.completions.wait(for: Int(position.offset))
    try eventually {
      subject.store.sweep(now: 10_000)
      return entry(subject, name, &position, time: 9000) == .pending
    }
  }

  @Test("With less room on the disk than is to stay free, nothing is taken")
  func minimumFree() throws {
    let folder = try TemporaryFolder()
    let (_, _, position) = try filled(in: folder) { $0.minimumFreeBytes = 1 << 60 }
    #expect(position.offset < 100)
  }
}
