internal import CZeroMQ
import Glibc

/// Waits until one of several sockets, or a wake descriptor, is ready.
///
/// Not `zmq_poll`, which asks every socket before and after it sleeps, and each question is a system call or two. A
/// socket's descriptor tells when something changed, once: whoever was told has to ask the socket (`ZMQ_EVENTS`), and
/// has to ask again after using it, because a send may take in the change that the descriptor would have told of. So
/// what was learned of a socket holds, without a call, until
/// - its descriptor tells,
/// - it sent, or received without coming to the end (``SocketCore/uses``), or
/// - another socket of this poller sent over `inproc`. Its peer is most likely here, so it is asked right away instead
///   of being waited for.
///
/// The descriptors stand in an epoll instance, edge-triggered: nothing is told twice, and a wake-up needs no read.
@safe
public final class Poller {
  /// What a socket is watched for, or is ready for.
  public struct Events: OptionSet, Sendable {
    public let rawValue: Int16

    public init(rawValue: Int16) { self.rawValue = rawValue }

    /// A frame can be received.
    public static let input = Events(rawValue: Int16(ZMQ_POLLIN))
    /// A frame can be sent. Ask for it only while something waits to be sent: a socket is nearly always ready.
    public static let output = Events(rawValue: Int16(ZMQ_POLLOUT))
  }

  /// Names a socket within its poller.
  public struct Registration: Hashable, Sendable {
    let index: Int
    /// Tells a later socket in the same place from the one that was removed.
    let serial: UInt64
  }

  private struct Slot {
    var core: SocketCore?
    var serial: UInt64
    var interest: Events = []
    /// What the socket said when it was asked last.
    var known: Events = []
    /// The socket's descriptor has told of a change since the socket was asked last.
    var isTold = true
    /// The socket's `uses`, and its neighbours' `sends`, when it was asked last.
    var uses: UInt64 = 0
    var sends: UInt64 = 0
  }

  private let epoll: Int32
  private var slots: [Slot] = []
  private var nextSerial: UInt64 = 0
  private let neighbours = Neighbours()
  /// What the next `wait` throws.
  private var failure: ZeroMQError?

  /// Where there are no descriptors left, the first `wait` fails.
  ///
  /// - Parameter wakeDescriptor: a descriptor that ends `wait` each time it is written to. It need not be read.
  public init(wakeDescriptor: Int32 = -1) {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    if epoll < 0 { failure = ZeroMQError(code: errno, operation: .poll) }
    // A serial that no socket has.
    if wakeDescriptor >= 0 { follow(wakeDescriptor, serial: 0) }
  }

  deinit { _ = Glibc.close(epoll) }

  /// Where the kernel cannot watch one more, the next `wait` fails.
  public func add(_ socket: borrowing Socket, _ events: Events) -> Registration {
    nextSerial += 1
    let core = socket.core
    if let descriptor = core.descriptor { follow(descriptor, serial: nextSerial) }
    if core.isInProcess { core.neighbours = neighbours }
    let slot = Slot(core: core, serial: nextSerial, interest: events)
    if let free = slots.firstIndex(where: { $0.core == nil }) {
      slots[free] = slot
      return Registration(index: free, serial: nextSerial)
    }
    slots.append(slot)
    return Registration(index: slots.count - 1, serial: nextSerial)
  }

  /// Watches for other events from now on, in the rest of the round at hand too; an empty set pauses the socket.
  public func setEvents(_ events: Events, for registration: Registration) {
    if contains(registration) { slots[registration.index].interest = events }
  }

  public func remove(_ registration: Registration) {
    guard contains(registration) else { return }
    if let descriptor = slots[registration.index].core?.descriptor {
      _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }
    clear(registration.index)
  }

  /// How many sockets are known to be ready, without looking at the descriptors. A system call for each socket that
  /// was used, none for the others.
  public func countReady() throws(ZeroMQError) -> Int {
    var count = 0
    for index in slots.indices where !ask(index).isEmpty { count += 1 }
    if let failure { throw failure }
    return count
  }

  /// Waits for events; -1 waits for ever. Returns how many sockets are ready: 0 before the time is over too, because
  /// libzmq wakes its user for its own affairs.
  public func wait(timeoutMilliseconds: Int) throws(ZeroMQError) -> Int {
    let known = try countReady()
    try look(timeoutMilliseconds: known > 0 ? 0 : timeoutMilliseconds)
    return try countReady()
  }

  /// What the socket is ready for now, as far as can be known without looking at the descriptors; empty for a socket
  /// that is closed or removed.
  public func ready(_ registration: Registration) -> Events {
    contains(registration) ? ask(registration.index) : []
  }

  private func look(timeoutMilliseconds: Int) throws(ZeroMQError) {
    let count = unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 16) { buffer in
      let count = unsafe epoll_wait(
        epoll, buffer.baseAddress, Int32(buffer.count), Int32(clamping: timeoutMilliseconds))
      for place in 0..<max(0, Int(count)) {
        let serial = unsafe buffer[place].data.u64
        if let index = slots.firstIndex(where: { $0.serial == serial }) { slots[index].isTold = true }
      }
      return count
    }
    if count < 0 && errno != EINTR { throw ZeroMQError(code: errno, operation: .poll) }
  }

  /// Asks the socket where something may have changed since the last time.
  private func ask(_ index: Int) -> Events {
    let slot = slots[index]
    guard let core = slot.core, !slot.interest.isEmpty else { return [] }
    let sends = core.neighbours?.sends ?? 0
    guard slot.isTold || slot.uses != core.uses || slot.sends != sends else {
      return slot.known.intersection(slot.interest)
    }
    let isSettled = core.isDrained && slot.interest == .input && !slot.isTold && slot.sends == sends
    var known: Events = []
    if !isSettled {
      do throws(ZeroMQError) { known = try core.events() } catch { failure = error }
    }
    slots[index].known = known
    slots[index].isTold = false
    slots[index].uses = core.uses
    slots[index].sends = sends
    return known.intersection(slot.interest)
  }

  private func follow(_ descriptor: Int32, serial: UInt64) {
    var event = unsafe epoll_event()
    unsafe event.events = EPOLLIN.rawValue | EPOLLET.rawValue
    unsafe event.data.u64 = serial
    if unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0 {
      failure = ZeroMQError(code: errno, operation: .poll)
    }
  }

  private func contains(_ registration: Registration) -> Bool {
    slots.indices.contains(registration.index) && slots[registration.index].serial == registration.serial
  }

  private func clear(_ index: Int) { slots[index] = Slot(core: nil, serial: 0) }
}

@available(*, unavailable)
extension Poller: Sendable {}

/// Counts how often the `inproc` sockets of one poller have sent, all together.
final class Neighbours {
  var sends: UInt64 = 0
}
