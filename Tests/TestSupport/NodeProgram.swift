public import Foundation

/// Node, and the compiler of TypeScript that it runs, where they are installed.
public enum NodeProgram {
  /// nil: it is not there.
  public static var executable: URL? { program(named: ["node", "nodejs"]) }

  /// The compiler's file; nil: it is not there. `.ci/setup servers` unpacks Debian's into the folder of the build.
  public static var typeScript: URL? {
    let unpacked = ServerProcess.repository.appendingPathComponent(".build/tools/typescript/usr/bin/tsc")
    // Node looks for the compiler's other files beside it: where the link leads.
    return (program(named: ["tsc"]) ?? (FileManager.default.isExecutableFile(atPath: unpacked.path) ? unpacked : nil))?
      .resolvingSymlinksInPath()
  }

  private static func program(named names: [String]) -> URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map { URL(fileURLWithPath: String($0)) }
    return folders.flatMap { folder in names.map { folder.appendingPathComponent($0) } }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }
}
