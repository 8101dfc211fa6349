import NIOCore
import NIOEmbedded
import Wire

@testable import Gateway

/// A client's connection at its gateway. Bytes that the kernel does not take wait here, as they do in a `Connection`.
final class SimulatedSocket: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  let format: WireFormat
  private let loop: SimulatedLoop
  private var driver: SessionDriver?
  /// Bytes that the kernel holds at most.
  private let kernelBytes: Int
  private var queue: [UInt8] = []
  /// The length of each part of the queue, and whether the client asked for it.
  private var parts: [(bytes: Int, isAsked: Bool)] = []
  /// Bytes that were sent and that the client has not read yet.
  private(set) var kernel: [UInt8] = []
  /// Messages of the client that the server has not read yet.
  private var commands: [[UInt8]] = []
  private(set) var isReadingPaused = false
  private(set) var isClosed = false
  /// Whether the server ever stopped reading here, for the coverage.
  private(set) var wasPaused = false
  /// All bytes that the server gave to the connection, where a test asks what was sent.
  private(set) var stream: [UInt8] = []
  /// So many of them the kernel took.
  private(set) var writtenBytes = 0
  private let remembers: Bool
  private(set) var closedBy: DisconnectCode?

  /// Bytes that the client asked for and that may wait here. With more, the server stops reading from the client.
  private static let mostAsked = 600

  init(id: UInt64, loop: SimulatedLoop, format: WireFormat, kernelBytes: Int, remembers: Bool = false) {
    self.loop = loop
    self.remembers = remembers
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
    closedBy = code
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
    if remembers { stream += bytes }
    parts.append((bytes.count, isAsked))
    queued(bytes.count, isAsked: isAsked)
    flush()
    if askedBytes > Self.mostAsked { isFull = true }
  }

  private func flush() {
    let taken = min(queue.count, kernelBytes - kernel.count)
    guard taken > 0 else { return }
    kernel += queue[..<taken]
    writtenBytes += taken
    queue.removeFirst(taken)
    var left = taken
    while left > 0, let part = parts.first {
      let bytes = min(left, part.bytes)
      left -= bytes
      parts[0].bytes -= bytes
      if parts[0].bytes == 0 { parts.removeFirst() }
      dequeued(bytes, isAsked: part.isAsked)
    }
    // The driver is told later, because the caller may still be in `send`.
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

  /// Lets the client take at most so many bytes from the kernel, which then takes others in their place.
  func read(_ most: Int) -> [UInt8] {
    let bytes = Array(kernel.prefix(most))
    kernel.removeFirst(bytes.count)
    flush()
    return bytes
  }

  func write(_ message: [UInt8]) { if !isClosed { commands.append(message) } }

  /// Lets the server read up to so many messages in one burst.
  ///
  /// - Returns: false where the server read none.
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

  /// Ends the connection at the client. The server learns of it when its event loop runs.
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

  /// Whether nothing is under way between client and server.
  var isQuiet: Bool { kernel.isEmpty && queue.isEmpty && (commands.isEmpty || isReadingPaused) }
}
