public import Foundation

/// Firefox, where it is installed.
public enum FirefoxProgram {
  /// nil: it is not there.
  public static var executable: URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map { URL(fileURLWithPath: String($0)) }
    let candidates = folders.flatMap { folder in
      ["firefox-esr", "firefox"].map { folder.appendingPathComponent($0) }
    }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }
}
