public import Foundation

/// Prometheus's own programs: of the machine, or as `.ci/setup test` has unpacked them into the build's folder.
public enum PrometheusTools {
  /// Nil where there is neither.
  public static func path(of program: String) -> URL? {
    let top = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { String($0) }
    return (folders + [top.appendingPathComponent(".build/tools/prometheus/usr/bin").path])
      .map { URL(fileURLWithPath: $0).appendingPathComponent(program) }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }

  public static var areThere: Bool { path(of: "promtool") != nil && path(of: "prometheus") != nil }
}
