import NIOCore
import NIOEmbedded
import Wire

@testable import Gateway

/// A client's connection at its gateway: what the kernel does not take waits here, as it does in a `Connection`.
final class SimulatedSocket: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  let format: WireFormat
  private let loop: SimulatedLoop
  private var driver: SessionDriver?
  /// Bytes that the kernel takes before it says no.
  private let kernelBytes: Int
  private var queue: [UInt8] = []
  /// How long each part of the queue is, and whether the client asked for it.
  private var parts: [(bytes: Int, isAsked: Bool)] = []
  /// Sent, and not read by the client yet.
  private(set) var kernel: [UInt8] = []
  /// From the client, and not read by the server yet.
  private var commands: [[UInt8]] = []
  private(set) var isReadingPaused = false
  private(set) var isClosed = false
  /// Each of them once at least, if the seeds are any good.
  private(set) var wasPaused = false

  /// What the client asked for and may wait here before it is read later.
  private static let mostAsked = 600

  init(id: UInt64, loop: SimulatedLoop, format: WireFormat, kernelBytes: Int) {
    self.loop = loop
    eventLoop = loop.eventLoop
    self.format = format
    self.kernelBytes = kernelBytes
    super.init(id: id, descriptor: -1)
    driver = loop.shard.open(self)
  }

  // MARK: What a connection does

  func send(_ frame: [UInt8]) {
    if isOpen { frame.withUnsafeBytes { enqueue($0, isAsked: true) } }
  }

  override func transmit(_ bytes: UnsafeRawBufferPointer) { enqueue(bytes, isAsked: false) }

  func close(_ code: DisconnectCode) {
    guard isOpen else { return }
    ServerFrame.close(code: code.code, reason: code.reason).withUnsafeBytes { enqueue($0, isAsked: false) }
    end()
  }

  override func closeSlow() { close(.slow) }
  override func abandon() { preconditionFailure("nothing is written straight to the descriptor of a simulated socket") }
  func pauseReading() {
    isReadingPaused = true
    wasPaused = true
  }
  func resumeReading() { isReadingPaused = false }
  var progress: PeerProgress? { nil }

  private func enqueue(_ bytes: UnsafeRawBufferPointer, isAsked: Bool) {
    queue += bytes
    parts.append((bytes.count, isAsked))
    queued(bytes.count, isAsked: isAsked)
    flush()
    if askedBytes > Self.mostAsked { isFull = true }
  }

  private func flush() {
    let taken = min(queue.count, kernelBytes - kernel.count)
    guard taken > 0 else { return }
    kernel += queue[..<taken]
    queue.removeFirst(taken)
    var left = taken
    while left > 0, let part = parts.first {
      let bytes = min(left, part.bytes)
      left -= bytes
      parts[0].bytes -= bytes
      if parts[0].bytes == 0 { parts.removeFirst() }
      dequeued(bytes, isAsked: part.isAsked)
    }
    // Later, for somebody may still be in `send`.
    if isFull && askedBytes <= Self.mostAsked / 2 {
      isFull = false
      loop.eventLoop.execute { [self] in relieved() }
    }
    if queue.isEmpty { loop.eventLoop.execute { [self] in drained() } }
  }

  private func relieved() {
    if isOpen { driver?.relieved() }
  }

  private func drained() {
    if isOpen { driver?.drained() }
  }

  // MARK: What the client does

  /// Takes so many bytes at most from the kernel, which takes others in their place.
  func read(_ most: Int) -> [UInt8] {
    let bytes = Array(kernel.prefix(most))
    kernel.removeFirst(bytes.count)
    flush()
    return bytes
  }

  func write(_ message: [UInt8]) { if !isClosed { commands.append(message) } }

  /// The server reads up to so many messages in one burst.
  ///
  /// - Returns: false where it read none.
  func serve(_ most: Int) -> Bool {
    guard let driver else { return false }
    var count = 0
    while count < most, !isReadingPaused, isOpen, !commands.isEmpty {
      driver.received(ByteBuffer(bytes: commands.removeFirst()))
      count += 1
    }
    if count > 0 { driver.readCompleted() }
    return count > 0
  }

  /// The connection is gone; the server hears of it when its event loop comes to it.
  func cut() {
    guard !isClosed else { return }
    isClosed = true
    commands = []
    loop.eventLoop.execute { [self] in
      end()
      guard let driver else { return }
      self.driver = nil
      driver.closed()
    }
  }

  /// Nothing is under way between the two.
  var isQuiet: Bool { kernel.isEmpty && queue.isEmpty && (commands.isEmpty || isReadingPaused) }
}
