/// Where the port for backends and operators is, and what it lets a client take.
public struct AdminConfiguration: Sendable {
  public var host: String
  /// The port; 0: the system chooses one.
  public var port: Int
  /// Connections at a time; one more waits to be accepted.
  public var maximumConnections: Int
  /// Milliseconds for a request to come whole and be answered, and for a connection to say nothing.
  public var requestTimeoutMilliseconds: Int64
  /// Bytes of the largest body.
  public var maximumBodyBytes: Int

  public init(
    host: String, port: Int, maximumConnections: Int, requestTimeoutMilliseconds: Int64, maximumBodyBytes: Int
  ) {
    self.host = host
    self.port = port
    self.maximumConnections = maximumConnections
    self.requestTimeoutMilliseconds = requestTimeoutMilliseconds
    self.maximumBodyBytes = maximumBodyBytes
  }
}

/// Why the port could not be opened, as a sentence.
public struct AdminError: Error, Sendable, CustomStringConvertible {
  public let description: String
}
