import Foundation
import Glibc
import Synchronization

/// Stands between a client and a server that meet on a UNIX socket, or on a port of this machine, and fails as a network
/// does.
public final class SocketProxy: Sendable {
  public enum Mode: CaseIterable, Sendable {
    case open
    /// Nothing passes, and no connection ends: a peer is paused, or the network is gone.
    case paused
    /// What the server sends is dropped: it does what it is told, and nobody learns of it.
    case deaf
    /// What the client sends is dropped.
    case mute
    /// Everything takes a twentieth of a second longer.
    case slow
  }

  private struct State {
    var mode = Mode.open
    var sockets: [Int32] = []
    var droppedBytes = 0
    var accepted = 0
    var target: String
    var isClosed = false
    /// Bytes of the client's that still pass before its connection ends; nil: all of them.
    var bytesLeft: Int?
  }

  private let state: Mutex<State>
  private let listener: Int32

  /// - Parameters:
  ///   - place: where clients connect: the path of a socket, or a port in decimal, of which `0` is any that is free.
  ///   - target: where the server listens, or will listen, in the same way. As long as it does not, connections end at
  ///     once.
  public init(at place: String, to target: String) throws {
    state = Mutex(State(target: target))
    listener = Self.newSocket(place)
    let isBound = Self.withAddress(place) { bind(listener, $0, $1) == 0 }
    guard isBound, listen(listener, 64) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    let thread = Thread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        if client < 0 { return }
        state.withLock { $0.accepted += 1 }
        serve(client)
      }
    }
    thread.start()
  }

  /// Where clients connect, of a proxy that stands on a port.
  public var port: Int {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// Lets so many more bytes of clients through, and then ends each connection on which one sends more: in the middle of
  /// what it sends. Nil: lets all through again.
  public func cut(afterBytes count: Int?) { state.withLock { $0.bytesLeft = count } }

  /// Whether that has happened.
  public var hasCut: Bool { state.withLock { $0.bytesLeft == 0 } }

  /// Connections that there have been.
  public var accepted: Int { state.withLock { $0.accepted } }
  public var droppedBytes: Int { state.withLock { $0.droppedBytes } }

  public func set(_ mode: Mode) { state.withLock { $0.mode = mode } }

  /// Leads to another server from now on, and ends all connections to the former one.
  public func lead(to target: String) {
    state.withLock { $0.target = target }
    cut()
  }

  /// Leads new connections to another server from now on; those that there are stay with the former one.
  public func lead(newOnesTo target: String) { state.withLock { $0.target = target } }

  /// Ends all connections.
  public func cut() {
    state.withLock { state in
      for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  public func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
    cut()
  }

  private func serve(_ client: Int32) {
    let target = state.withLock { $0.target }
    let server = Self.newSocket(target)
    guard Self.withAddress(target, { connect(server, $0, $1) == 0 }) else {
      Glibc.close(client)
      Glibc.close(server)
      return
    }
    state.withLock { $0.sockets += [client, server] }
    let box = Pair(left: 2)
    for (source, sink, dropping) in [(client, server, Mode.mute), (server, client, Mode.deaf)] {
      let thread = Thread { [self] in
        pump(source, sink, dropping)
        // The other direction ends with this one. Both sockets are closed by whoever ends last.
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(sink, Int32(SHUT_RDWR))
        guard box.endsLast() else { return }
        state.withLock { state in state.sockets.removeAll { $0 == client || $0 == server } }
        Glibc.close(client)
        Glibc.close(server)
      }
      thread.start()
    }
  }

  private func pump(_ source: Int32, _ sink: Int32, _ dropping: Mode) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(source, &buffer, buffer.count)
      if count <= 0 { return }
      while state.withLock({ $0.mode == .paused && !$0.isClosed }) { usleep(500) }
      if state.withLock({ $0.mode == .slow }) { usleep(50_000) }
      let isDropped = state.withLock { state in
        guard state.mode == dropping else { return false }
        state.droppedBytes += count
        return true
      }
      let passing = dropping == .mute ? pass(count) : count
      var sent = 0
      while !isDropped, sent < passing {
        let written = buffer[sent..<passing].withUnsafeBytes {
          send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if written <= 0 { return }
        sent += written
      }
      if passing < count { return }
    }
  }

  /// How many of a client's bytes pass; its connection ends behind them where they are fewer.
  private func pass(_ count: Int) -> Int {
    state.withLock { state in
      guard let left = state.bytesLeft else { return count }
      state.bytesLeft = max(0, left - count)
      return min(left, count)
    }
  }

  /// Whether somebody takes connections at a port of this machine, or at a socket's path: its file alone says no more than
  /// that somebody is about to.
  static func isListening(_ place: String) -> Bool {
    let descriptor = newSocket(place)
    guard descriptor >= 0 else { return false }
    defer { Glibc.close(descriptor) }
    return withAddress(place) { connect(descriptor, $0, $1) == 0 }
  }

  private static func newSocket(_ place: String) -> Int32 {
    socket(UInt16(place) == nil ? AF_UNIX : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  }

  private static func withAddress(_ place: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    guard let port = UInt16(place) else { return withPath(place, body) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func withPath(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

/// Counts the two directions of a connection.
private final class Pair: Sendable {
  private let left: Mutex<Int>

  init(left: Int) { self.left = Mutex(left) }

  func endsLast() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
