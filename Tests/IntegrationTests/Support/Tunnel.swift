import Foundation
import Glibc
import Synchronization
import TestSupport

/// A way to a server's port that a test can cut: what a phone's connection goes through.
final class Tunnel: Sendable {
  private struct State {
    var open: Set<Int32> = []
    var swallows = false
  }

  private final class Traffic: Sendable {
    let state = Mutex(State())
  }

  private let server: ConnectionServer
  private let traffic = Traffic()

  var port: UInt16 { server.port }
  /// Connections that there have been.
  var connections: Int { server.connections }

  /// - Parameter target: a port of this machine.
  init(to target: UInt16) throws {
    server = try ConnectionServer()
    let traffic = traffic
    server.start { client in
      guard let other = Self.connect(to: target) else { return }
      traffic.state.withLock { _ = $0.open.insert(client.descriptor) }
      let isDone = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        Self.pump(from: other, to: client.descriptor) { traffic.state.withLock { $0.swallows } }
        isDone.signal()
      }
      Self.pump(from: client.descriptor, to: other) { false }
      isDone.wait()
      // Under the lock, so that ``cut()`` shuts down no other socket that got the number.
      traffic.state.withLock { _ = $0.open.remove(client.descriptor) }
      Glibc.close(other)
    }
  }

  /// From now on the server's answers get lost, until the next cut.
  func swallowAnswers() { traffic.state.withLock { $0.swallows = true } }

  /// Ends all connections. New ones go through.
  func cut() {
    traffic.state.withLock { state in
      for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
      state.swallows = false
    }
  }

  func close() {
    cut()
    server.stop()
  }

  private static func connect(to port: UInt16) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = port.bigEndian
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isConnected { return descriptor }
    Glibc.close(descriptor)
    return nil
  }

  /// Hands on what comes, until one of the two sides has gone; then the other goes too.
  private static func pump(from source: Int32, to target: Int32, unless isLost: () -> Bool) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      if count <= 0 { break }
      if isLost() { continue }
      var rest = buffer[..<count]
      while !rest.isEmpty {
        let sent = rest.withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if sent <= 0 { break }
        rest = rest.dropFirst(sent)
      }
      if !rest.isEmpty { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }
}
