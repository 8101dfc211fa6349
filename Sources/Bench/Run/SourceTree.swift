import Foundation

/// The tree of sources that the bench was built in, by where the program stands.
enum SourceTree {
  /// A short commit, such as `ba7aaed01234`, with a mark where a file that git knows was changed since; nil where the
  /// program stands in no such tree, or git is not installed.
  ///
  /// It is what the tree was at when the bench ran: who measures builds first.
  static func commit() -> String? {
    guard let program = try? ProcessTable.ownExecutable() else { return nil }
    return commit(of: URL(fileURLWithPath: program).deletingLastPathComponent().path)
  }

  /// Of the tree that the folder stands in.
  static func commit(of folder: String) -> String? {
    // Another project's tree, in which the program may stand as well, has no such folder.
    guard (try? Spawn.run(["git", "-C", folder, "rev-parse", "HEAD:Sources/Bench"], seconds: 10)) != nil,
      let commit = try? Spawn.run(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], seconds: 10),
      let changes = try? Spawn.run(
        ["git", "-C", folder, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"], seconds: 10)
    else { return nil }
    return changes.isEmpty ? commit : "\(commit), with changes"
  }
}
