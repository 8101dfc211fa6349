import CLinuxIO
import NIOCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A bound, listening, non-blocking socket; closed when it goes out of scope.
struct ListeningSocket: ~Copyable, Sendable {
  let descriptor: Int32
  let port: Int

  init(host: String, port: Int, backlog: Int32) throws(ListenerError) {
    guard (0...65_535).contains(port) else { throw .invalidPort(port) }
    let address: SocketAddress
    do {
      address = try SocketAddress.makeAddressResolvingHost(host, port: port)
    } catch {
      throw .hostNotFound(host: host)
    }
    let isIPv6 = address.protocol == .inet6
    let fd = linuxio_stream_socket(isIPv6 ? AF_INET6 : AF_INET)
    guard fd >= 0 else { throw .system(call: "socket", errno: -fd) }
    do throws(ListenerError) {
      // Accepted sockets inherit these from the listening one, which saves two system calls on each.
      try Self.set(fd, SOL_SOCKET, SO_REUSEADDR, 1)
      try Self.set(fd, SOL_SOCKET, SO_KEEPALIVE, 1)
      try Self.set(fd, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
      if isIPv6 { try Self.set(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
      try Self.bind(fd, to: address, host: host, port: port)
      guard listen(fd, backlog) == 0 else { throw Self.failure("listen", errno, host: host, port: port) }
      self.port = try Self.boundPort(of: fd)
    } catch {
      _ = Self.close(fd)
      throw error
    }
    descriptor = fd
  }

  deinit { _ = Self.close(descriptor) }

  private static func set(_ fd: Int32, _ level: Int32, _ name: Int32, _ value: Int32) throws(ListenerError) {
    var value = value
    guard unsafe setsockopt(fd, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
      throw .system(call: "setsockopt", errno: errno)
    }
  }

  private static func bind(_ fd: Int32, to address: SocketAddress, host: String, port: Int) throws(ListenerError) {
    let failed = unsafe address.withSockAddr { pointer, size -> Int32 in
      unsafe system_bind(fd, pointer, socklen_t(size)) == 0 ? 0 : errno
    }
    if failed != 0 { throw failure("bind", failed, host: host, port: port) }
  }

  private static func boundPort(of fd: Int32) throws(ListenerError) -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let failed = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(fd, $0, &length) }
    }
    guard failed == 0 else { throw .system(call: "getsockname", errno: errno) }
    // The port stands at the same place for IPv4 and IPv6.
    return unsafe withUnsafeBytes(of: storage) { Int(unsafe $0[2]) << 8 | Int(unsafe $0[3]) }
  }

  private static func failure(_ call: String, _ errno: Int32, host: String, port: Int) -> ListenerError {
    switch errno {
    case EADDRINUSE: .addressInUse(host: host, port: port)
    case EADDRNOTAVAIL: .addressNotAvailable(host: host)
    case EACCES: .permissionDenied(port: port)
    default: .system(call: call, errno: errno)
    }
  }

  private static func close(_ fd: Int32) -> Int32 { system_close(fd) }
}

// Inside the type, `bind` and `close` are its own methods.
private func system_bind(_ fd: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
  unsafe bind(fd, address, length)
}
private func system_close(_ fd: Int32) -> Int32 { close(fd) }
