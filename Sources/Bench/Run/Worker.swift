import CLinuxIO
import Foundation
import Glibc

/// One process of the load generator: reads its plan, connects, obeys, reports.
public enum Worker {
  /// Works until it is told to stop, or until the input ends.
  ///
  /// - Parameters:
  ///   - input: where the plan's line and the orders' lines come from.
  ///   - output: where the messages' lines go. A failure is a message too.
  /// - Returns: whether it came to its end without a failure.
  public static func run(input: Int32, output: Int32) -> Bool {
    signal(SIGPIPE, SIG_IGN)
    let console = WorkerConsole(input: input, output: output)
    do throws(BenchError) {
      guard let line = console.readLine() else { throw BenchError("a worker was given no plan") }
      let plan: WorkerPlan
      do { plan = try JSONDecoder().decode(WorkerPlan.self, from: Data(line)) } catch {
        throw BenchError("a worker's plan cannot be read: \(error)")
      }
      try work(plan, console)
      return true
    } catch {
      try? console.write(.failed(error.description))
      return false
    }
  }

  /// One loop for each dialect, so that each is compiled for it.
  private static func work(_ plan: WorkerPlan, _ console: WorkerConsole) throws(BenchError) {
    // The worker that publishes must not wait until others on its core have read all that they have.
    if plan.worker == 0 && plan.workers > 1 { _ = linuxio_take_short_turns() }
    switch plan.target.dialect {
    case "centrifuge", CliqueConversations.dialect, StateExchange.dialect:
      try work(plan, console, CentrifugeDialect.self)
    case "floor": try work(plan, console, FloorDialect.self)
    case "nats": try work(plan, console, NATSDialect.self)
    case "mqtt": try work(plan, console, MQTTDialect.self)
    case "nchan": try work(plan, console, NchanDialect.self)
    case "redis": try work(plan, console, RedisDialect.self)
    case "zmtp": try work(plan, console, ZMTPDialect.self)
    case TemplateDialect.name: try work(plan, console, TemplateDialect.self)
    default:
      throw BenchError(
        "\(plan.target.dialect) is not a dialect: use centrifuge, clique, floor, nats, mqtt, nchan, redis, zmtp or "
          + "template")
    }
  }

  private static func work<D: Dialect>(
    _ plan: WorkerPlan, _ console: WorkerConsole, _ kind: D.Type
  ) throws(BenchError) {
    let loop = try EventLoop(plan, kind.init(target: plan.target, scenario: plan.scenario), console)
    try loop.work()
  }
}
