public import Foundation

/// Chromium, where it is installed. Its headless shell has the same engine without windows of its own around it, and takes
/// two thirds of the processor's time.
public enum ChromiumProgram {
  /// The first that is there is taken.
  private static let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]

  /// nil: it is not there.
  public static var executable: URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map { URL(fileURLWithPath: String($0)) }
    let candidates = names.flatMap { name in folders.map { $0.appendingPathComponent(name) } }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }
}
