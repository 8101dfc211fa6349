import Foundation
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

/// A `fanfare serve` of its own for tests that look at fan-out alone: anonymous clients may do everything.
///
/// Nobody is pinged unless a test says so: a reader that does not read would be taken for dead instead of slow. One
/// that is slow has all the time that it needs to read the code with which it is sent away.
/// Namespaces: `own` without history, `kept` with, `low` in the lowest lane.
struct FanOutServer: Sendable {
  let process: ServerProcess
  let port: Int
  let usesTLS: Bool

  static func with(
    queueBytes: String = "32MiB", egressBytes: String = "1GiB", usesTLS: Bool = false,
    ping: (interval: String, timeout: String) = ("10m", "8s"),
    _ body: @Sendable (FanOutServer) async throws -> Void
  ) async throws {
    await Turn.shared.take()
    defer { Turn.shared.giveBack() }
    let certificate = usesTLS ? try TestCertificate() : nil
    try await withServer(configuration((queueBytes, egressBytes), certificate, ping)) { process in
      guard let port = URL(string: process.endpoints.websocket)?.port else { throw Failure("no port") }
      try await body(FanOutServer(process: process, port: port, usesTLS: usesTLS))
    }
    withExtendedLifetime(certificate) {}
  }

  private static func configuration(
    _ bytes: (queue: String, egress: String), _ certificate: TestCertificate?,
    _ ping: (interval: String, timeout: String)
  ) -> String {
    let open = ["subscribe", "publish", "history", "presence"].map { #""allow_\#($0)_for_anonymous":true"# }
      .joined(separator: ",")
    let tls = certificate.map {
      #"{"enabled":true,"certificate_file":"\#($0.chainPath)","key_file":"\#($0.keyPath)"}"#
    }
    return """
      {"server":{"event_loops":2,"header_timeout":"1m","tls":\(tls ?? "{}")},
       "client":{"allow_anonymous_connect_without_token":true,"queue_bytes":"\(bytes.queue)","slow_close_grace":"10m",
                 "recovery_max_publications":100000,"connect_timeout":"10m","request_timeout":"50s",
                 "ping_interval":"\(ping.interval)","pong_timeout":"\(ping.timeout)"},
       "backbone":{"heartbeat_interval":"10s"},
       "broker":{"gateway_timeout":"1m"},"gateway":{"egress_bytes":"\(bytes.egress)"},
       "log":{"level":"warning"},
       "channel":{"namespaces":[
         {"name":"own","presence":true,\(open)},
         {"name":"kept","history_size":100000,"history_ttl":"1h","force_recovery":true,\(open)},
         {"name":"low","lane":"typing",\(open)}]}}
      """
  }

  /// Resident memory in bytes.
  var residentBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/\(process.identifier)/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }), pages > 0
    else {
      Issue.record("the memory of process \(process.identifier) cannot be read")
      return 0
    }
    return pages * 4096
  }

  /// From now on the server has no descriptor with this number or a higher one.
  func limitDescriptors(to limit: UInt) throws {
    // prlimit is looked up by name, because Glibc's Swift module leaves it out.
    typealias Limit = @convention(c) (Int32, UInt32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?) -> Int32
    guard let symbol = dlsym(nil, "prlimit") else { throw Failure("no prlimit") }
    var both = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
    let numberOfOpenFiles: UInt32 = 7  // RLIMIT_NOFILE, which the module gives a type of its own.
    guard unsafeBitCast(symbol, to: Limit.self)(process.identifier, numberOfOpenFiles, &both, nil) == 0 else {
      throw Failure("prlimit failed: errno \(errno)")
    }
  }

  /// A client that is connected and has subscribed, everything checked on the way.
  func client(_ channels: [String] = [], _ options: ByteClient.Options = .init()) throws -> FanOutClient {
    var options = options
    options.usesTLS = usesTLS
    let client = FanOutClient(try ByteClient(port: port, options))
    try client.open(channels)
    return client
  }

  func publisher() -> FanOutPublisher { FanOutPublisher(process.endpoints.commands) }
}

/// Publishes as a service does, on a thread of its own, a few hundred ahead of the answers.
final class FanOutPublisher: Sendable {
  struct Job: Sendable {
    var channel: String
    /// Goes out as a JSON string; without anything to escape.
    var text: String
  }

  private struct State {
    var waiting: [Job] = []
    var asked = 0
    var answered = 0
    var refused: [String] = []
    var hasEnded = false
  }

  private final class Box: Sendable { let state = Mutex(State()) }

  private static let ahead = 300
  private let box = Box()

  fileprivate init(_ endpoint: String) {
    let box = box
    Thread.detachNewThread {
      do { try Self.run(endpoint, box) } catch {
        box.state.withLock { $0.refused.append("the publisher ended: \(error)") }
      }
    }
  }

  deinit { box.state.withLock { $0.hasEnded = true } }

  private static func run(_ endpoint: String, _ box: Box) throws {
    let context = try Context()
    var options = Socket.Options()
    options.lingerMilliseconds = 0
    options.receiveTimeoutMilliseconds = 1
    let socket = try Socket(context, .dealer, options)
    try socket.connect(endpoint)
    var frames: [[UInt8]] = []
    var ahead = 0
    while true {
      let (jobs, hasEnded) = box.state.withLock { state in
        let jobs = Array(state.waiting.prefix(Self.ahead - ahead))
        state.waiting.removeFirst(jobs.count)
        return (jobs, state.hasEnded)
      }
      if hasEnded { return }
      for job in jobs {
        let about = #"{"channel":"\#(job.channel)"}"#
        try socket.send(
          multipart: [[1], Array("publish".utf8), Array(about.utf8), Array("\"\(job.text)\"".utf8)], blocking: true)
      }
      ahead += jobs.count
      while try socket.receiveMultipart(into: &frames, maxFrames: 3, blocking: true) != nil {
        ahead -= 1
        let refusal = frames[1] == Array("ok".utf8) ? nil : String(decoding: frames[2], as: UTF8.self)
        box.state.withLock { state in
          state.answered += 1
          if let refusal { state.refused.append(refusal) }
        }
        if ahead < Self.ahead / 2 { break }
      }
    }
  }

  func publish(_ jobs: [Job]) {
    box.state.withLock { state in
      state.waiting += jobs
      state.asked += jobs.count
    }
  }

  /// Everything has been answered.
  var isIdle: Bool { box.state.withLock { $0.answered == $0.asked || !$0.refused.isEmpty } }
  var refused: [String] { box.state.withLock { $0.refused } }
  var answered: Int { box.state.withLock { $0.answered } }
  var unanswered: Int { box.state.withLock { $0.asked - $0.answered } }

  /// For tests' own threads.
  func wait(_ condition: (FanOutPublisher) -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition(self) {
      guard refused.isEmpty else { throw Failure("refused: \(refused.prefix(3))") }
      guard ContinuousClock.now < deadline else { throw Failure("\(unanswered) publications are unanswered") }
      usleep(500)
    }
  }

  /// Publishes and waits for the answers.
  func publishAll(_ jobs: [Job], within limit: Duration = .seconds(60)) async throws {
    publish(jobs)
    guard await eventually(within: limit, { self.isIdle }), refused.isEmpty else {
      throw Failure("a publication was not answered, or refused: \(refused.prefix(3))")
    }
  }
}
