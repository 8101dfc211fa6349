import CLinuxIO
import Foundation

extension EventLoop {
  /// Takes what the coordinator wrote.
  func readOrders() throws(BenchError) {
    // A plain file is read to its end at once; a pipe as far as it has something.
    repeat { console.fill() } while console.isFile && !console.hasEnded
    while let line = console.nextLine() {
      guard let order = try? JSONDecoder().decode(WorkerOrder.self, from: Data(line)) else {
        throw BenchError("a worker was given an order that it does not know: \(String(decoding: line, as: UTF8.self))")
      }
      run.orders.append(order)
    }
    // The end of a pipe is the end of the coordinator, without whom a worker is of no use.
    if console.hasEnded && !console.isFile { run.isOver = run.orders.isEmpty || !run.isReady }
  }

  /// Does what was ordered and can be done now.
  func followOrders() throws(BenchError) {
    while let order = run.orders.first {
      if case .stop = order {
        if run.isReady && !run.hasReported { try finish() }
        run.isOver = true
        return
      }
      guard run.isReady, run.stage == .waiting else { return }
      run.orders.removeFirst()
      switch order {
      case .begin(let at): try begin(at == 0 ? now + 50_000_000 : at)
      case .step(let at, let rate?): step(at == 0 ? now + 50_000_000 : at, rate: rate)
      case .step(_, nil): try finish()
      case .stop: break
      }
    }
    if run.hasReported && (console.isFile || console.hasEnded) { run.isOver = true }
  }

  private func begin(_ time: UInt64) throws(BenchError) {
    let scenario = plan.scenario
    let start = time + nanoseconds(scenario.warmup)
    switch scenario.measure {
    case .connect: try finish()
    case .idle:
      (run.measureFrom, run.measureTo) = (time, time + nanoseconds(scenario.duration))
      run.deadline = run.measureTo
      run.stage = .holding
    case .delivery:
      publish(from: time, seconds: scenario.warmup + scenario.duration, scale: 1)
      (run.measureFrom, run.measureTo) = (start, start + nanoseconds(scenario.duration))
      run.deadline = run.measureTo
    case .saturation, .resume:
      publish(from: time, seconds: scenario.warmup, scale: 1)
      run.deadline = start
      run.resumeAt = start + 2 * Run.second
    }
  }

  private func step(_ time: UInt64, rate: Double) {
    let (first, ramp) = (plan.scenario.groups[0].rate, plan.scenario.ramp)
    resetCounts()
    let seconds = ramp?.seconds ?? plan.scenario.duration
    publish(from: time, seconds: seconds, scale: first > 0 ? rate / first : 1)
    (run.measureFrom, run.measureTo) = (time, time + nanoseconds(seconds))
    run.deadline = run.measureTo
    run.lastChance = run.measureTo + run.patience
    run.isStep = true
  }

  private func publish(from time: UInt64, seconds: Double, scale: Double) {
    publishing.set(
      plan.scenario.groups.map { group in
        Schedule(begin: time, seconds: seconds, rate: group.rate * scale, burst: group.burst)
      })
    run.stage = .publishing
    run.lastArrived = -1
  }

  func resetCounts() {
    run.resetCounts()
    ledger.resetCounts()
    stamps?.reading.removeAll()
    publishing.resetCounts()
  }
}

extension Run.Stage: Equatable {}

func nanoseconds(_ seconds: Double) -> UInt64 { UInt64(max(0, min(seconds, 1e9)) * 1e9) }
