public import Synchronization

/// Brings elements from any thread to the loop, in the order in which each thread posted them.
///
/// Bounded by `capacity`, in the unit of the costs its producers name (elements if they name none, or bytes). A full
/// mailbox refuses: the producer decides whom that hurts. An element that was taken always reaches the loop's handler,
/// also when the loop stops meanwhile.
///
/// Inlinable, with all that it is made of: generic code that is not specialised asks the runtime for its types at each
/// post, which took a twentieth of the time of a message at rest.
public final class Mailbox<Element: Sendable>: Sendable {
  @usableFromInline struct State {
    @usableFromInline var queue: [Element] = []
    @usableFromInline var cost = 0
    @usableFromInline var isClosed = false
    @usableFromInline var control: LoopControl?

    @inlinable init() {}
  }

  /// The most that may wait, in units of cost.
  public let capacity: Int
  @usableFromInline let state = Mutex(State())

  @inlinable
  public init(capacity: Int) {
    self.capacity = capacity
  }

  /// Any thread. False if the element was not taken: the mailbox is full, or its loop has ended.
  ///
  /// An element that costs more than the whole capacity is taken by an empty mailbox, so that it is not refused for
  /// ever. One that costs nothing is never refused for want of room.
  ///
  /// - Parameter wakes: without it, a loop that sleeps goes on sleeping until ``wake()`` or the next post that wakes
  ///   it.
  @inlinable
  public func post(_ element: Element, cost: Int = 1, wakes: Bool = true) -> Bool {
    let (isTaken, waker) = state.withLock { state -> (Bool, Waker?) in
      guard admit(cost, &state) else { return (false, nil) }
      state.queue.append(element)
      return (true, wakes ? state.control?.waker : nil)
    }
    waker?.signal()
    return isTaken
  }

  /// Any thread. What was posted without waking the loop is looked at now, on the loop's thread.
  @inlinable
  public func wake() {
    state.withLock { $0.control }?.waker.signal()
  }

  /// Any thread. What was posted without waking the loop is handled now: here, where the loop's turn is free and its
  /// handlers allow it; else by whoever has the turn, or on the loop's thread.
  ///
  /// Takes as long as some hundred messages take. Call it where the handlers may hand something back to this thread.
  @inlinable
  public func run() {
    state.withLock { $0.control }?.runElsewhere()
  }

  /// Any thread. Posts all elements, next to each other, or none; `cost` is that of all together.
  @inlinable
  public func post(contentsOf elements: [Element], cost: Int? = nil) -> Bool {
    if elements.isEmpty { return true }
    let (isTaken, waker) = state.withLock { state -> (Bool, Waker?) in
      guard admit(cost ?? elements.count, &state) else { return (false, nil) }
      state.queue.append(contentsOf: elements)
      return (true, state.control?.waker)
    }
    waker?.signal()
    return isTaken
  }

  @inlinable
  func admit(_ cost: Int, _ state: inout State) -> Bool {
    let (total, overflow) = state.cost.addingReportingOverflow(max(0, cost))
    guard !state.isClosed, !overflow, cost <= 0 || total <= capacity || state.queue.isEmpty else { return false }
    state.cost = total
    return true
  }

  @inlinable
  func attach(_ control: LoopControl) {
    state.withLock { state in
      precondition(state.control == nil, "A mailbox belongs to one loop: make one per loop")
      state.control = control
    }
    // Elements may have been posted before.
    control.waker.signal()
  }

  /// Exchanges the waiting elements for `batch`, which must be empty and lends its storage to the next ones.
  @inlinable
  func take(_ batch: inout [Element]) {
    state.withLock { state in
      swap(&state.queue, &batch)
      state.cost = 0
    }
  }

  /// From here on `post` refuses; what it took before stays to be taken.
  @inlinable
  func close() {
    state.withLock { $0.isClosed = true }
  }
}

/// A mailbox as its loop sees it. Closures and no protocol: a generic class that is called through a protocol is never
/// specialised.
@usableFromInline
struct MailboxDrain {
  /// Handles up to `limit` elements; true if there may be more.
  ///
  /// - Parameter onThread: whether this is the loop's own thread; on another, only elements that may be handled
  ///   anywhere are handled.
  let drain: (_ limit: Int, _ onThread: Bool) -> Bool
  /// Refuses new elements and handles the rest.
  let finish: () -> Void

  @usableFromInline
  init(drain: @escaping (Int, Bool) -> Bool, finish: @escaping () -> Void) {
    self.drain = drain
    self.finish = finish
  }
}

@usableFromInline
final class MailboxReader<Element: Sendable> {
  /// A batch's storage beyond this many elements, left by a burst, is given back.
  @inlinable static var retainedCapacity: Int { 4096 }

  @usableFromInline let mailbox: Mailbox<Element>
  @usableFromInline let handle: (Element) -> Void
  @usableFromInline let anywhere: (Element) -> Bool
  @usableFromInline var batch: [Element] = []
  @usableFromInline var next = 0

  @inlinable
  init(
    _ mailbox: Mailbox<Element>, anywhere: @escaping (Element) -> Bool, _ handle: @escaping (Element) -> Void
  ) {
    self.mailbox = mailbox
    self.anywhere = anywhere
    self.handle = handle
  }

  @inlinable
  func drain(limit: Int, onThread: Bool) -> Bool {
    // Elements that were posted while an older batch was worked off have used up their wake-up: the loop has to look
    // once more.
    let isOld = !batch.isEmpty
    if !isOld {
      mailbox.take(&batch)
      if batch.isEmpty { return false }
    }
    let end = min(batch.count, next + limit)
    while next < end {
      if !onThread && !anywhere(batch[next]) { return true }
      handle(batch[next])
      next += 1
    }
    guard next == batch.count else { return true }
    batch.removeAll(keepingCapacity: batch.capacity <= Self.retainedCapacity)
    next = 0
    return isOld
  }

  @inlinable
  func finish() {
    mailbox.close()
    while drain(limit: Int.max / 2, onThread: true) {}
  }
}
