import Glibc

/// Ports of 127.0.0.1.
enum LoopbackPort {
  /// Below the range from which connections take theirs, so that a server's port is not taken by a client meanwhile.
  private static let range = 20_000..<30_000

  /// The first of `count` ports in a row that nobody listens at.
  static func free(_ count: Int = 4) throws(BenchError) -> Int {
    for _ in 0..<200 {
      let first = Int.random(in: range.lowerBound..<(range.upperBound - count))
      if (first..<(first + count)).allSatisfy(isFree) { return first }
    }
    throw BenchError("no \(count) free ports in a row between 20000 and 30000; end the servers that listen there.")
  }

  private static func isFree(_ port: Int) -> Bool {
    let socket = stream()
    guard socket >= 0 else { return false }
    defer { close(socket) }
    var on: Int32 = 1
    unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    return unsafe withAddress(port) { unsafe bind(socket, $0, $1) == 0 && listen(socket, 1) == 0 }
  }

  static func takesConnections(_ port: Int) -> Bool {
    let socket = stream()
    guard socket >= 0 else { return false }
    defer { close(socket) }
    return unsafe withAddress(port) { unsafe connect(socket, $0, $1) == 0 }
  }

  /// Sends bytes and reads what comes until the other side closes: one request of HTTP. Waits 20 s for each part at most.
  static func exchange(_ bytes: [UInt8], port: Int) throws(BenchError) -> [UInt8] {
    let socket = stream()
    guard socket >= 0 else { throw BenchError("no socket: \(systemReason(errno))") }
    defer { close(socket) }
    var patience = timeval(tv_sec: 20, tv_usec: 0)
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
