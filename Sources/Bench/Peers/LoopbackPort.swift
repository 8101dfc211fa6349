import Glibc
import Synchronization

/// Ports of 127.0.0.1.
enum LoopbackPort {
  /// The range is below that from which connections take their ports, so that no client takes a server's meanwhile.
  private static let range = 20_000..<30_000

  /// So many ports in a row are given out together.
  private static let block = 4
  /// Blocks given out so far. One is not given again before all others were, so that no two servers of this process get
  /// the same while neither listens yet; and other processes begin elsewhere.
  private static let given = Atomic<Int>(Int(getpid()))

  /// The first of four ports in a row that nobody listens at.
  static func free() throws(BenchError) -> Int {
    let blocks = range.count / block
    for _ in 0..<blocks {
      let number = given.wrappingAdd(1, ordering: .relaxed).newValue
      let first = range.lowerBound + number % blocks * block
      if (first..<(first + block)).allSatisfy(isFree) { return first }
    }
    throw BenchError("no \(block) free ports in a row between 20000 and 30000; end the servers that listen there.")
  }

  private static func isFree(_ port: Int) -> Bool {
    let socket = stream()
    guard socket >= 0 else { return false }
    defer { close(socket) }
    var on: Int32 = 1
    unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    // The port is bound and not listened at: whoever waits for a server there would take this for it.
    return unsafe withAddress(port) { unsafe bind(socket, $0, $1) == 0 }
  }

  static func takesConnections(_ port: Int) -> Bool {
    let socket = stream()
    guard socket >= 0 else { return false }
    defer { close(socket) }
    return unsafe withAddress(port) { unsafe connect(socket, $0, $1) == 0 }
  }

  /// Sends bytes and reads what comes until the other side closes: one request of HTTP. Waits two
  /// minutes for each part at most.
  static func exchange(_ bytes: [UInt8], port: Int) throws(BenchError) -> [UInt8] {
    let socket = stream()
    guard socket >= 0 else { throw BenchError("no socket: \(systemReason(errno))") }
    defer { close(socket) }
    var patience = timeval(tv_sec: 120, tv_usec: 0)
    unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard unsafe withAddress(port, { unsafe connect(socket, $0, $1) == 0 }) else {
      throw BenchError("port \(port) takes no connection: \(systemReason(errno))")
    }
    guard unsafe send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw BenchError("port \(port) did not take a request: \(systemReason(errno))")
    }
    var reply: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 2048)
    while reply.count < 1 << 16 {
      let count = unsafe read(socket, &chunk, chunk.count)
      // A process that was stopped and goes on finds its wait interrupted.
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      reply += chunk[..<count]
    }
    return reply
  }

  private static func stream() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  }

  private static func withAddress(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

/// CLOCK_MONOTONIC in nanoseconds, for deadlines.
enum MonotonicTime {
  static func now() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
