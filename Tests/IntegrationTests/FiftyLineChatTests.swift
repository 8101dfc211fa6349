import Foundation
import Glibc
import TestSupport
import Testing

/// The tutorial's chat: the lines that stand there are the program that runs here.
@Suite("A chat in fifty lines", .ownThread)
struct FiftyLineChatTests {
  private static let source = ServerProcess.repository.appendingPathComponent("Tests/FiftyLineChat/main.swift")
  private static let tutorial = ServerProcess.repository
    .appendingPathComponent("docs/tutorials/chat-in-fifty-lines-swift.md")

  @Test("The tutorial shows the program word for word, in fifty lines at most")
  func same() throws {
    let text = try String(contentsOf: Self.tutorial, encoding: .utf8)
    let blocks = text.components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(blocks == [try String(contentsOf: Self.source, encoding: .utf8)])
    #expect((blocks.first ?? "").split(separator: "\n", omittingEmptySubsequences: false).count <= 51)
  }

  /// Somebody's window: a keyboard that is a pipe, and what is on the screen.
  private final class Window {
    private let process: ChildProcess
    private let keyboard: Int32
    private let screen: URL

    init(_ user: String, _ hall: PhoneHall, in folder: URL) throws {
      let pipe = folder.appendingPathComponent("\(user)-keyboard")
      guard mkfifo(pipe.path, 0o600) == 0 else { throw Failure("no pipe for \(user)") }
      // Read and write, so that opening waits for nobody.
      keyboard = open(pipe.path, O_RDWR | O_CLOEXEC)
      screen = folder.appendingPathComponent("\(user)-screen")
      let program = try ServerProcess.executable().deletingLastPathComponent().appendingPathComponent("FiftyLineChat")
      process = try ChildProcess(
        program, [hall.url, hall.token(user), "chat:lobby"], environment: ChildProcess.fanfareEnvironment,
        input: pipe, output: screen, errors: folder.appendingPathComponent("\(user)-errors"))
    }

    deinit { close(keyboard) }

    func type(_ line: String) {
      let bytes = Array("\(line)\n".utf8)
      let written = write(keyboard, bytes, bytes.count)
      #expect(written == bytes.count)
    }

    var lines: [String] {
      let text = (try? String(contentsOf: screen, encoding: .utf8)) ?? ""
      return text.split(separator: "\n").map(String.init)
    }

    func shows(_ beginning: String) async -> Bool {
      let isThere = { self.lines.contains { $0.hasPrefix(beginning) } }
      _ = await eventually(within: .seconds(120)) { !self.process.isRunning || isThere() }
      return isThere()
    }

    func kill() { process.signal(SIGKILL) }
  }

  @Test("What one writes the other reads, and what is written without a server arrives once when it is back")
  func chat() async throws {
    try await PhoneHall.with { hall in
      try await withTemporaryFolder { folder in
        let ada = try Window("ada", hall, in: folder)
        defer { ada.kill() }
        try #require(await ada.shows("* in chat:lobby"))
        let bob = try Window("bob", hall, in: folder)
        defer { bob.kill() }
        try #require(await ada.shows("* bob is here"))
        try #require(await bob.shows("* in chat:lobby"))
        ada.type("hello")
        #expect(await bob.shows("ada: hello"))
        bob.type("hi ada")
        #expect(await ada.shows("bob: hi ada"))

        await hall.server.kill()
        #expect(await ada.shows("* offline: "))
        for number in 1...3 { ada.type("while away \(number)") }
        try await hall.killAndRestart()
        for number in 1...3 { #expect(await bob.shows("ada: while away \(number)")) }
        let seen = bob.lines.filter { $0.hasPrefix("ada: ") }
        #expect(seen == ["ada: hello", "ada: while away 1", "ada: while away 2", "ada: while away 3"])
      }
    }
  }
}
