public import Foundation

/// Chromium, where it is installed.
public enum ChromiumProgram {
  /// nil: it is not there.
  public static var executable: URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map { URL(fileURLWithPath: String($0)) }
    let candidates = folders.flatMap { folder in
      ["chromium", "chromium-browser", "google-chrome"].map { folder.appendingPathComponent($0) }
    }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }
}
