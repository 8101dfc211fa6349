internal import CZeroMQ
import Glibc

/// The I/O threads of libzmq and the name space of `inproc://`: one per process is enough.
///
/// Every socket keeps its context alive, so the context ends after its last socket. Ending it waits until closed
/// sockets have sent what their linger time allows; sockets linger for 0 ms unless their options say otherwise.
@safe
public final class Context: Sendable {
  // Safe to share: libzmq documents contexts as thread-safe, and the pointer is valid until deinit.
  nonisolated(unsafe) let handle: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - ioThreads: one does for about a gigabyte a second; `nil` keeps libzmq's default of 1.
  ///   - maxSockets: `nil` keeps libzmq's default of 1023.
  public init(ioThreads: Int32? = nil, maxSockets: Int32? = nil) throws(ZeroMQError) {
    guard let handle = unsafe zmq_ctx_new() else { throw .last(.createContext) }
    unsafe self.handle = unsafe handle
    // Not "blocky": new sockets linger for 0 ms instead of for ever, so that no forgotten peer can hang a shutdown.
    try set(ZMQ_BLOCKY, 0, "blocky")
    if let ioThreads { try set(ZMQ_IO_THREADS, ioThreads, "ioThreads") }
    if let maxSockets { try set(ZMQ_MAX_SOCKETS, maxSockets, "maxSockets") }
  }

  private func set(_ option: Int32, _ value: Int32, _ name: String) throws(ZeroMQError) {
    guard unsafe zmq_ctx_set(handle, option, value) == 0 else { throw .last(.setOption, name) }
  }

  /// Makes every call on a socket of this context fail with `.terminated`, calls that block now included.
  ///
  /// May be called from any thread, and more than once. The sockets still have to be closed by their owners.
  public func shutdown() {
    _ = unsafe zmq_ctx_shutdown(handle)
  }

  deinit {
    // No socket is left, because each holds a reference. A signal may interrupt the wait for lingering ones.
    while unsafe zmq_ctx_term(handle) != 0, zmq_errno() == EINTR {}
  }

  /// The libzmq that is loaded, like "4.3.4".
  public static var libraryVersion: String {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    unsafe zmq_version(&major, &minor, &patch)
    return "\(major).\(minor).\(patch)"
  }
}
