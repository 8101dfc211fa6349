import Foundation

/// Which commit a result is of.
public enum Revision {
  /// The commit that is checked out where the bench and the server were built, with `-dirty` where files differ from
  /// it, other than results: those of one measurement stand there when the next one begins. Nil where they do not lie in
  /// Fanfare's repository, or where there is no git.
  ///
  /// It is what is checked out, not what was built: who measures a commit builds it first.
  public static func current() -> String? {
    guard let program = try? ProcessTable.ownExecutable() else { return nil }
    let folder = URL(fileURLWithPath: program).deletingLastPathComponent().path
    guard let top = try? Spawn.run(["git", "-C", folder, "rev-parse", "--show-toplevel"], seconds: 10),
      FileManager.default.fileExists(atPath: "\(top)/Sources/Bench")
    else { return nil }
    return at(top)
  }

  /// The same of a repository.
  static func at(_ top: String) -> String? {
    guard let commit = try? Spawn.run(["git", "-C", top, "rev-parse", "HEAD"], seconds: 10),
      let changes = try? Spawn.run(
        ["git", "-C", top, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)benchmarks/results"],
        seconds: 10)
    else { return nil }
    return changes.isEmpty ? commit : commit + "-dirty"
  }
}
