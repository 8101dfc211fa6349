import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Supervision

@Suite("Programs that a process starts and waits for", .ownThread)
struct ChildProgramTests {
  private final class Ends: Sendable {
    let processes = Mutex<[Int32]>([])
  }

  /// Runs a shell's command, and gives its exit code.
  private func code(of command: String, _ meanwhile: (Int32) -> Void = { _ in }) throws -> Int32 {
    let ends = Ends()
    let program = try ChildProgram("/bin/sh")
    let process = try program.start(["sh", "-c", command]) { process in ends.processes.withLock { $0.append(process) } }
    meanwhile(process)
    try #require(blocksUntil(within: .seconds(60)) { ends.processes.withLock { $0 } == [process] })
    return withExtendedLifetime(program) { ChildProgram.reap(process) }
  }

  @Test("An end is told with its exit code, or with the signal that made it")
  func ends() throws {
    #expect(try code(of: "exit 0") == 0)
    #expect(try code(of: "exit 3") == 3)
    #expect(try code(of: "read line; exit 4") { ChildProgram.signal($0, SIGTERM) } == -SIGTERM)
  }

  #if os(Linux)
    @Test("The thread that waits for a program has the program's number in its name")
    func names() throws {
      let code = try code(of: "read line") { process in
        #expect(
          blocksUntil(within: .seconds(60)) {
            KernelThread.all(of: getpid()).contains { $0.name == "child \(process)" }
          })
        ChildProgram.signal(process, SIGTERM)
      }
      #expect(code == -SIGTERM)
    }
  #endif

  @Test("Standard input does not end before the parent does, and no other descriptor is inherited")
  func descriptors() throws {
    // `timeout` ends the reading after 50 ms with code 124; an end of the input would be code 0.
    #expect(try code(of: "timeout 0.05 cat; test $? = 124") == 0)
    #if os(Linux)
      let other = open("/dev/null", O_RDONLY)
      defer { close(other) }
      // Of `ls` itself, which reads the folder at 3.
      #expect(try code(of: "test \"$(ls /proc/self/fd | tr '\\n' ' ')\" = '0 1 2 3 '") == 0)
    #endif
  }

  @Test("Its input ends with whoever started it")
  func inputEnds() throws {
    let ends = Ends()
    var program: ChildProgram? = try ChildProgram("/bin/sh")
    let process = try #require(
      try program?.start(["sh", "-c", "cat; exit 5"]) { process in ends.processes.withLock { $0.append(process) } })
    // The pipe's end is closed as the kernel closes it when a process is gone.
    program = nil
    try #require(blocksUntil(within: .seconds(60)) { ends.processes.withLock { $0 } == [process] })
    #expect(ChildProgram.reap(process) == 5)
  }

  @Test("Signals that the parent ignores reach it")
  func signals() throws {
    let former = signal(SIGUSR1, SIG_IGN)
    defer { signal(SIGUSR1, former) }
    #expect(try code(of: "kill -USR1 $$; exit 0") == -SIGUSR1)
  }

  @Test("A program that is not there is told of")
  func missing() throws {
    let program = try ChildProgram("/nowhere/program")
    #expect(throws: ChildProgram.Fault.self) { try program.start(["program"]) { _ in } }
  }
}
