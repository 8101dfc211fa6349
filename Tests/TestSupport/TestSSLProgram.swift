public import Foundation

/// testssl.sh, where it is installed.
public enum TestSSLProgram {
  /// Debian's package names it without its ending.
  public static let executable: URL? = ["testssl", "testssl.sh"].lazy.flatMap { name in
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map {
      URL(fileURLWithPath: String($0)).appendingPathComponent(name)
    }
  }.first { FileManager.default.isExecutableFile(atPath: $0.path) }
}
