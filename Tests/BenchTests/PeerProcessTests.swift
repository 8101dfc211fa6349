import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bench

/// The bench itself, which brings a server small enough for any test: `zmq-peer`.
func benchExecutable() throws -> String {
  try ServerProcess.executable().deletingLastPathComponent().appendingPathComponent("fanfare-bench").path
}

/// Whether a process runs. One that has ended and waits to be reaped, as an orphan does in a container without an init,
/// does not.
private func isRunning(_ process: Int32) -> Bool {
  guard let state = ProcessTable.stat(of: process)?.first else { return false }
  return state != "Z" && state != "X"
}

@Suite("Servers that the bench starts", .serialized, .ownThread)
struct PeerProcessTests {
  private func withScript(
    _ lines: String, _ body: @escaping @Sendable (ScriptPeer) throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let text = """
        #!/bin/sh
        case "$1" in
        version) echo "tiny 1.0" ;;
        settings) echo "as small as can be" ;;
        start) \(lines) ;;
        esac
        """
      try await install(text, as: "tiny", in: folder)
      let peer = ScriptPeer(name: "tiny", dialect: "zmtp", scheme: "tcp", path: "/x", folder: folder.path)
      try body(peer)
    }
  }

  /// Written by another process: a descriptor of ours, inherited by what another test starts at this moment, would keep
  /// the file from being executed.
  private func install(_ script: String, as name: String, in folder: URL) async throws {
    let (draft, file) = (folder.appendingPathComponent("draft"), folder.appendingPathComponent(name))
    try script.write(to: draft, atomically: true, encoding: .utf8)
    let copied = try await Command(named: "install", ["-m", "755", draft.path, file.path]).run(deadline: .seconds(300))
    try #require(copied.status == 0)
  }

  @Test("A script's server is found ready with all its processes, and leaves neither process nor folder")
  func scriptPeer() async throws {
    let bench = try benchExecutable()
    try await withScript("sleep 1000 & echo \"$2\" >&2; exec '\(bench)' zmq-peer --port \"$3\"") { peer in
      #expect(
        try peer.describe() == PeerDescription(name: "tiny", version: "tiny 1.0", settings: "as small as can be"))
      let running = try peer.start(.forPeers(), cores: [])
      #expect(running.processes.count == 2)
      #expect(running.target.url.hasPrefix("tcp://127.0.0.1:"))
      #expect(running.target.url.hasSuffix("/x"))
      let port = try #require(running.target.url.dropLast(2).split(separator: ":").last.flatMap { Int($0) })
      #expect(LoopbackPort.takesConnections(port))
      let folders = running.processes.compactMap { process -> String? in
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/2")
      }
      let folder = try #require(folders.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path })
      #expect(FileManager.default.fileExists(atPath: folder))
      running.stop()
      running.stop()
      #expect(!running.processes.contains(where: isRunning))
      #expect(!LoopbackPort.takesConnections(port))
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
  }

  @Test("A worker that a server starts after it listens is counted")
  func lateWorker() async throws {
    let bench = try benchExecutable()
    // The worker begins when the port is open; what it waits with is the shell's own.
    let lines = """
      '\(bench)' zmq-peer --port "$3" &
      until (exec 3<> "/dev/tcp/127.0.0.1/$3") 2> /dev/null; do sleep 0.01; done; sleep 0.05; sleep 1000 & wait
      """
    try await withScript("exec bash -c '\(lines.replacing("'", with: "'\\''"))' - - - \"$3\"") { peer in
      let running = try peer.start(.forPeers(), cores: [])
      defer { running.stop() }
      // How long the bench waits for the worker is another test's matter: a busy machine may start it later.
      #expect(Set(Self.names(running.processes)).isSuperset(of: ["bash\n", "fanfare-bench\n"]))
      let group = getpgid(try #require(running.processes.first))
      let deadline = MonotonicTime.now() + 300_000_000_000
      var names: Set<String> = []
      repeat {
        names = Set(Self.names(ProcessTable.processes(inGroup: group)))
        usleep(10_000)
      } while names != ["bash\n", "fanfare-bench\n", "sleep\n"] && MonotonicTime.now() < deadline
      #expect(names == ["bash\n", "fanfare-bench\n", "sleep\n"])
    }
  }

  private static func names(_ processes: [Int32]) -> [String] {
    processes.compactMap { try? String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8) }
  }

  @Test("A server's processes are those that were seen for the whole of the pause, or at the deadline")
  func settling() {
    /// A clock that each look and each rest moves on by one; and what there is from which time on.
    func settled(_ seen: [UInt64: [Int32]], pause: UInt64, deadline: UInt64) -> (found: [Int32], at: UInt64) {
      var time: UInt64 = 0
      let found = ChildServer.settled(pause: pause, deadline: deadline, now: { time }) {
        seen.filter { $0.key <= time }.max { $0.key < $1.key }?.value ?? []
      } rest: {
        time += 1
      }
      return (found, time)
    }
    #expect(settled([0: [1]], pause: 20, deadline: 500) == ([1], 20))
    // A worker that starts within the pause begins a new one, and so does one that ends.
    #expect(settled([0: [1], 19: [1, 2]], pause: 20, deadline: 500) == ([1, 2], 39))
    #expect(settled([0: [1], 19: [1, 2], 38: [1]], pause: 20, deadline: 500) == ([1], 58))
    #expect(settled([0: [1], 21: [1, 2]], pause: 20, deadline: 500) == ([1], 20))
    #expect(settled([0: [1], 19: [1, 2]], pause: 20, deadline: 25) == ([1, 2], 25))
  }

  @Test("A server that is pinned runs on those cores alone")
  func pinned() async throws {
    let bench = try benchExecutable()
    let core = try #require(Machine.allowedCores().last)
    try await withScript("exec '\(bench)' zmq-peer --port \"$3\"") { peer in
      let running = try peer.start(.forPeers(), cores: [core])
      defer { running.stop() }
      let process = try #require(running.processes.first)
      let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      #expect(status.contains("Cpus_allowed_list:\t\(core)\n"))
    }
  }

  @Test("A server that ends at once is told with what it said, and its folder is gone")
  func endsAtOnce() async throws {
    try await withScript("echo \"no such luck in $2\"; exit 3") { peer in
      let error = #expect(throws: BenchError.self) { _ = try peer.start(.forPeers(), cores: []) }
      let text = try #require(error?.description)
      #expect(text.contains("ended before it took connections"))
      let folder = try #require(text.split(separator: " ").last.map(String.init))
      #expect(folder.contains("bench-tiny-"))
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
  }

  @Test("A server that does not end when it is told to is ended all the same")
  func stubborn() async throws {
    try Self.endStubborn()
  }

  private static func endStubborn() throws {
    let folder = try PeerFolder(for: "stubborn")
    defer { folder.remove() }
    let server = try ChildServer(
      ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], name: "stubborn", cores: [],
      folder: folder)
    // The server is stopped only when its shell ignores the signal, which it says by "ready".
    let deadline = MonotonicTime.now() + 300_000_000_000
    while folder.end(of: "stubborn.log") != "ready", MonotonicTime.now() < deadline { usleep(1000) }
    server.stop(patience: 0.1)
    #expect(!server.isRunning)
    #expect(server.processes.isEmpty)
    #expect(FileManager.default.fileExists(atPath: folder.path))
  }

  @Test("When the bench is gone, its watcher ends the server and removes the folder")
  func watcher() async throws {
    let folder = try PeerFolder(for: "watched")
    let server = try Spawn.start(["sleep", "1000"], output: "/dev/null", environment: ChildServer.environment())
    let (output, input) = try makePipe()
    let watcher = try Spawn.start(
      ["sh", "-c", ChildServer.watch, "sh", String(server), folder.path], input: output, output: "/dev/null",
      environment: ChildServer.environment())
    close(output)
    #expect(isRunning(server))
    close(input)
    var status: Int32 = 0
    #expect(await eventually(within: .seconds(300)) { waitpid(server, &status, WNOHANG) == server })
    #expect(status & 0x7F == SIGTERM)
    #expect(await eventually(within: .seconds(300)) { waitpid(watcher, &status, WNOHANG) == watcher })
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test("A script that is not there is named with what to do")
  func missingScript() async throws {
    try await withTemporaryFolder { folder in
      let peer = ScriptPeer(name: "nobody", dialect: "nats", scheme: "ws", folder: folder.path)
      let error = #expect(throws: BenchError.self) { _ = try peer.describe() }
      #expect(error?.description.contains("\(folder.path)/nobody") == true)
    }
  }

  @Test("A failing `version` is the reason for which a peer is skipped")
  func notInstalled() async throws {
    try await withTemporaryFolder { folder in
      try await install("#!/bin/sh\necho 'absent: it is not installed' >&2\nexit 1\n", as: "absent", in: folder)
      let peer = ScriptPeer(name: "absent", dialect: "nats", scheme: "ws", folder: folder.path)
      let error = #expect(throws: BenchError.self) { _ = try peer.describe() }
      #expect(error?.description == "absent: it is not installed")
    }
  }
}

