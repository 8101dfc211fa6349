import CLinuxIO
import NIOCore
import NIOPosix

/// Calls back after the event loop has looked at its sockets once more.
///
/// A task that an event loop's task hands in runs before the loop looks at its sockets again, so a fan-out that goes on
/// as tasks would keep everybody's commands waiting. What arrives at a descriptor of our own comes behind what the
/// kernel already has for us.
final class EventLoopPass: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let callback: () -> Void
  private var ends: (Int32, Int32) = (-1, -1)
  private var isArmed = false
  /// The event loop's own epoll instance; -1 where it is not known.
  private var epoll: Int32 = -1

  /// Call this on the event loop.
  init(on eventLoop: any EventLoop, _ callback: @escaping () -> Void) {
    self.callback = callback
    let opened = unsafe withUnsafeMutableBytes(of: &ends) {
      unsafe linuxio_wakeup_open($0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    precondition(opened == 0, "no descriptor is free for an event loop: raise the limit of open files")
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    NIOPipeBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(bound.value) }
      }
      .takingOwnershipOfDescriptor(input: ends.0)
      .whenComplete { result in
        switch result {
        // A turn of the loop later, so that the descriptor is surely watched. The number is looked up while the process
        // has few descriptors.
        case .success: eventLoop.execute { bound.value.findEpoll() }
        case .failure(let error): preconditionFailure("an event loop cannot watch a descriptor: \(error)")
        }
      }
  }

  private func findEpoll() { epoll = linuxio_epoll_watching(ends.0) }

  /// Whether the event loop has something else to do: a socket to look at, a task from another thread. Timers do not
  /// show here. True where it cannot be told.
  ///
  /// One system call. A turn for nothing costs five, and thousands of instructions around them.
  var isOtherWorkWaiting: Bool { epoll < 0 || isArmed || linuxio_epoll_has_events(epoll) != 0 }

  func arm() {
    guard !isArmed else { return }
    isArmed = true
    unsafe withUnsafeBytes(of: ends) {
      unsafe linuxio_wakeup_signal($0.assumingMemoryBound(to: Int32.self).baseAddress)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    isArmed = false
    callback()
  }
}
