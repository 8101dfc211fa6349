import Foundation
import Glibc

/// Both ends of a pseudo-terminal.
final class PseudoTerminal {
  let path: String
  private let master: Int32
  private let slave: Int32
  private(set) var shown = ""

  init() throws {
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    // As unlockpt and ptsname do, which Glibc's Swift module leaves out (ioctl_tty(2)).
    var (number, lock): (Int32, Int32) = (0, 0)
    guard master >= 0, ioctl(master, UInt(0x4004_5431), &lock) == 0, ioctl(master, UInt(0x8004_5430), &number) == 0
    else { throw Failure("no pseudo-terminal") }
    path = "/dev/pts/\(number)"
    // Held open, so that its mode stays when the program has ended.
    slave = open(path, O_RDWR | O_NOCTTY)
    guard slave >= 0 else { throw Failure("\(path) cannot be opened") }
    var size = winsize(ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(slave, UInt(TIOCSWINSZ), &size)
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
  }

  deinit {
    close(slave)
    close(master)
  }

  /// Whether keys are given line by line and shown, as on any terminal.
  var isAsBefore: Bool {
    var mode = termios()
    tcgetattr(slave, &mode)
    return mode.c_lflag & tcflag_t(ICANON) != 0 && mode.c_lflag & tcflag_t(ECHO) != 0
  }

  func press(_ key: String) { _ = Array(key.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) } }

  /// All that was shown until now.
  func look() -> String {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(master, &buffer, buffer.count)
      guard count > 0 else { return shown }
      shown += String(decoding: buffer.prefix(count), as: UTF8.self)
    }
  }
}
