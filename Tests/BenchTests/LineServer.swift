import Foundation
import Glibc
import Synchronization

@testable import Bench

/// A publish/subscribe server of texts over WebSocket: "S channel" and "P channel payload", as a user may have one.
///
/// A thread for each connection; it ends with its last reference.
final class LineServer: Sendable {
  let url: String
  private let listener: Int32
  private let answers: Bool
  private let state = Mutex(State())

  private struct State {
    var subscribers: [String: [Int32]] = [:]
    var connections: [Int32] = []
  }

  var subscriptions: Int { state.withLock { $0.subscribers.values.reduce(0) { $0 + $1.count } } }

  /// - Parameter answers: whether it says "S channel" to a subscriber and "K" to a publisher.
  init(answers: Bool) throws {
    self.answers = answers
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard bound else { throw BenchError("no port to listen on: errno \(errno)") }
    url = "ws://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"
    Thread { [weak self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0, let self else { break }
        state.withLock { $0.connections.append(descriptor) }
        Thread { [weak self] in self?.serve(descriptor) }.start()
      }
      close(listener)
    }.start()
  }

  /// Threads that wait in a call are woken by the end of their socket, and close it.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    state.withLock { for descriptor in $0.connections { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  private func serve(_ descriptor: Int32) {
    defer {
      state.withLock { state in
        state.connections.removeAll { $0 == descriptor }
        for channel in state.subscribers.keys { state.subscribers[channel]?.removeAll { $0 == descriptor } }
        close(descriptor)
      }
    }
    var head = ""
    while !head.hasSuffix("\r\n\r\n") {
      guard let byte = read(1, descriptor)?.first else { return }
      head.unicodeScalars.append(Unicode.Scalar(byte))
    }
    let lines = head.split(separator: "\r\n")
    guard let line = lines.first(where: { $0.lowercased().hasPrefix("sec-websocket-key: ") }) else { return }
    let accept = WebSocketCodec.accept(String(line.dropFirst("sec-websocket-key: ".count)))
    send(
      Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: \(accept)\r\n\r\n").utf8), descriptor)
    while let text = message(descriptor) { take(text, descriptor) }
  }

  private func take(_ text: [UInt8], _ descriptor: Int32) {
    let words = text.split(separator: 0x20, maxSplits: 2)
    let channel = words.count > 1 ? String(decoding: words[1], as: UTF8.self) : ""
    // One at a time: what two threads wrote to one socket must not be mixed.
    state.withLock { state in
      if text.first == UInt8(ascii: "S") {
        state.subscribers[channel, default: []].append(descriptor)
        if answers { frame(text, descriptor) }
      } else if text.first == UInt8(ascii: "P"), words.count == 3 {
        for subscriber in state.subscribers[channel] ?? [] { frame(Array(words[2]), subscriber) }
        if answers { frame([UInt8(ascii: "K")], descriptor) }
      }
    }
  }

  private func frame(_ text: [UInt8], _ descriptor: Int32) {
    let head = text.count < 126 ? [UInt8(text.count)] : [126, UInt8(text.count >> 8), UInt8(text.count & 255)]
    send([0x81] + head + text, descriptor)
  }

  /// A masked message of one frame; nil at the end.
  private func message(_ descriptor: Int32) -> [UInt8]? {
    guard let head = read(2, descriptor), head[0] == 0x81, head[1] & 127 < 127 else { return nil }
    var size = Int(head[1] & 127)
    if size == 126 {
      guard let long = read(2, descriptor) else { return nil }
      size = Int(long[0]) << 8 | Int(long[1])
    }
    guard let mask = read(4, descriptor), let masked = read(size, descriptor) else { return nil }
    return masked.enumerated().map { $1 ^ mask[$0 & 3] }
  }

  private func read(_ count: Int, _ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var place = 0
    while place < count {
      let got = bytes[place...].withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if got < 0 && errno == EINTR { continue }
      guard got > 0 else { return nil }
      place += got
    }
    return bytes
  }

  private func send(_ bytes: [UInt8], _ descriptor: Int32) {
    var place = 0
    while place < bytes.count {
      let count = bytes[place...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      place += count
    }
  }
}
