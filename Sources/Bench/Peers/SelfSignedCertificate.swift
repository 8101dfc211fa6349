/// A key and a certificate that signs itself, for a server on this machine; made with `openssl`.
enum SelfSignedCertificate {
  static let certificate = "certificate.pem"
  static let key = "key.pem"

  /// - Parameter name: of the peer, for the sentence.
  static func make(in folder: PeerFolder, for name: String) throws(BenchError) {
    do throws(BenchError) {
      try Spawn.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", folder.file(key),
        "-out", folder.file(certificate),
      ])
    } catch { throw BenchError("openssl made no certificate for \(name): \(error)") }
  }
}
