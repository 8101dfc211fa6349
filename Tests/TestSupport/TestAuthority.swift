public import Foundation

/// An authority of one test, which signs certificates and says by OCSP how they are, by the `openssl` command.
public final class TestAuthority {
  /// The folder of all its files, which is removed with the last reference.
  public let folder: URL
  public var certificatePath: String { path("authority.pem") }

  /// What a certificate may be used for.
  public enum Use: String, Sendable { case serverAuth, clientAuth }

  /// The files of a certificate that the authority has signed.
  public struct Signed: Sendable {
    public let certificatePath: String
    public let keyPath: String

    public init(certificatePath: String, keyPath: String) {
      self.certificatePath = certificatePath
      self.keyPath = keyPath
    }
  }

  public init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("authority-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try make(["-subj", "/CN=authority", "-keyout", path("authority.key"), "-out", certificatePath])
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A file in the authority's folder.
  public func path(_ file: String) -> String { folder.appendingPathComponent(file).path }

  /// Signs a certificate.
  ///
  /// - Parameters:
  ///   - names: alternative names as OpenSSL writes them, such as `DNS:a.example,DNS:b.example`.
  ///   - file: what the files begin with.
  public func sign(_ names: String, for use: Use = .serverAuth, file: String) throws -> Signed {
    let signed = Signed(certificatePath: path("\(file).pem"), keyPath: path("\(file).key"))
    try make([
      "-CA", certificatePath, "-CAkey", path("authority.key"), "-subj", "/CN=\(file)", "-addext",
      "subjectAltName=\(names)", "-addext", "basicConstraints=CA:FALSE", "-addext", "extendedKeyUsage=\(use.rawValue)",
      "-keyout", signed.keyPath, "-out", signed.certificatePath,
    ])
    // Signed by an authority in the chain, so that a server knows who that is.
    let chain = try Data(contentsOf: URL(fileURLWithPath: certificatePath))
    let leaf = try Data(contentsOf: URL(fileURLWithPath: signed.certificatePath))
    try (leaf + chain).write(to: URL(fileURLWithPath: signed.certificatePath))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: signed.keyPath)
    return signed
  }

  /// Writes an OCSP response about a certificate that holds for a day.
  ///
  /// - Parameter file: where to, in DER.
  public func answer(_ signed: Signed, isRevoked: Bool = false, to file: String) throws {
    let serial = try TestCertificate.openssl(["x509", "-in", signed.certificatePath, "-noout", "-serial"])
      .trimmingCharacters(in: .whitespacesAndNewlines).replacingOccurrences(of: "serial=", with: "")
    let entry =
      isRevoked ? "R\t400101000000Z\t200101000000Z\t\(serial)" : "V\t400101000000Z\t\t\(serial)"
    try Data("\(entry)\tunknown\t/CN=a\n".utf8).write(to: URL(fileURLWithPath: path("index.txt")))
    let asked = path("request.der")
    var said = try TestCertificate.openssl([
      "ocsp", "-issuer", certificatePath, "-cert", signed.certificatePath, "-no_nonce", "-reqout", asked,
    ])
    said += try TestCertificate.openssl([
      "ocsp", "-index", path("index.txt"), "-CA", certificatePath, "-rsigner", certificatePath, "-rkey",
      path("authority.key"), "-reqin", asked, "-respout", file, "-ndays", "1",
    ])
    guard FileManager.default.fileExists(atPath: file) else { throw TestCertificate.Failure.openssl(said) }
  }

  private func make(_ arguments: [String]) throws {
    let said = try TestCertificate.openssl(
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"] + arguments)
    guard let file = arguments.last, FileManager.default.fileExists(atPath: file) else {
      throw TestCertificate.Failure.openssl(said)
    }
  }
}
