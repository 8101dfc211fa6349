import CLinuxIO
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Programs that end with the process that has started them, however that ends.
///
/// Each has the reading end of one pipe as its standard input, and nobody writes into that. The other end is this process's
/// alone, so that the kernel closes it when the process is gone: then ``ParentWatch`` reads the end of its input. A signal by
/// the kernel (`PR_SET_PDEATHSIG`) would come with the end of the thread that started a child, and not come at all where the
/// parent ended before the child had asked for it.
public final class ChildProgram: Sendable {
  public struct Fault: Error, Sendable, CustomStringConvertible {
    public let description: String

    fileprivate init(_ what: String, _ number: Int32) {
      description = unsafe "\(what): \(String(cString: strerror(number)))"
    }
  }

  /// This very program, whatever stands under its name by now.
  public static let own = "/proc/self/exe"

  private let path: String
  private let input: Int32
  private let lifeline: Int32

  /// - Parameter path: the program's file.
  public init(_ path: String) throws(Fault) {
    var ends: [Int32] = [0, 0]
    let result = unsafe ends.withUnsafeMutableBufferPointer { ends in
      unsafe ends.baseAddress.map { unsafe linuxio_pipe($0) } ?? -EINVAL
    }
    guard result == 0 else { throw Fault("a pipe cannot be made", -result) }
    self.path = path
    (input, lifeline) = (ends[0], ends[1])
  }

  deinit {
    close(input)
    close(lifeline)
  }

  /// Starts it, with the caller's output and environment.
  ///
  /// - Parameters:
  ///   - arguments: with the name under which it is called as the first.
  ///   - then: called on a thread of its own when the process has ended, with its number; it has to be reaped then.
  /// - Returns: the process's number.
  public func start(_ arguments: [String], then: @escaping @Sendable (Int32) -> Void) throws(Fault) -> Int32 {
    let words = unsafe arguments.map { unsafe strdup($0) } + [nil]
    defer { for index in arguments.indices { unsafe free(words[index]) } }
    let process = unsafe words.withUnsafeBufferPointer { words in
      unsafe words.baseAddress.map { unsafe linuxio_start_program(path, $0, input) } ?? -EINVAL
    }
    guard process > 0 else { throw Fault("\(path) cannot be started", -process) }
    let thread = Thread {
      unsafe linuxio_name_thread("child \(process)")
      _ = linuxio_wait_for_end(process)
      then(process)
    }
    thread.stackSize = 256 << 10
    thread.start()
    return process
  }

  /// Takes the exit code of a process that has ended; until then its number is nobody else's.
  ///
  /// - Returns: the code, or the negative number of the signal that ended it.
  public static func reap(_ process: Int32) -> Int32 {
    var status: Int32 = 0
    let result = unsafe linuxio_reap(process, &status)
    precondition(result == 0, "a process is reaped by nobody but the one that waits for its end")
    return status
  }

  public static func signal(_ process: Int32, _ signal: Int32) { _ = kill(process, signal) }
}

/// A child's side of ``ChildProgram``.
public enum ParentWatch {
  /// Has this process end when the one that has started it is gone: as if it was told to (SIGTERM), and where that takes too
  /// long, at once.
  ///
  /// - Parameters:
  ///   - patience: how long an end in order may take, in milliseconds.
  ///   - note: called when the parent is gone.
  public static func begin(patience: Int64, note: @escaping @Sendable () -> Void) {
    // It was started by way of a link, whose name it would show otherwise. Where that is no file, it keeps it.
    try? "fanfare".write(toFile: "/proc/self/comm", atomically: false, encoding: .utf8)
    let thread = Thread {
      unsafe linuxio_name_thread("parent")
      _ = linuxio_read_to_end(STDIN_FILENO)
      note()
      kill(getpid(), SIGTERM)
      Thread.sleep(forTimeInterval: Double(patience) / 1000)
      _exit(1)
    }
    thread.stackSize = 256 << 10
    thread.start()
  }
}
