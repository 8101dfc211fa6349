import NIOCore
import Wire

/// TLS handshakes that wait on one event loop, and whose is next: addresses take turns. Pure.
///
/// How many may wait is for ``Admission`` to say: each is a connection in its handshake.
struct HandshakeQueue<Work> {
  private var waiting: [IPAddress?: FirstInFirstOut<Work>] = [:]
  /// Addresses of which something waits, each once.
  private var addresses = FirstInFirstOut<IPAddress?>()

  var isEmpty: Bool { addresses.isEmpty }

  /// - Parameter address: nil where it is not known; those take turns as one address.
  mutating func add(_ work: Work, from address: IPAddress?) {
    if waiting[address] == nil { addresses.append(address) }
    waiting[address, default: FirstInFirstOut()].append(work)
  }

  mutating func next() -> Work? {
    guard let address = addresses.popFirst(), let work = waiting[address]?.popFirst() else { return nil }
    if waiting[address]?.isEmpty == true {
      waiting[address] = nil
    } else {
      addresses.append(address)
    }
    return work
  }
}

/// Begins at most one TLS handshake in each look of an event loop at its sockets.
///
/// The server's signature costs half a millisecond, and asking for it costs a client one packet. Begun as they come, a
/// hundred of them that arrive together would keep everybody's messages on that loop waiting until the last is signed, and
/// everybody else who wants in would stand behind them. One at a time, a message waits for one at most; and since
/// addresses take turns, whoever comes from elsewhere stands behind one of the crowd's and not behind the crowd.
///
/// Bound to its event loop, and deliberately not Sendable.
final class HandshakeTurns {
  private var queue = HandshakeQueue<() -> Void>()
  private var turn: LoopTurn?
  /// A handshake was begun since the loop has looked at its sockets.
  private var isTaken = false

  /// Call it on the event loop.
  init(on eventLoop: any EventLoop) {
    turn = LoopTurn(on: eventLoop) { [weak self] in self?.goOn() }
  }

  /// Does the work now, where this look at the sockets has seen none yet, or else in one of the next.
  func enter(_ address: IPAddress?, _ work: @escaping () -> Void) {
    if isTaken { return queue.add(work, from: address) }
    isTaken = true
    turn?.arm()
    work()
  }

  private func goOn() {
    guard let work = queue.next() else { return isTaken = false }
    turn?.arm()
    work()
  }
}
