import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Bench

/// Seconds in which nothing happens until a worker of a test gives up: more than a busy machine makes it wait.
let longPatience = 300.0

/// A pipe that no program inherits, not even one that another test is starting just now.
///
/// By name, because Glibc's Swift module leaves the function out.
func makePipe() throws -> (output: Int32, input: Int32) {
  typealias Pipe = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
  let symbol = try #require(dlsym(nil, "pipe2"))
  var ends: [Int32] = [-1, -1]
  guard unsafeBitCast(symbol, to: Pipe.self)(&ends, O_CLOEXEC) == 0 else { throw BenchError("no pipe") }
  return (ends[0], ends[1])
}

/// For a server whose clients may be held up, and then say or read all that has piled up at once.
let patientSettings = [
  "server.header_timeout=10m", "client.connect_timeout=10m", "client.ping_interval=1h", "client.pong_timeout=50m",
  "client.request_timeout=10m", "client.max_pending_requests=10000", "client.queue_bytes=64MiB",
  "broker.gateway_timeout=10m",
]

extension WorkerPlan {
  /// A small run of one group.
  static func sample(
    _ group: Scenario.Group, to url: String, dialect: String, measure: Scenario.Measure = .delivery,
    format: String = "json", warmup: Double = 0.1, duration: Double = 0.4, worker: Int = 0, workers: Int = 1,
    run: String = "t"
  ) -> WorkerPlan {
    WorkerPlan(
      worker: worker, workers: workers,
      target: Target(dialect: dialect, url: url, spreadsSourceAddresses: true),
      scenario: Scenario(
        name: "test", about: "", measure: measure, groups: [group], warmup: warmup, duration: duration,
        ramp: measure == .saturation
          ? Scenario.Ramp(factor: 2, seconds: 0.3, p99LimitMilliseconds: 50, maximumSteps: 3) : nil,
        missed: measure == .resume ? 20 : nil, format: format, turns: 1, workers: workers, peers: [], settings: []),
      run: run, patience: longPatience)
  }
}

extension Scenario.Group {
  static func sample(
    channels: Int = 2, subscribers: Int = 5, rate: Double = 200, payload: Int = 128, burst: Int = 1,
    publishers: Int = 1, slow: Double = 0, namespace: String = ""
  ) -> Scenario.Group {
    Scenario.Group(
      name: "g", channels: channels, subscribers: subscribers, rate: rate, payload: payload, burst: burst,
      publishers: publishers, slow: slow, namespace: namespace)
  }
}

/// A worker on a thread of its own, with pipes in place of its standard input and output.
final class WorkerRunner: Sendable {
  private let orders: Int32
  private let messages = Mutex<[WorkerMessage]>([])
  private let hasEnded = Atomic<Bool>(false)

  init(_ plan: WorkerPlan) throws {
    let (workerInput, orders) = try makePipe()
    let (reports, workerOutput) = try makePipe()
    self.orders = orders
    Thread {
      _ = Worker.run(input: workerInput, output: workerOutput)
      close(workerInput)
      close(workerOutput)
    }.start()
    Thread { [self] in
      let console = WorkerConsole(input: reports, output: -1)
      while let line = console.readLine() {
        guard let message = try? JSONDecoder().decode(WorkerMessage.self, from: Data(line)) else { continue }
        messages.withLock { $0.append(message) }
      }
      close(reports)
      hasEnded.store(true, ordering: .sequentiallyConsistent)
    }.start()
    try write(plan)
  }

  deinit { close(orders) }

  func order(_ order: WorkerOrder) throws { try write(order) }

  /// Whether the worker has read all orders.
  var hasTakenOrders: Bool {
    var waiting: Int32 = -1
    return ioctl(orders, UInt(FIONREAD), &waiting) == 0 && waiting == 0
  }

  private func write(_ value: some Encodable) throws {
    let line = try JSONEncoder().encode(value) + [10]
    let count = line.withUnsafeBytes { Glibc.write(orders, $0.baseAddress, $0.count) }
    #expect(count == line.count)
  }

  /// The first message that fits; a failure of the worker ends the wait.
  func wait<Found>(_ find: (WorkerMessage) -> Found?) async throws -> Found {
    var failure: String?
    var found: Found?
    let isThere = await eventually(within: .seconds(300)) {
      // First: what it said before it ended is all there then.
      let isOver = hasEnded.load(ordering: .sequentiallyConsistent)
      for message in self.messages.withLock({ $0 }) {
        if let match = find(message) {
          found = match
          return true
        }
        if case .failed(let sentence) = message { failure = sentence }
      }
      return failure != nil || isOver
    }
    if let found { return found }
    throw BenchError(
      failure ?? (isThere ? "the worker ended early" : "the worker said nothing of that in five minutes"))
  }

  var ready: ConnectReport {
    get async throws { try await wait { if case .ready(let report) = $0 { report } else { nil } } }
  }

  var finished: WorkerReport {
    get async throws { try await wait { if case .finished(let report) = $0 { report } else { nil } } }
  }

  func steps() -> [WorkerReport] {
    messages.withLock { $0.compactMap { if case .stepped(let report) = $0 { report } else { nil } } }
  }

  /// Waits until the worker has ended.
  func end() async throws {
    try order(.stop)
    #expect(await eventually(within: .seconds(300)) { self.hasEnded.load(ordering: .sequentiallyConsistent) })
  }

  /// Runs the plan from beginning to end.
  static func run(_ plan: WorkerPlan) async throws -> WorkerReport {
    let runner = try WorkerRunner(plan)
    _ = try await runner.ready
    try runner.order(.begin(at: 0))
    let report = try await runner.finished
    try await runner.end()
    return report
  }
}

extension WorkerReport.Group {
  /// Everything that was expected came, once and in order.
  var isWhole: Bool {
    delivered == expected && lost == 0 && duplicated == 0 && misordered == 0 && refused == 0
      && latency.count == delivered
  }
}

extension EncodedHistogram {
  /// The largest value of the histogram; 0 where there is none.
  var largest: UInt64 { pairs.dropLast().last ?? 0 }

  var count: Int { stride(from: 1, to: pairs.count, by: 2).reduce(0) { $0 + Int(pairs[$1]) } }
}

/// A floor server on a thread of its own.
final class FloorRunner: Sendable {
  let url: String
  private let stopper: @Sendable () -> Void

  init() throws {
    nonisolated(unsafe) let server = try FloorServer(port: 0)
    url = "ws://127.0.0.1:\(server.port)"
    stopper = { server.stop() }
    Thread { try? server.run() }.start()
  }

  deinit { stopper() }
}
