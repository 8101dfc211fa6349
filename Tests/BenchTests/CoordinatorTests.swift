import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Bench

/// A server that is none; it remembers what was done to it.
private struct FakePeer: Peer {
  let name: String
  let journal: Journal
  var isAbsent = false

  func describe() throws(BenchError) -> PeerDescription {
    if isAbsent { throw BenchError("it is not installed.") }
    return PeerDescription(name: name, version: "1", settings: "none")
  }

  func start(_ scenario: Scenario, cores: [Int]) throws(BenchError) -> RunningPeer {
    journal.add("start \(name)")
    return RunningPeer(target: .loopback("floor", "ws://127.0.0.1:1/"), processes: []) { journal.add("stop \(name)") }
  }
}

private final class Journal: Sendable {
  private let lines = Mutex<[String]>([])
  func add(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

/// Workers that are scripts: they say what a file holds.
private struct FakeWorker {
  let folder: URL

  /// - Parameter onBegin: shell commands for the order to begin.
  init(onBegin: String = "cat \"$1/finished\"", delivered: Int = 10, lost: Int = 0) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let ready = ConnectReport(connections: 3, seconds: 0.1, latency: Sample.histogram([1000]))
    try write(.ready(ready), to: "ready")
    try write(.finished(Sample.report(delivered: delivered, lost: lost)), to: "finished")
    try write(.failed("the server is gone."), to: "failed")
    let script = """
      echo $$ >> "$1/pids"
      read -r plan
      cat "$1/ready"
      while read -r order; do
        case "$order" in
          *begin*) \(onBegin) ;;
          *stop*) exit 0 ;;
        esac
      done
      """
    try script.write(to: folder.appendingPathComponent("worker"), atomically: true, encoding: .utf8)
  }

  private func write(_ message: WorkerMessage, to name: String) throws {
    try (JSONEncoder().encode(message) + Data("\n".utf8)).write(to: folder.appendingPathComponent(name))
  }

  var command: [String] { ["/bin/sh", folder.appendingPathComponent("worker").path, folder.path] }

  /// The process ids of all workers that were ever started.
  var identifiers: [Int32] {
    ((try? String(contentsOf: folder.appendingPathComponent("pids"), encoding: .utf8)) ?? "")
      .split(separator: "\n").compactMap { Int32($0) }
  }

  /// A child that was not reaped counts as running.
  var areAllGone: Bool { identifiers.allSatisfy { kill($0, 0) != 0 && errno == ESRCH } }

  func remove() { try? FileManager.default.removeItem(at: folder) }
}

@Suite("The coordinator", .serialized, .ownThread)
struct CoordinatorTests {
  private func coordinator(_ peers: [any Peer], _ worker: FakeWorker, workers: Int = 1) -> Coordinator {
    var scenario = Sample.scenario(.connect)
    scenario.workers = workers
    return Coordinator(
      scenario: scenario, peers: peers, machine: .current(), worker: worker.command, command: "test")
  }

  @Test("Peers are measured in turns, each with a server of its own that is stopped before the next one starts")
  func interleaving() async throws {
    let (worker, journal) = (try FakeWorker(), Journal())
    defer { worker.remove() }
    let absent = FakePeer(name: "c", journal: journal, isAbsent: true)
    var coordinator = coordinator(
      [FakePeer(name: "a", journal: journal), absent, FakePeer(name: "b", journal: journal)], worker, workers: 2)
    coordinator.scenario.turns = 2
    let result = try coordinator.run()
    #expect(result.turns.map { "\($0.peer)\($0.number)" } == ["a1", "b1", "b2", "a2"])
    let (first, second) = (["start a", "stop a"], ["start b", "stop b"])
    #expect(journal.all == first + second + second + first)
    #expect(result.order == [["a", "b"], ["b", "a"]])
    #expect(result.skipped == ["c": "it is not installed."])
    #expect(result.peers.map(\.name) == ["a", "b"])
    #expect(result.turns.allSatisfy { $0.isValid && $0.connect?.connections == 6 && $0.report?.delivered == 20 })
    #expect(worker.identifiers.count == 8 && worker.areAllGone)
  }

