import Foundation
import Glibc

/// Measures peers in turns: A B C, B C A, C A B, each time with a fresh server and fresh workers, so that what drifts on
/// the machine drifts for all of them, and none always has the machine as the same other one left it.
struct Coordinator {
  var scenario: Scenario
  var peers: [any Peer]
  /// The machine, with the cores that server and generator get. The calling thread is pinned to the generator's already.
  var machine: Machine
  /// Program and arguments of a worker.
  var worker: [String]
  /// The command that repeats the run, for the report.
  var command: String
  /// The commit of the tree that was measured, for the report; see ``RunResult/commit``.
  var commit: String?
  /// The kernel stamps what subscribers get; see ``ArrivalStamps``.
  var stampsArrivals = false
  /// Whether the run goes on after a turn that failed or in which something was lost.
  var keepsGoing = false
  /// The signals that end the run; nil where none is waited for.
  var interruption: Interruption?
  var observe: @Sendable (RunEvent) -> Void = { _ in }

  /// - Throws: where no peer is to be had, and after an interruption.
  func run() throws(BenchError) -> RunResult {
    // Writing to a worker that has ended fails, and does not end this process.
    signal(SIGPIPE, SIG_IGN)
    var result = RunResult(
      scenario: scenario, command: command, commit: commit, machine: machine, startedAt: Self.timestamp(), peers: [],
      turns: [], skipped: [:])
    var present: [any Peer] = []
    for peer in peers {
      do throws(BenchError) {
        result.peers.append(try peer.describe())
        present.append(peer)
      } catch {
        result.skipped[peer.name] = error.description
        observe(.skipped(peer: peer.name, reason: error.description))
      }
    }
    guard !present.isEmpty else {
      let reasons = result.skipped.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
      throw BenchError("there is nothing to measure. \(reasons.joined(separator: " "))")
    }
    for number in 1...max(1, scenario.turns) {
      for peer in Self.order(present, round: number) {
        observe(.turnBegan(peer: peer.name, number: number, of: scenario.turns))
        let turn = try run(turn: number, of: peer)
        observe(.turnEnded(turn))
        result.turns.append(turn)
        guard keepsGoing || !turn.isFailure else { return result }
      }
    }
    return result
  }

  /// The items in a round's order: each round, from 1 on, begins with the next one.
  static func order<Item>(_ items: [Item], round: Int) -> [Item] {
    guard !items.isEmpty else { return [] }
    let first = (max(round, 1) - 1) % items.count
    return Array(items[first...] + items[..<first])
  }

  /// - Throws: after an interruption. Any other failure is the turn's.
  private func run(turn number: Int, of peer: any Peer) throws(BenchError) -> Turn {
    var turn = Turn(
      peer: peer.name, number: number, connect: nil, report: nil, steps: [], server: nil, generatorUse: 0, faults: [])
    do throws(BenchError) {
      observe(.phase("starting"))
      let server = try peer.start(scenario, cores: machine.serverCores)
      defer { server.stop() }
      let run = TurnRun(self, server, run: "\(number)\(String(UInt32.random(in: 0...0xFFFF), radix: 36))")
      defer { run.end() }
      do throws(BenchError) {
        try run.perform(&turn)
      } catch {
        turn.report = nil
        throw error
      }
    } catch {
      if let interruption, interruption.hasCome { throw Self.interrupted }
      turn.faults.append(error.description)
    }
    return turn
  }

  static let interrupted = BenchError("interrupted; servers and workers were ended.")

  private static func timestamp() -> String {
    let formatter = ISO8601DateFormatter()
    return formatter.string(from: Date())
  }
}

extension Turn {
  /// The turn could not be measured to its end, or something was lost, doubled or out of order. In a ramp, only what came
  /// twice or out of order: beyond the knee a server may give up.
  public var isFailure: Bool {
    if let report {
      return report.groups.contains { $0.lost + ($0.lostBefore ?? 0) > 0 || $0.duplicated > 0 || $0.misordered > 0 }
    }
    return steps.isEmpty || steps.contains { $0.report.groups.contains { $0.duplicated > 0 || $0.misordered > 0 } }
  }

  public var isValid: Bool { faults.isEmpty && (report != nil || !steps.isEmpty) }
}
