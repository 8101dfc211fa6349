internal import CZeroMQ
import Glibc

/// Waits until one of several sockets, or a wake descriptor, is ready: `zmq_poll` over an array that is reused.
///
/// A socket that was closed without being removed is skipped, never touched. libzmq polls up to 16 items without
/// allocating; one thread of Fanfare has fewer.
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
  }

  private var items: [zmq_pollitem_t] = unsafe []
  private var slots: [Slot] = []
  private var nextSerial: UInt64 = 0

  /// - Parameter wakeDescriptor: a descriptor whose readability ends `wait` too.
  public init(wakeDescriptor: Int32 = -1) {
    // Item 0. poll(2) ignores a descriptor of -1.
    unsafe items.append(
      zmq_pollitem_t(socket: nil, fd: wakeDescriptor, events: Int16(ZMQ_POLLIN), revents: 0))
    slots.append(Slot(core: nil, serial: 0))
  }

  public func add(_ socket: borrowing Socket, _ events: Events) -> Registration {
    nextSerial += 1
    let item = unsafe zmq_pollitem_t(socket: socket.core.handle, fd: -1, events: events.rawValue, revents: 0)
    let slot = Slot(core: socket.core, serial: nextSerial)
    if let free = slots.indices.dropFirst().first(where: { slots[$0].core == nil }) {
      unsafe items[free] = unsafe item
      slots[free] = slot
      return Registration(index: free, serial: nextSerial)
    }
    unsafe items.append(item)
    slots.append(slot)
    return Registration(index: slots.count - 1, serial: nextSerial)
  }

  /// Watches for other events from now on; none pauses the socket. What is still to be told of this round counts too.
  public func setEvents(_ events: Events, for registration: Registration) {
    guard holds(registration) else { return }
    unsafe items[registration.index].events = events.rawValue
    unsafe items[registration.index].revents &= events.rawValue
  }

  public func remove(_ registration: Registration) {
    guard holds(registration) else { return }
    clear(registration.index)
  }

  /// Waits for events; -1 waits for ever. Returns how many sockets are ready, the wake descriptor counted.
  public func wait(timeoutMilliseconds: Int) throws(ZeroMQError) -> Int {
    for index in slots.indices.dropFirst() where unsafe slots[index].core?.handle == nil { clear(index) }
    let ready = unsafe items.withUnsafeMutableBufferPointer { buffer in
      unsafe zmq_poll(buffer.baseAddress, Int32(clamping: buffer.count), timeoutMilliseconds)
    }
    if ready >= 0 { return Int(ready) }
    if zmq_errno() == EINTR { return 0 }
    throw .last(.poll)
  }

  /// Whether the last `wait` found the wake descriptor readable.
  public var isWoken: Bool { unsafe items[0].revents != 0 }

  /// What the last `wait` found; empty for a socket that is closed or removed.
  public func ready(_ registration: Registration) -> Events {
    guard holds(registration), unsafe slots[registration.index].core?.handle != nil else { return [] }
    return unsafe Events(rawValue: items[registration.index].revents)
  }

  private func holds(_ registration: Registration) -> Bool {
    slots.indices.contains(registration.index) && slots[registration.index].serial == registration.serial
  }

  private func clear(_ index: Int) {
    slots[index] = Slot(core: nil, serial: 0)
    unsafe items[index] = unsafe zmq_pollitem_t(socket: nil, fd: -1, events: 0, revents: 0)
  }
}

@available(*, unavailable)
extension Poller: Sendable {}
