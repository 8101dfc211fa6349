import CLinuxIO
import Logging
import Synchronization
import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The thread that accepts: it polls the listening socket and an event that ends it, and hands each socket on.
///
/// Out of descriptors, `accept` fails but the socket stays readable: a plain loop would spin at 100 % and the client
/// would hang. One descriptor is kept in reserve; it is given up for a moment to accept and close the waiting
/// connection, and then the thread rests.
final class AcceptThread: Sendable {
  /// Sockets taken before the poll looks at the stop event again.
  private static let batch = 64
  private static let restMilliseconds: Int32 = 50

  private let socket: ListeningSocket
  private let context: ListenerContext
  /// Takes over a descriptor, and must see to it that it is closed.
  private let handOver: @Sendable (Int32, ConnectionSlot) -> Void
  private let wakeup: (Int32, Int32)
  private let thread = Mutex<pthread_t?>(nil)

  var port: Int { socket.port }

  init(
    socket: consuming ListeningSocket, context: ListenerContext,
    handOver: @escaping @Sendable (Int32, ConnectionSlot) -> Void
  ) throws(ListenerError) {
    self.socket = socket
    self.context = context
    self.handOver = handOver
    var ends: (Int32, Int32) = (-1, -1)
    let failed = unsafe withUnsafeMutableBytes(of: &ends) {
      unsafe linuxio_wakeup_open($0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    guard failed == 0 else { throw .system(call: "eventfd", errno: -failed) }
    wakeup = ends
  }

  deinit {
    unsafe withUnsafeBytes(of: wakeup) {
      unsafe linuxio_wakeup_close($0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
  }

  func start() throws(ListenerError) {
    let failed = thread.withLock { thread -> Int32 in
      var new = pthread_t()
      let box = unsafe Unmanaged.passRetained(self)
      let failed = unsafe pthread_create(
        &new, nil,
        { argument in
          // `start` hands over a reference of this very type, which this call takes back.
          guard let argument = unsafe argument else { return nil }
          let thread = unsafe Unmanaged<AcceptThread>.fromOpaque(argument).takeRetainedValue()
          thread.run()
          return nil
        }, box.toOpaque())
      if failed == 0 { thread = new } else { unsafe box.release() }
      return failed
    }
    guard failed == 0 else { throw .system(call: "pthread_create", errno: failed) }
  }

  /// Returns when the thread has ended. Any number of calls.
  func stop() {
    let running = thread.withLock { thread -> pthread_t? in
      defer { thread = nil }
      return thread
    }
    guard let running else { return }
    unsafe withUnsafeBytes(of: wakeup) {
      unsafe linuxio_wakeup_signal($0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    pthread_join(running, nil)
  }

  private func run() {
    unsafe linuxio_name_thread("fanfare-accept")
    // Of thousands who come at once, none is served sooner if all of them are accepted first.
    linuxio_step_back(5)
    var reserve = Self.openReserve()
    var isExhausted = false
    defer { if reserve >= 0 { close(reserve) } }
    while waitForConnections() {
      switch acceptBatch() {
      case nil:
        if isExhausted { context.logger.notice("there are free descriptors again; connections are accepted") }
        isExhausted = false
        if reserve < 0 { reserve = Self.openReserve() }
      case let errno?:
        if !isExhausted {
          context.counters.countExhausted()
          context.logger.error(
            "out of descriptors or memory: new connections are closed at once; raise the limit of open files",
            metadata: ["errno": "\(errno)"])
        }
        isExhausted = true
        turnAwayOne(&reserve)
        if !rest() { return }
      }
    }
  }

  /// False when the thread is to end.
  private func waitForConnections() -> Bool {
    var polled = [
      pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wakeup.0, events: Int16(POLLIN), revents: 0),
    ]
    while unsafe poll(&polled, 2, -1) < 0 {}  // Interrupted by a signal: poll again.
    return polled[1].revents == 0
  }

  /// False when the thread is to end.
  private func rest() -> Bool {
    var polled = pollfd(fd: wakeup.0, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&polled, 1, Self.restMilliseconds) <= 0
  }

  /// Accepts what waits. Nil, or the error after which it makes no sense to try again at once.
  private func acceptBatch() -> Int32? {
    for _ in 0..<Self.batch {
      let fd = linuxio_accept(socket.descriptor)
      if fd >= 0 {
        admit(fd)
        continue
      }
      switch -fd {
      case EAGAIN, EWOULDBLOCK: return nil
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return -fd
      default: continue  // The peer is gone already (ECONNABORTED and the like), or a signal came.
      }
    }
    return nil
  }

  private func admit(_ fd: Int32) {
    let peer = IPAddress(peerOf: fd)
    switch context.gatekeeper.open(peer, counters: context.counters) {
    case .success(let slot): handOver(fd, slot)
    case .failure(let refused):
      context.refuse(refused.cause, from: peer)
      if context.configuration.tls == nil {
        let reply = HTTPReply(refused.cause).encoded()
        _ = unsafe reply.withUnsafeBytes { unsafe linuxio_send(fd, $0.baseAddress, $0.count) }
      }
      close(fd)
    }
  }

  private func turnAwayOne(_ reserve: inout Int32) {
    guard reserve >= 0 else { return reserve = Self.openReserve() }
    close(reserve)
    let fd = linuxio_accept(socket.descriptor)
    if fd >= 0 { close(fd) }
    reserve = Self.openReserve()
  }

  private static func openReserve() -> Int32 { unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }
}

extension IPAddress {
  /// The other end of a connected socket; nil where it has none, or no IP address.
  init?(peerOf fd: Int32) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let failed = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getpeername(fd, $0, &length) }
    }
    guard failed == 0 else { return nil }
    // Port and address stand behind the family: 2 and 4 bytes; for IPv6 4 bytes of flow information between them.
    let place =
      switch Int32(storage.ss_family) {
      case AF_INET: 4..<8
      case AF_INET6: 8..<24
      default: 0..<0
      }
    self.init(networkBytes: unsafe withUnsafeBytes(of: storage) { unsafe Array($0[place]) })
  }
}
