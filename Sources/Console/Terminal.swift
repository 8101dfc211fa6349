import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The terminal of a live view: in raw mode on its second screen, and as it was afterwards, however the view ends.
///
/// States: open → restored. Whoever is first restores: the view's end, or a signal that ends the process.
public final class Terminal: Sendable {
  /// What the signal handler restores: the mode of the terminal before the view began. Written before the handler is
  /// set, and not after it.
  nonisolated(unsafe) private static var former = termios()
  private static let isRaw = Atomic<Bool>(false)

  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
  private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
  private static let leave: StaticString = "\u{1B}[?25h\u{1B}[?1049l"

  /// Begins a view; nil where standard input or output is no terminal.
  public static func open() -> Terminal? {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return nil }
    var mode = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
    unsafe former = mode
    isRaw.store(true, ordering: .sequentiallyConsistent)
    for number in signals {
      signal(number) { number in
        // Only what POSIX allows in a handler: tcsetattr, write, signal, raise.
        Terminal.reset()
        signal(number, SIG_DFL)
        raise(number)
      }
    }
    // Keys come at once and are not shown. Ctrl-C stays a signal, which restores as well.
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe withUnsafeMutableBytes(of: &mode.c_cc) { keys in
      unsafe keys[Int(VMIN)] = 0
      unsafe keys[Int(VTIME)] = 0
    }
    unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
    put(enter)
    return Terminal()
  }

  private init() {}

  /// Shows a frame in place of the one before.
  public func show(_ frame: TopFrame) {
    let (width, height) = Self.size
    let lines = TopScreen(width: width, height: height).lines(frame)
    // Home, each line with its rest cleared, then everything below.
    Self.put("\u{1B}[H" + lines.map { "\($0)\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }

  /// Whether q was pressed, or standard input ended.
  public var isDone: Bool {
    var key: UInt8 = 0
    while unsafe read(STDIN_FILENO, &key, 1) == 1 {
      if key == UInt8(ascii: "q") || key == 3 || key == 4 { return true }
    }
    return false
  }

  public func restore() {
    Self.reset()
    for number in Self.signals { signal(number, SIG_DFL) }
  }

  private static func reset() {
    guard isRaw.exchange(false, ordering: .sequentiallyConsistent) else { return }
    leave.withUTF8Buffer { bytes in _ = unsafe write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
    unsafe tcsetattr(STDIN_FILENO, TCSANOW, &former)
  }

  private static var size: (width: Int, height: Int) {
    var size = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  private static func put(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
