public import Foundation

/// Firefox, as the distribution ships it: installed, or unpacked by `.ci/setup servers`.
public enum FirefoxProgram {
  private static let unpacked = ServerProcess.repository.appendingPathComponent(".build/tools/firefox/usr")

  /// nil: it is not there.
  public static var executable: URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map { URL(fileURLWithPath: String($0)) }
    let candidates =
      folders.flatMap { folder in ["firefox-esr", "firefox"].map { folder.appendingPathComponent($0) } }
      + [unpacked.appendingPathComponent("lib/firefox-esr/firefox-esr")]
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  /// Where libraries are that were unpacked with it, and that the system does not have; empty where it is installed.
  public static var libraries: String {
    let libraries = unpacked.appendingPathComponent("lib")
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: libraries.path)) ?? []
    return folders.filter { $0.hasSuffix("-linux-gnu") }.map { libraries.appendingPathComponent($0).path }
      .joined(separator: ":")
  }
}
