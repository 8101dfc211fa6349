public import Wire
public import ZeroMQ

/// How the gateway reaches its broker.
public struct GatewayEndpoint: Sendable {
  public var address: String
  /// The gateway's side of CURVE; nil on inproc and ipc.
  public var curve: Curve.Role?

  public init(_ address: String, curve: Curve.Role? = nil) {
    self.address = address
    self.curve = curve
  }
}

/// What lies between the gateway and its broker.
public enum BackbonePipe {
  /// The broker is in this process, in the same turn.
  case memory(MemoryPipe)
  /// Brokers in processes of their own: those of each partition, one of which has its channels.
  case sockets([[GatewayEndpoint]], Context)
}

/// Deletes what is kept of users on a disk, and then calls the second parameter once, on any thread: with false where it
/// was ended before.
typealias ForgetUsers = @Sendable ([String], @escaping @Sendable (Bool) -> Void) -> Void
