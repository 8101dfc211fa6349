internal import CZeroMQ
import Dispatch
import Glibc
import Synchronization

/// The one thread of a process that owns its ZeroMQ sockets.
///
/// Several participants share it: in `serve` a message between broker and gateway never changes threads. All signals
/// are blocked on it, so that they go to threads that expect them.
public final class BackboneThread: Sendable {
  private let control: LoopControl
  private let thread: pthread_t
  private let isJoined = Mutex(false)

  private init(_ control: LoopControl, _ thread: pthread_t) {
    self.control = control
    self.thread = thread
  }

  /// Starts the thread and returns when its participants are built, or throws what building them threw.
  ///
  /// - Parameters:
  ///   - name: as `top -H` shows it; Linux keeps 15 bytes of it.
  ///   - messagesPerRound: see `BackboneLoop`.
  ///   - onFailure: called on the thread, after everything was closed, if the loop ended for another reason than
  ///     `stop()`.
  ///   - build: runs on the thread. Make the sockets here and tell the loop what to watch.
  public static func start(
    name: String = "backbone", messagesPerRound: Int = 256,
    onFailure: @escaping @Sendable (any Error) -> Void,
    build: @escaping @Sendable (BackboneLoop) throws -> [any BackboneParticipant]
  ) throws -> BackboneThread {
    precondition(messagesPerRound > 0, "A round in which nothing may be handled never ends")
    let control = try LoopControl()
    let start = LoopStart(
      name: name, messagesPerRound: messagesPerRound, control: control, onFailure: onFailure, build: build)
    let thread = try unsafe spawn(Unmanaged.passRetained(start))
    start.isBuilt.wait()
    if let error = start.buildError.withLock({ $0 }) {
      pthread_join(thread, nil)
      throw error
    }
    return BackboneThread(control, thread)
  }

  private static func spawn(_ start: Unmanaged<LoopStart>) throws(ZeroMQError) -> pthread_t {
    // A thread inherits the mask, so that there is no moment in which a signal could reach it.
    var all = sigset_t()
    var previous = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

    var thread = pthread_t()
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<LoopStart>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      unsafe start.release()
      throw ZeroMQError(code: code, operation: .startThread)
    }
    return thread
  }

  /// Closes the participants on the loop's thread and waits until it has ended. May be called from any thread, and more
  /// than once.
  ///
  /// On the loop's own thread it only asks for the end, because a thread cannot wait for itself.
  public func stop() {
    control.requestStop()
    if pthread_equal(pthread_self(), thread) != 0 { return }
    isJoined.withLock { isJoined in
      if isJoined { return }
      isJoined = true
      pthread_join(thread, nil)
    }
  }

  deinit {
    stop()
    isJoined.withLock { isJoined in
      if !isJoined { pthread_detach(thread) }
    }
  }
}

/// What the new thread is given to run, and what it says back to the one that started it.
private final class LoopStart: Sendable {
  let name: String
  let messagesPerRound: Int
  let control: LoopControl
  let onFailure: @Sendable (any Error) -> Void
  let build: @Sendable (BackboneLoop) throws -> [any BackboneParticipant]
  let isBuilt = DispatchSemaphore(value: 0)
  let buildError = Mutex<(any Error)?>(nil)

  init(
    name: String, messagesPerRound: Int, control: LoopControl,
    onFailure: @escaping @Sendable (any Error) -> Void,
    build: @escaping @Sendable (BackboneLoop) throws -> [any BackboneParticipant]
  ) {
    self.name = name
    self.messagesPerRound = messagesPerRound
    self.control = control
    self.onFailure = onFailure
    self.build = build
  }

  func run() {
    unsafe czmq_name_this_thread(name)
    let loop = BackboneLoop(control, messagesPerRound: messagesPerRound)
    do {
      try loop.build(build)
    } catch {
      loop.tearDown()
      buildError.withLock { $0 = error }
      isBuilt.signal()
      return
    }
    control.turn.open(loop)
    isBuilt.signal()
    do {
      try loop.run()
      loop.tearDown()
    } catch {
      loop.tearDown()
      onFailure(error)
    }
  }
}
