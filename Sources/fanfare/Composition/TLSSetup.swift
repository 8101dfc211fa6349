import Auth
import Settings
import TLS

/// TLS on the port for clients, from the settings.
enum TLSSetup {
  static func context(for tls: Settings.Server.TLS) throws -> TLSContext {
    for certificate in tls.allCertificates {
      do throws(SecretFile.Fault) { try SecretFile.requirePrivate(certificate.keyFile) } catch {
        let key = tls.certificates.isEmpty ? tls.$keyFile.description : "key_file in \(tls.$certificates)"
        throw Complaint("\(key): \(error)")
      }
    }
    do throws(TLSError) {
      return try TLSContext.server(
        tls.allCertificates.map {
          .init(
            chainPath: $0.certificateFile, keyPath: $0.keyFile, responsePath: $0.ocspFile.isEmpty ? nil : $0.ocspFile)
        },
        clients: tls.clientCAFile.isEmpty
          ? nil : .init(authoritiesPath: tls.clientCAFile, isRequired: tls.clientCertificates == .required))
    } catch {
      throw Complaint("server.tls: \(error)")
    }
  }
}
