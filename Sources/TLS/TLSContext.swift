import Synchronization

/// The certificates and rules that connections of one side share: TLS 1.2 and later, no renegotiation, ALPN `http/1.1`.
///
/// A server's certificates can be replaced while it serves (``reload()``): connections that exist keep what they began
/// with, later ones get the new ones.
public final class TLSContext: Sendable {
  /// Where a certificate of a server comes from. Chain and key are PEM files; the chain begins with the server's own.
  public struct CertificateFiles: Sendable, Equatable {
    public var chainPath: String
    public var keyPath: String
    /// A file with an OCSP response in DER, which is stapled to the certificate; nil: nothing is.
    public var responsePath: String?

    public init(chainPath: String, keyPath: String, responsePath: String? = nil) {
      self.chainPath = chainPath
      self.keyPath = keyPath
      self.responsePath = responsePath
    }
  }

  /// What a server asks of clients.
  public struct ClientCertificates: Sendable, Equatable {
    /// A PEM file: of these, or signed by one of these, a client's certificate has to be.
    public var authoritiesPath: String
    /// Whether a client without a certificate is refused. One whose certificate is not accepted is in any case.
    public var isRequired: Bool

    public init(authoritiesPath: String, isRequired: Bool) {
      self.authoritiesPath = authoritiesPath
      self.isRequired = isRequired
    }
  }

  /// How a client makes sure who the server is.
  public enum Trust: Sendable, Equatable {
    /// The authorities that the system trusts.
    case system
    /// The certificates in this PEM file, and no others.
    case authorities(path: String)
    /// Anybody. For tests.
    case insecure
  }

  struct Server: Sendable, Equatable {
    /// At least one.
    var certificates: [CertificateFiles]
    var clients: ClientCertificates?
  }

  enum Side: Sendable, Equatable {
    case server(Server)
    case client(Trust)
  }

  private let side: Side
  let clock: TLSClock
  private let current: Mutex<LoadedContext>

  /// The context of a server with one certificate, which the files hold now.
  ///
  /// - Throws: where the files cannot be read, or do not belong together.
  public static func server(_ files: CertificateFiles) throws(TLSError) -> TLSContext { try server([files]) }

  /// The context of a server, with the certificates that the files hold now.
  ///
  /// - Parameters:
  ///   - certificates: each is for the DNS names in it. The first also serves clients that ask for another name, or for
  ///     none.
  ///   - clients: nil: clients are not asked for certificates.
  /// - Throws: where the files cannot be read, or do not belong together. A response that cannot be stapled is no
  ///   reason: a ``CertificateReloader`` logs it.
  public static func server(
    _ certificates: [CertificateFiles], clients: ClientCertificates? = nil
  ) throws(TLSError) -> TLSContext {
    try server(certificates, clients: clients, clock: .system)
  }

  /// As ``server(_:clients:)``, by a clock of its own.
  package static func server(
    _ certificates: [CertificateFiles], clients: ClientCertificates? = nil, clock: TLSClock
  ) throws(TLSError) -> TLSContext {
    precondition(!certificates.isEmpty, "a server needs a certificate")
    return try TLSContext(.server(Server(certificates: certificates, clients: clients)), clock)
  }

  public static func client(trust: Trust = .system) throws(TLSError) -> TLSContext {
    try TLSContext(.client(trust), .system)
  }

  private init(_ side: Side, _ clock: TLSClock) throws(TLSError) {
    self.side = side
    self.clock = clock
    current = Mutex(try LoadedContext(side, clock))
  }

  /// The files that a server cannot do without, none on a client: certificates, keys, the authorities of clients.
  var paths: [String] {
    guard case .server(let server) = side else { return [] }
    return server.certificates.flatMap { [$0.chainPath, $0.keyPath] }
      + (server.clients.map { [$0.authoritiesPath] } ?? [])
  }

  /// What people compare of a server's first certificate; nil on a client.
  public var facts: CertificateFacts? { current.withLock(\.self).certificates.first?.context.facts }

  /// The responses that are stapled to the server's certificates.
  var responses: [StapledResponse] { current.withLock(\.self).certificates.compactMap(\.response) }

  /// Reads the files again. Where it throws, the old certificates stay. Tickets of sessions that began before count no
  /// more: each client sees the new certificate, and shows its own again.
  public func reload() throws(TLSError) {
    let new = try LoadedContext(side, clock)
    current.withLock { $0 = new }
  }

  /// Reads the files with stapled responses again.
  func readResponses() { current.withLock(\.self).readResponses() }

  /// Forgets keys of tickets that have ended.
  func forgetOldKeys() { current.withLock(\.self).tickets.forgetOld() }

  /// A handler for one connection that was accepted. Place it first in the pipeline.
  ///
  /// - Parameter loop: the `TLSLoop` of the connection's event loop; all connections of one event loop should share it.
  public func makeServerHandler(_ loop: TLSLoop = TLSLoop()) throws(TLSError) -> TLSHandler {
    guard case .server = side else { preconditionFailure("a client's context cannot serve; use TLSContext.server") }
    return TLSHandler(try current.withLock(\.self).makeSession(isServer: true, loop))
  }

  /// A handler for one connection that we open. Place it first in the pipeline.
  ///
  /// - Parameter serverName: the host name or IP address that the certificate must be for.
  public func makeClientHandler(serverName: String) throws(TLSError) -> TLSHandler {
    guard case .client(let trust) = side else {
      preconditionFailure("a server's context cannot connect; use TLSContext.client")
    }
    let session = try current.withLock(\.self).makeSession(isServer: false, TLSLoop())
    try session.expect(serverName: serverName, isVerified: trust != .insecure)
    return TLSHandler(session)
  }
}
