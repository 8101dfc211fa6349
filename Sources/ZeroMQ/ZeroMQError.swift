internal import CZeroMQ
import Glibc

/// A libzmq call that failed: what was tried, on what, and why.
///
/// `description` is a sentence for the person who runs the process; it says what to do where that is known.
public struct ZeroMQError: Error, Equatable, Sendable {
  /// What was tried.
  public enum Operation: String, Sendable {
    case createContext = "create a ZeroMQ context"
    case openSocket = "open a ZeroMQ socket"
    case setOption = "set the ZeroMQ option"
    case getOption = "read the ZeroMQ option"
    case bind = "bind to"
    case connect = "connect to"
    case send = "send a ZeroMQ message"
    case receive = "receive a ZeroMQ message"
    case allocate = "allocate a ZeroMQ message"
    case poll = "poll ZeroMQ sockets"
    case monitor = "watch a ZeroMQ socket"
    case readKey = "read the CURVE key"
    case generateKeys = "generate CURVE keys"
    case startThread = "start the thread"
  }

  /// Why it failed, for code that reacts to it.
  public enum Reason: Equatable, Sendable {
    /// EAGAIN: nothing to receive, or the pipe to the peer is full.
    case wouldBlock
    /// EHOSTUNREACH: a ROUTER with `routerMandatory` knows no peer of that identity.
    case unreachable
    /// ETERM: the context was shut down.
    case terminated
    /// EADDRINUSE.
    case addressInUse
    /// EACCES or EPERM.
    case accessDenied
    /// EMFILE or ENFILE: out of descriptors, or more sockets than the context allows.
    case tooManyOpen
    /// EINVAL.
    case invalid
    /// ENODEV or EADDRNOTAVAIL: no such network interface or address here.
    case noSuchInterface
    /// ENOTSOCK: the socket is closed.
    case closed
    case other
  }

  /// The `errno` of libzmq.
  public let code: Int32
  public let operation: Operation
  /// The endpoint or option the call was about.
  public let subject: String?

  init(code: Int32, operation: Operation, subject: String? = nil) {
    self.code = code
    self.operation = operation
    self.subject = subject
  }

  /// The error that the calling thread's last libzmq call left behind.
  static func last(_ operation: Operation, _ subject: String? = nil) -> ZeroMQError {
    ZeroMQError(code: zmq_errno(), operation: operation, subject: subject)
  }

  public var reason: Reason {
    switch code {
    case EAGAIN: .wouldBlock
    case EHOSTUNREACH: .unreachable
    case Self.terminatedCode: .terminated
    case EADDRINUSE: .addressInUse
    case EACCES, EPERM: .accessDenied
    case EMFILE, ENFILE: .tooManyOpen
    case EINVAL: .invalid
    case ENODEV, EADDRNOTAVAIL: .noSuchInterface
    case ENOTSOCK: .closed
    default: .other
    }
  }

  /// ETERM, which zmq.h spells as a sum that the importer may not fold.
  static let terminatedCode: Int32 = 156_384_712 + 53
}

extension ZeroMQError: CustomStringConvertible {
  public var description: String {
    let what = subject.map { "\(operation.rawValue) \($0)" } ?? operation.rawValue
    return "Could not \(what): \(advice)"
  }

  private var advice: String {
    switch (reason, operation) {
    case (.wouldBlock, .receive):
      return "nothing has arrived yet."
    case (.wouldBlock, _):
      return "the queue to the peer is full; wait until it has read some, or raise its high-water mark."
    case (.unreachable, _):
      return "no peer with that identity is connected; wait until it connects, or drop what is meant for it."
    case (.terminated, _):
      return "the ZeroMQ context was shut down; close the socket."
    case (.addressInUse, _):
      return "something listens there already; stop the other process, or choose another endpoint."
    case (.accessDenied, _):
      return "permission denied; check who owns the path, or choose a port above 1023."
    case (.tooManyOpen, _):
      return "out of descriptors or sockets; raise the limit of open files (ulimit -n) or the context's maxSockets."
    case (.invalid, .bind), (.invalid, .connect):
      return "that is no endpoint; write it like tcp://127.0.0.1:7000, ipc:///run/fanfare.sock or inproc://name."
    case (.invalid, .readKey):
      return "a CURVE key is 40 characters of Z85; generate a pair and copy it whole."
    case (.invalid, _):
      return "the value is out of range, or this libzmq does not know it."
    case (.noSuchInterface, _):
      return "this machine has no such network interface or address; check the host part of the endpoint."
    case (.closed, _):
      return "the socket is closed."
    case (.other, _):
      return "\(unsafe String(cString: zmq_strerror(code))) (errno \(code))."
    }
  }
}