@Suite("The catalogue of peers", .ownThread)
struct PeerCatalogueTests {
  @Test("Every name leads to the peer of that name")
  func names() throws {
    #expect(Set(PeerCatalogue.names).count == PeerCatalogue.names.count)
    for name in PeerCatalogue.names { #expect(try PeerCatalogue.peer(named: name).name == name) }
  }

  @Test("An unknown name is answered with all names")
  func unknown() throws {
    let error = #expect(throws: BenchError.self) { _ = try PeerCatalogue.peer(named: "kafka") }
    for name in PeerCatalogue.names { #expect(error?.description.contains(name) == true) }
  }

  @Test(
    "An address that is none is refused",
    arguments: ["", "127.0.0.1:8000", "http://127.0.0.1", "ws://", "file:///etc/passwd"])
  func addresses(url: String) throws {
    #expect(throws: BenchError.self) { _ = try URLPeer(url: url) }
  }

  @Test("A server that somebody else runs is neither started nor stopped, and its processes are counted")
  func someoneElses() throws {
    let peer = try URLPeer(url: "wss://example.org/connection/websocket", token: "t", processes: [getpid()])
    let running = try peer.start(.forPeers(), cores: [0])
    running.stop()
    #expect(running.processes == [getpid()])
    #expect(running.target.token == "t")
    #expect(!running.target.spreadsSourceAddresses)
    #expect(try URLPeer(url: "ws://127.0.0.1:8000/x").target.spreadsSourceAddresses)
  }
}
