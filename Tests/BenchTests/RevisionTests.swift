import Foundation
import TestSupport
import Testing

@testable import Bench

@Suite("The commit that a result names", .ownThread)
struct RevisionTests {
  @Test("Files that differ are told, results that were written before are not")
  func changes() throws {
    let folder = try TemporaryFolder()
    func git(_ arguments: String...) throws -> String {
      try Spawn.run(
        ["git", "-C", folder.path, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
          + arguments, seconds: 60)
    }
    func write(_ text: String, to name: String) throws {
      let file = URL(fileURLWithPath: "\(folder.path)/\(name)")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
    _ = try git("init", "--quiet")
    try write("a", to: "Sources/a.swift")
    try write("1", to: "benchmarks/results/fanout.txt")
    _ = try git("add", ".")
    _ = try git("commit", "--quiet", "-m", "Begin")
    let commit = try git("rev-parse", "HEAD")
    #expect(commit.utf8.count == 40 && Revision.at(folder.path) == commit)
    try write("2", to: "benchmarks/results/fanout.txt")
    #expect(Revision.at(folder.path) == commit)
    try write("b", to: "Sources/a.swift")
    #expect(Revision.at(folder.path) == commit + "-dirty")
  }

  @Test("A folder without a repository names none")
  func none() throws {
    let folder = try TemporaryFolder()
    #expect(Revision.at(folder.path) == nil)
  }
}