  @Test("Each peer begins a round as often as any other")
  func order() {
    #expect((1...4).map { Coordinator.order(["a", "b", "c"], round: $0).joined() } == ["abc", "bca", "cab", "abc"])
    #expect(Coordinator.order([String](), round: 2) == [])
  }

  @Test("A worker that ends amid a turn fails it, ends the run, and leaves neither server nor worker behind")
  func workerEnds() async throws {
    // Only the first of the two workers ends; the other one waits for orders.
    let worker = try FakeWorker(onBegin: "mkdir \"$1/first\" 2>/dev/null && exit 1")
    defer { worker.remove() }
    let journal = Journal()
    let coordinator = coordinator([FakePeer(name: "a", journal: journal)], worker, workers: 2)
    let result = try coordinator.run()
    #expect(result.turns.count == 1)
    #expect(result.turns[0].faults.first?.contains("ended without a report") == true)
    #expect(result.turns[0].isFailure)
    #expect(journal.all == ["start a", "stop a"])
    #expect(worker.identifiers.count == 2 && worker.areAllGone)
  }

  @Test("What a worker says of its failure is the turn's fault; told to keep going, the coordinator goes on")
  func workerFails() async throws {
    let worker = try FakeWorker(onBegin: "cat \"$1/failed\"")
    defer { worker.remove() }
    let journal = Journal()
    var coordinator = coordinator([FakePeer(name: "a", journal: journal)], worker)
    coordinator.keepsGoing = true
    let result = try coordinator.run()
    #expect(result.turns.map(\.faults) == Array(repeating: ["the server is gone."], count: 3))
    #expect(worker.areAllGone)
  }

  @Test("A worker that says what is no message fails the turn")
  func nonsense() async throws {
    let worker = try FakeWorker(onBegin: "echo nonsense")
    defer { worker.remove() }
    let coordinator = coordinator([FakePeer(name: "a", journal: Journal())], worker)
    let result = try coordinator.run()
    #expect(result.turns[0].faults.first?.contains("no message") == true)
    #expect(worker.areAllGone)
  }

  @Test("Loss ends the run, with the turn as it was measured")
  func loss() async throws {
    let worker = try FakeWorker(lost: 2)
    defer { worker.remove() }
    let coordinator = coordinator([FakePeer(name: "a", journal: Journal())], worker)
    let result = try coordinator.run()
    #expect(result.turns.count == 1)
    #expect(result.turns[0].faults == ["2 of 12 deliveries were lost"])
    #expect(result.turns[0].report?.delivered == 10)
  }

  @Test("Without any peer there is an error that says why")
  func nobody() throws {
    let worker = try FakeWorker()
    defer { worker.remove() }
    let peers = [FakePeer(name: "c", journal: Journal(), isAbsent: true)]
    #expect {
      try coordinator(peers, worker).run()
    } throws: {
      "\($0)".contains("c: it is not installed.")
    }
  }

  @Test("Ctrl-C ends servers and workers before the program")
  func interruption() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let errors = folder.appendingPathComponent("errors")
    let bench = try ChildProcess(
      URL(fileURLWithPath: try benchExecutable()),
      ["run", "fanout", "--peers", "floor", "--subscribers", "5", "--duration", "600", "--no-pin"],
      environment: ProcessInfo.processInfo.environment, errors: errors)
    var children: [Int32] = []
    // The server, its watcher and a worker.
    let isThere = await eventually(within: .seconds(300)) {
      children = Self.children(of: bench.identifier)
      return children.count >= 3 || !bench.isRunning
    }
    try #require(isThere && children.count >= 3)
    bench.signal(SIGINT)
    try #require(await eventually(within: .seconds(300)) { !bench.isRunning })
    #expect(bench.status == 1)
    #expect(try String(contentsOf: errors, encoding: .utf8).contains("interrupted"))
    // A child whose parent has ended may stay a zombie until init reaps it; it runs no more.
    for child in children { #expect(["Z", "X", nil].contains(ProcessTable.stat(of: child)?.first)) }
  }

  private static func children(of parent: Int32) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter { process in
      guard let stat = ProcessTable.stat(of: process), stat.count > 1 else { return false }
      return Int32(stat[1]) == parent && stat[0] != "Z"
    }
  }
}
