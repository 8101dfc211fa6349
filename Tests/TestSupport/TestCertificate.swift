public import Foundation

/// A self-signed certificate for `localhost` and 127.0.0.1, made by the `openssl` command for one test.
public final class TestCertificate: Sendable {
  /// The folder of the certificate's files, which is removed with the last reference.
  public let folder: URL
  public var chainPath: String { path("chain.pem") }
  public var keyPath: String { path("key.pem") }

  /// - Parameter name: the host for which the certificate is.
  public init(name: String = "localhost") throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try make(name: name)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A file in the certificate's folder.
  public func path(_ file: String) -> String { folder.appendingPathComponent(file).path }

  /// Makes another certificate and key in the same files.
  public func make(name: String) throws {
    let output = try Self.openssl([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name),IP:127.0.0.1", "-keyout", keyPath, "-out",
      chainPath,
    ])
    guard FileManager.default.fileExists(atPath: chainPath) else { throw Failure.openssl(output) }
  }

  public enum Failure: Error { case openssl(String) }

  /// Runs the `openssl` command to its end and returns all that it writes.
  public static func openssl(_ arguments: [String], input: String = "") throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    let (stdin, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput, process.standardError) = (stdin, output, output)
    try process.run()
    try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: said, as: UTF8.self)
  }
}
