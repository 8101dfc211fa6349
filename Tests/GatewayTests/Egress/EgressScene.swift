import CLinuxIO
import Foundation
import NIOCore
import NIOEmbedded
import TestSupport
import Wire

@testable import Gateway

#if canImport(Glibc)
  import Glibc
#endif

/// Subscribers behind real sockets, on tapes, without a server: the kernel decides what is taken.
final class EgressScene {
  let fanOut: FanOut
  let loop = EmbeddedEventLoop()
  private(set) var turns = 0
  private var nextID: UInt64 = 0

  init(ring: Bool, queueBytes: Int = 1 << 20, slice: UInt64 = .max, clock: @escaping () -> UInt64 = { 0 }) throws {
    // Up to five hundred pairs of sockets, beside those of all other tests: more than some systems give at first.
    _ = linuxio_raise_file_limit()
    var limits = FanOut.Limits(queueBytes: queueBytes)
    limits.slice = slice
    let sendRing = ring ? SendRing() : nil
    if ring && sendRing == nil { throw NoRing() }
    fanOut = FanOut(limits: limits, ring: sendRing, clock: clock)
    fanOut.requestTurn = { [unowned self] in turns += 1 }
  }

  struct NoRing: Error {}

  static let ringWorks = SendRing() != nil

  /// - Parameter bufferBytes: of the socket; small ones make the kernel take parts of frames.
  func member(bufferBytes: Int32? = nil) -> EgressMember {
    nextID += 1
    return EgressMember(id: nextID, loop: loop, bufferBytes: bufferBytes)
  }

  func tape(_ lane: Lane = .publications, conflationLimitBytes: Int = 65_536) -> Tape {
    Tape(lane: lane, conflationLimitBytes: conflationLimitBytes, directory: fanOut.directory)
  }

  /// Slices until nothing asks for another.
  func runToEnd() {
    repeat {
      turns = 0
      fanOut.runSlice()
    } while turns > 0
  }
}

/// One end of a socket pair, with the queue that a connection would have, and the reader at the other end.
final class EgressMember: Outlet, SessionTransport {
  let eventLoop: any EventLoop
  let format = WireFormat.json
  private(set) var driver: SessionDriver!
  private let ours: Int32
  let theirs: Int32
  private(set) var queue: [UInt8] = []
  /// How long each part of the queue is, and whether the reader asked for it.
  private var parts: [(bytes: Int, isAsked: Bool)] = []
  private(set) var received: [UInt8] = []
  private(set) var slowCloses = 0
  private(set) var abandons = 0

  init(id: UInt64, loop: EmbeddedEventLoop, bufferBytes: Int32?) {
    eventLoop = loop
    var ends: [Int32] = [-1, -1]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    for end in ends {
      precondition(fcntl(end, F_SETFL, O_NONBLOCK) == 0)
      if var bytes = bufferBytes {
        setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, 4)
        setsockopt(end, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
      }
    }
    (ours, theirs) = (ends[0], ends[1])
    super.init(id: id, descriptor: ends[0])
    driver = SessionDriver(
      transport: self, host: RecordingHost(),
      rules: SessionRules(SessionConfiguration(), namespaces: NamespaceTable()),
      identity: .init(client: "c\(id)", session: "s"), firstPingDelayMilliseconds: 10_000)
  }

  deinit {
    _ = Glibc.close(ours)
    _ = Glibc.close(theirs)
  }

  // MARK: What a connection does

  override func transmit(_ bytes: UnsafeRawBufferPointer) { enqueue(bytes, isAsked: false) }

  private func enqueue(_ bytes: UnsafeRawBufferPointer, isAsked: Bool) {
    queue += bytes
    parts.append((bytes.count, isAsked))
    queued(bytes.count, isAsked: isAsked)
    flush()
  }

  private func flush() {
    while !queue.isEmpty {
      let sent = Glibc.send(ours, queue, queue.count, Int32(MSG_NOSIGNAL))
      guard sent > 0 else { return }
      queue.removeFirst(sent)
      dequeue(sent)
    }
  }

  private func dequeue(_ sent: Int) {
    var left = sent
    while left > 0, let part = parts.first {
      let taken = min(left, part.bytes)
      left -= taken
      parts[0].bytes -= taken
      if parts[0].bytes == 0 { parts.removeFirst() }
      dequeued(taken, isAsked: part.isAsked)
    }
  }

  override func closeSlow() {
    slowCloses += 1
    end()
  }

  override func abandon() {
    abandons += 1
    end()
  }

  func send(_ frame: [UInt8]) { frame.withUnsafeBytes { enqueue($0, isAsked: true) } }
  func close(_ code: DisconnectCode) { end() }
  func pauseReading() {}
  func resumeReading() {}
  var progress: PeerProgress? { nil }

  // MARK: What the reader does

  /// Reads what is there, at most so many bytes, and lets the connection go on where it can.
  func read(atMost most: Int = .max, _ scene: EgressScene) {
    var left = most
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while left > 0 {
      let count = recv(theirs, &buffer, min(left, buffer.count), 0)
      guard count > 0 else { break }
      received += buffer[..<count]
      left -= count
    }
    flush()
    if isClear && !lags.isEmpty { scene.fanOut.catchUp(self) }
  }

  /// Reads until nothing comes any more.
  func readAll(_ scene: EgressScene) {
    var before = -1
    while before != received.count {
      before = received.count
      read(scene)
    }
  }

  func hangUp() { shutdown(theirs, Int32(SHUT_RDWR)) }
}
