import Auth
import Foundation
import Logging
import Settings
import TLS

/// `serve --dev-tls`: a certificate for this machine's own names, in the data folder, where browsers want
/// TLS while somebody develops. It is kept, so that whoever has trusted it once does until it ends.
enum DevelopmentTLS {
  private static let certificateName = "dev-tls.crt"
  private static let keyName = "dev-tls.key"
  private static let day = 86_400
  private static let lifetimeDays = 90
  /// With fewer days left, another is made.
  private static let renewalDays = 7

  /// Makes the certificate where there is none to use, and says how to trust it.
  ///
  /// - Returns: the settings that serve it, by their keys.
  static func prepare(for settings: Settings) throws -> [String: String] {
    let tls = settings.server.tls
    guard !tls.enabled, !tls.hasCertificates else {
      throw Complaint(
        "--dev-tls makes a certificate for development, and server.tls names others; leave --dev-tls out, or take "
          + "server.tls out of the settings")
    }
    let folder = settings.data.homeDirectory
    try DataFolderSetup.create(folder)
    let files = TLSContext.CertificateFiles(chainPath: "\(folder)/\(certificateName)", keyPath: "\(folder)/\(keyName)")
    let facts = try usable(files) ?? make(files, in: folder)
    LogOutput.logger(for: settings.log).warning(
      """
      FOR DEVELOPMENT ONLY: --dev-tls serves a self-signed certificate for localhost. Compare its SHA-256 fingerprint \
      where a browser asks, or trust it in one program: curl --cacert \(files.chainPath), NODE_EXTRA_CA_CERTS, \
      SSL_CERT_FILE. Where people are served, set server.tls
      """,
      metadata: ["fingerprint": "\(facts.fingerprint)", "certificate": "\(files.chainPath)"])
    return [
      tls.$enabled.description: "true", tls.$certificateFile.description: files.chainPath,
      tls.$keyFile.description: files.keyPath,
    ]
  }

  /// The certificate of an earlier start; nil where there is none, or none that holds for long enough.
  private static func usable(_ files: TLSContext.CertificateFiles) -> CertificateFacts? {
    guard let facts = try? TLSContext.server(files).facts,
      facts.endsAt > Int64(Date().timeIntervalSince1970) + Int64(renewalDays * day)
    else { return nil }
    return facts
  }

  private static func make(_ files: TLSContext.CertificateFiles, in folder: String) throws -> CertificateFacts {
    do {
      let new = try SelfSignedCertificate(for: lifetimeDays * day)
      try SecretFile.replace(files.keyPath, in: folder, with: new.key)
      try SecretFile.replace(files.chainPath, in: folder, with: new.certificate)
      guard let facts = try TLSContext.server(files).facts else { throw TLSError.failed(detail: "no certificate") }
      return facts
    } catch {
      throw Complaint("--dev-tls: \(error)")
    }
  }
}
