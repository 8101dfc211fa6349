/// What went wrong on a TLS connection or with its certificates. Each description is a sentence for the operator.
public enum TLSError: Error, Sendable, Equatable, CustomStringConvertible {
  case cannotReadCertificate(path: String, detail: String)
  case cannotReadKey(path: String, detail: String)
  case keyDoesNotMatch(certificatePath: String, keyPath: String)
  case cannotReadTrust(detail: String)
  /// One of several certificates of a server has no DNS name, so no client would get it.
  case namelessCertificate(path: String)
  case badServerName(String)
  /// The peer does not speak TLS, or we have no version or cipher in common.
  case handshakeFailed(detail: String)
  /// The peer's certificate is not for this name, not trusted, or expired.
  case untrustedPeer(detail: String)
  /// A client's certificate is none that this server accepts, or expired.
  case untrustedClient(detail: String)
  /// A client showed no certificate, and this server lets nobody in without.
  case clientWithoutCertificate
  /// The connection ended without the TLS goodbye: what was read may not be all that was sent.
  case truncated
  /// More was written before the handshake had ended than is held back until then.
  case tooMuchWaiting(limitBytes: Int)
  /// A write failed because it came after the connection had closed, or still waited when it closed.
  case closed
  case failed(detail: String)

  public var description: String {
    switch self {
    case .cannotReadCertificate(let path, let detail):
      "the certificate chain \(path) cannot be used (\(detail)); give a PEM file that begins with the server's certificate"
    case .cannotReadKey(let path, let detail):
      "the private key \(path) cannot be used (\(detail)); give a PEM file without a pass phrase"
    case .keyDoesNotMatch(let certificatePath, let keyPath):
      "the private key \(keyPath) does not belong to the certificate \(certificatePath); give the two that were made together"
    case .cannotReadTrust(let detail):
      "the certificates of trusted authorities cannot be read (\(detail)); give a PEM file, or install the system's"
    case .namelessCertificate(let path):
      "the certificate \(path) has no DNS name among its alternative names, so no client would get it; give one with names, or put it first"
    case .badServerName(let name): "\(name) is not a host name or an IP address that a certificate can be checked for"
    case .handshakeFailed(let detail):
      "the TLS handshake failed (\(detail)); check that both sides speak TLS 1.2 or later on this port"
    case .untrustedPeer(let detail):
      "the server's certificate is not accepted (\(detail)); check its names, its dates, and who signed it"
    case .untrustedClient(let detail):
      "the client's certificate is not accepted (\(detail)); check its dates, its use for clients, and who signed it"
    case .clientWithoutCertificate: "the client showed no certificate, and nobody is let in without"
    case .truncated: "the connection ended without a TLS close; what was received may not be complete"
    case .tooMuchWaiting(let limitBytes):
      "more than \(limitBytes) bytes were written before the TLS handshake ended; write less, or wait for it"
    case .closed: "the TLS connection is closed"
    case .failed(let detail): "the TLS connection failed (\(detail))"
    }
  }
}
