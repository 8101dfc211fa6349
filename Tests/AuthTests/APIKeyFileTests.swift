import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Auth

@Suite("The file of API keys while the server runs")
struct APIKeyFileTests {
  /// What was logged: levels, messages and errors.
  private final class Lines: LogHandler, @unchecked Sendable {  // Changed under its lock alone.
    private let lines = Mutex<[String]>([])
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }

    func log(event: LogEvent) {
      let error = event.metadata?["error"].map { ": \($0)" } ?? ""
      lines.withLock { $0.append("\(event.level) \(event.message)\(error)") }
    }

    /// The lines since the last call.
    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  private let clock = TestClock()
  private let lines = Lines()

  private var logger: Logger {
    let lines = lines
    return Logger(label: "test") { _ in lines }
  }

  private func open(_ folder: String, configured: String = "") throws -> APIKeyFile {
    let clock = clock
    return try APIKeyFile(folder: folder, configured: configured, now: { clock.now }, logger: logger)
  }

  private func create(_ name: String, in folder: String) throws -> String {
    let grant = try APIGrant(allow: ["publish"], channels: ["*"])
    return try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in
      try keys.create(name: name, grant: grant, at: 1_772_452_800)
    }
  }

  private func delete(_ name: String, in folder: String) throws {
    try APIKeys.change(in: folder) { (keys) throws(APIKeyFault) in try keys.delete(name) }
  }

  private let reread = "notice the API keys were read again"

  @Test("New and deleted keys count from the next second on, also where there was no file before or is none afterwards")
  func changes() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let file = try open(folder, configured: "of-my-own")
      #expect(file.key(for: "of-my-own")?.name == "configured" && file.current().keys.isEmpty)
      let billing = try create("billing", in: folder)
      #expect(file.key(for: billing) == nil)
      clock.advance(1)
      #expect(file.key(for: billing)?.name == "billing")
      let chat = try create("chat", in: folder)
      try delete("billing", in: folder)
      #expect(file.key(for: billing)?.name == "billing" && file.key(for: chat) == nil)
      clock.advance(1)
      #expect(file.key(for: billing) == nil && file.key(for: chat)?.name == "chat")
      try FileManager.default.removeItem(atPath: folder + "/" + APIKeys.fileName)
      clock.advance(1)
      #expect(file.key(for: chat) == nil && file.key(for: "of-my-own")?.name == "configured")
      #expect(lines.take() == [reread, reread, reread])
    }
  }

  @Test("A file that breaks leaves the former keys in force, and is told once; mended, it is taken")
  func broken() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      let path = folder + "/" + APIKeys.fileName
      let billing = try create("billing", in: folder)
      let good = try Data(contentsOf: URL(fileURLWithPath: path))
      let file = try open(folder)
      try "[".write(toFile: path, atomically: false, encoding: .utf8)
      for _ in 0..<5 {
        clock.advance(1)
        #expect(file.key(for: billing)?.name == "billing")
      }
      let told = lines.take()
      #expect(told.count == 1)
      #expect(told.first?.hasPrefix("error the file of API keys cannot be used, the former keys stay: \(path)") == true)
      try good.write(to: URL(fileURLWithPath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      clock.advance(1)
      #expect(file.key(for: billing)?.name == "billing")
      #expect(lines.take().first?.contains("chmod 600") == true)
      // The contents stay as they are; the mode alone is mended.
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      clock.advance(1)
      #expect(file.key(for: billing)?.name == "billing")
      #expect(lines.take() == [reread])
    }
  }

  @Test("A server does not start with a file that it cannot use")
  func start() async throws {
    try await withTemporaryFolder { folder in
      let folder = folder.path
      _ = try create("billing", in: folder)
      let path = folder + "/" + APIKeys.fileName
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      #expect(throws: APIKeyFault.file(.openToOthers(path: path, mode: "0644"))) { try open(folder) }
    }
  }

  /// A file that is made up, and counts who looks at it.
  private final class MadeUp: Sendable {
    struct State {
      var version = APIKeyFile.Version()
      var fault: APIKeyFault?
      var looks = 0
      var loads = 0
    }

    let state = Mutex(State())

    func source() -> APIKeyFile.Source {
      APIKeyFile.Source(
        version: {
          self.state.withLock { state in
            state.looks += 1
            return state.version
          }
        },
        load: { () throws(APIKeyFault) in
          let fault = self.state.withLock { state in
            state.loads += 1
            return state.fault
          }
          if let fault { throw fault }
          return APIKeys()
        })
    }
  }

  @Test("The file is looked at once a second at most, and read only where it has changed")
  func looks() throws {
    let (clock, madeUp) = (clock, MadeUp())
    let file = try APIKeyFile(madeUp.source(), configured: "", now: { clock.now }, logger: logger)
    for _ in 0..<10 { _ = file.current() }
    #expect(madeUp.state.withLock { $0.looks == 1 && $0.loads == 1 })
    for _ in 0..<3 {
      clock.advance(1)
      for _ in 0..<10 { _ = file.current() }
    }
    #expect(madeUp.state.withLock { $0.looks == 4 && $0.loads == 1 })
    madeUp.state.withLock { $0.version.changed = 1 }
    clock.advance(1)
    for _ in 0..<10 { _ = file.current() }
    #expect(madeUp.state.withLock { $0.looks == 5 && $0.loads == 2 })
  }

  @Test("What the system refuses is tried again while the file stays as it is; what is wrong with the file is not")
  func again() throws {
    let (clock, madeUp) = (clock, MadeUp())
    let file = try APIKeyFile(madeUp.source(), configured: "", now: { clock.now }, logger: logger)
    func look(_ fault: APIKeyFault?) -> Int {
      madeUp.state.withLock { $0.fault = fault }
      clock.advance(1)
      _ = file.current()
      return madeUp.state.withLock(\.loads)
    }
    let system = APIKeyFault.file(.system(path: "p", doing: "opening", error: "Too many open files"))
    madeUp.state.withLock { $0.version.changed = 1 }
    #expect(look(system) == 2)
    #expect(look(system) == 3)
    #expect(lines.take().count == 1)
    #expect(look(nil) == 4)
    #expect(look(nil) == 4)
    #expect(lines.take() == [reread])
    madeUp.state.withLock { $0.version.changed = 2 }
    #expect(look(.damaged(path: "p", why: "w")) == 5)
    #expect(look(.damaged(path: "p", why: "w")) == 5)
    madeUp.state.withLock { $0.version.changed = 3 }
    #expect(look(.damaged(path: "p", why: "w")) == 6)
    #expect(lines.take().count == 1)
    madeUp.state.withLock { $0.version.changed = 4 }
    #expect(look(.damaged(path: "p", why: "another")) == 7)
    #expect(lines.take().count == 1)
  }
}
