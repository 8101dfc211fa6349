extension Settings.Server {
  /// TLS on the port for clients.
  public struct TLS: Sendable, Equatable {
    /// A certificate, and what belongs to it.
    public struct Certificate: Sendable, Equatable {
      static let names = ["certificate_file", "key_file", "ocsp_file"]
      /// The most certificates: each is read at every reload.
      static let most = 100

      public let certificateFile: String
      public let keyFile: String
      /// Empty: nothing is stapled.
      public let ocspFile: String

      init(certificateFile: String, keyFile: String, ocspFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.ocspFile = ocspFile
      }

      init(_ members: [String: String]) {
        self.init(
          certificateFile: members[Self.names[0]] ?? "", keyFile: members[Self.names[1]] ?? "",
          ocspFile: members[Self.names[2]] ?? "")
      }

      static func fault(_ certificate: Certificate) -> String? {
        if certificate.certificateFile.isEmpty { return "holds one without certificate_file; name its PEM file" }
        if certificate.keyFile.isEmpty {
          return "holds \(SettingKey.quote(certificate.certificateFile)) without key_file; name its PEM file"
        }
        return nil
      }
    }

    /// Whether clients without a certificate are let in, where they are asked for one.
    public enum ClientCertificates: String, Sendable, CaseIterable { case required, optional }

    @Setting public var enabled: Bool
    @Setting public var certificateFile: String
    @Setting public var keyFile: String
    @Setting public var ocspFile: String
    @Setting public var certificates: [Certificate]
    /// Empty: clients are not asked for certificates.
    @Setting public var clientCAFile: String
    @Setting public var clientCertificates: ClientCertificates

    init(_ declare: inout SettingDeclarations) {
      _enabled = declare.flag("enabled", false, "Speak TLS on the port for clients.")
      _certificateFile = declare.text("certificate_file", "", "PEM file with the certificate and its chain.")
      _keyFile = declare.text("key_file", "", "PEM file with the certificate's private key.")
      _ocspFile = declare.text(
        "ocsp_file", "",
        "DER file with an OCSP response about the certificate, which is stapled to it; empty: none is.")
      _certificates = declare.objects(
        "certificates", with: Certificate.names,
        "Several certificates, in place of the one above, at most \(Certificate.most). A client gets the one with the name that it asks for (SNI), where * stands for one label; one that asks for another name, or none, gets the first. ocsp_file may be left out.",
        of: Certificate.init, fault: Certificate.fault)
      _clientCAFile = declare.text(
        "client_ca_file", "",
        "PEM file with the authorities of clients' certificates. Empty: clients are not asked for one.")
      _clientCertificates = declare.choice(
        "client_certificates", ClientCertificates.required,
        "With client_ca_file: whether clients without a certificate are refused, or let in as well. One with a certificate that is not accepted is refused in any case."
      )
    }

    /// All certificates, the one for any name first.
    public var allCertificates: [Certificate] {
      if !certificates.isEmpty { return certificates }
      return [Certificate(certificateFile: certificateFile, keyFile: keyFile, ocspFile: ocspFile)]
    }

    /// Whether somebody has named certificates, enabled or not.
    public var hasCertificates: Bool { !certificates.isEmpty || !certificateFile.isEmpty || !keyFile.isEmpty }
  }
}
