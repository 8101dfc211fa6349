import Foundation
import Synchronization
import TestSupport
import Wire

/// One connection, and what every connection may expect of fan-out: the connect reply comes first, a channel's
/// publications come after its subscribe reply and from channels that were asked for alone. For one thread at a time.
final class FanOutClient {
  let bytes: ByteClient
  private var lastID: UInt32 = 0
  private var isConnected = false
  /// The ids of commands whose answer has not come.
  private(set) var unanswered: Set<UInt32> = []
  private var subscribing: [UInt32: String] = [:]
  private(set) var positions: [String: StreamPosition] = [:]
  /// The publications that subscribe replies brought, by channel.
  private(set) var recovered: [String: [PlainProtocol.Publication]] = [:]
  /// Live publications, by channel.
  private(set) var publications: [String: [PlainProtocol.Publication]] = [:]
  private(set) var errors: [Int] = []

  var format: WireFormat { bytes.format }

  init(_ bytes: ByteClient) { self.bytes = bytes }

  func open(_ channels: [String]) throws {
    try bytes.upgrade()
    lastID = 1
    unanswered = [1]
    try bytes.send(message: PlainProtocol.connect(id: 1, format))
    for channel in channels { try subscribe(channel) }
    try readUntilAnswered()
  }

  // MARK: Commands, sent without waiting

  func subscribe(_ channel: String, since: StreamPosition? = nil) throws {
    try command { id in
      subscribing[id] = channel
      return PlainProtocol.subscribe(id: id, channel, since: since, format)
    }
  }

  func publish(_ text: String, to channel: String) throws {
    try command { PlainProtocol.publish(id: $0, text, to: channel, format) }
  }

  func presence(_ channel: String) throws { try command { PlainProtocol.presence(id: $0, channel, format) } }
  func history(_ channel: String) throws { try command { PlainProtocol.history(id: $0, channel, format) } }
  func ping() throws { try command { PlainProtocol.ping(id: $0, format) } }

  private func command(_ make: (UInt32) -> [UInt8]) throws {
    lastID += 1
    unanswered.insert(lastID)
    try bytes.send(message: make(lastID))
  }

  // MARK: Reading

  func readUntilAnswered(step: Int = 64 << 10) throws { try read(step: step) { unanswered.isEmpty } }

  /// Reads on, at most so many bytes at a time, until the condition holds.
  func read(step: @autoclosure () -> Int = 64 << 10, until isEnough: () -> Bool) throws {
    while !isEnough() { try take(bytes.nextMessage(step: step())) }
  }

  /// Reads what is there, without waiting.
  func readWhatIsThere() throws {
    repeat {
      while let frame = try bytes.nextFrame() {
        if case .message(let payload) = frame { try take(payload) }
      }
    } while try bytes.fillFromWhatIsThere()
  }

  /// Reads on until a frame has begun with so many bytes and is not whole.
  func readIntoFrame(bytes wanted: Int, step: Int) throws {
    while true {
      while let frame = try bytes.nextFrame() {
        if case .message(let payload) = frame { try take(payload) }
      }
      if bytes.unfinishedBytes >= wanted { return }
      try bytes.fill(upTo: step)
    }
  }

  func count(_ channel: String) -> Int { publications[channel]?.count ?? 0 }

  private func take(_ payload: [UInt8]) throws {
    for incoming in try PlainProtocol.read(payload, format) {
      if case .connected = incoming.body { isConnected = true }
      guard isConnected else { throw ByteClient.Violation(description: "\(incoming) came before the connect reply") }
      switch incoming.body {
      case .ping: try bytes.send(message: format == .json ? Array("{}".utf8) : [0])
      case .publication(let channel, let publication):
        guard positions[channel] != nil else {
          throw ByteClient.Violation(description: "a publication of \(channel), to which it is not subscribed")
        }
        publications[channel, default: []].append(publication)
      case .pushed: break
      case .subscribed(let offset, let epoch, _, let missed):
        guard let channel = subscribing.removeValue(forKey: incoming.id) else {
          throw ByteClient.Violation(description: "a subscribe reply that nobody waits for: \(incoming.id)")
        }
        positions[channel] = StreamPosition(epoch: epoch, offset: offset)
        recovered[channel] = missed
        try answered(incoming.id)
      case .failed(let code):
        errors.append(code)
        try answered(incoming.id)
      case .connected, .answered: try answered(incoming.id)
      }
    }
  }

  private func answered(_ id: UInt32) throws {
    guard unanswered.remove(id) != nil else {
      throw ByteClient.Violation(description: "a reply that nobody waits for: \(id)")
    }
  }
}

/// Work on threads of their own, which may block.
final class FanOutThreads: Sendable {
  private struct State {
    var running = 0
    var failures: [String] = []
  }

  private final class Box: Sendable { let state = Mutex(State()) }

  private let box = Box()

  func start(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
    let box = box
    box.state.withLock { $0.running += 1 }
    let thread = Thread {
      do { try body() } catch { box.state.withLock { $0.failures.append("\(name): \(error)") } }
      box.state.withLock { $0.running -= 1 }
    }
    thread.stackSize = 1 << 20
    thread.start()
  }

  var failures: [String] { box.state.withLock { $0.failures } }
  var haveEnded: Bool { box.state.withLock { $0.running == 0 } }

  /// Every body has returned.
  func join(within limit: Duration = .seconds(180)) async throws {
    guard await eventually(within: limit, { self.haveEnded }) else {
      throw Failure("threads still run after \(limit); failures so far: \(failures)")
    }
  }
}

/// Closed at first; whoever passes waits until it opens.
final class Gate: Sendable {
  private let opened = Atomic<Bool>(false)

  var isOpen: Bool { opened.load(ordering: .sequentiallyConsistent) }
  func open() { opened.store(true, ordering: .sequentiallyConsistent) }
  func wait() { while !isOpen { usleep(1000) } }
}

final class Counter: Sendable {
  private let atomic = Atomic<Int>(0)

  var value: Int { atomic.load(ordering: .sequentiallyConsistent) }
  func add(_ count: Int = 1) { atomic.add(count, ordering: .sequentiallyConsistent) }
}
