import CLinuxIO
import Glibc
import Synchronization

/// The yardstick: a publication becomes one frame, and a bare loop of `send()` carries it to the channel's sockets.
///
/// No queue, no order to keep, no limits, no protocol: what any server of one system call per delivery has to pay. Each
/// publication is acknowledged once it was sent to everybody, as Fanfare acknowledges it, with a frame as long as
/// Fanfare's (``FloorReply``); what one reading of a socket gave is acknowledged in one call. It is for measuring on a
/// machine of one's own, never for the open.
@safe public final class FloorServer {
  /// What one connection is.
  private struct Peer {
    var channel = -1
    var isUpgraded = false
    /// How it is answered; nil: it does not publish.
    var reply: FloorReply?
    var waiting = ByteStore()
    /// Bytes of acknowledgements that its socket has not taken.
    var owed = 0
  }

  private struct Channel {
    var members: [Int32] = []
  }

  public let port: UInt16
  private let listener: Int32
  private let poll: Int32
  private var wakeup: (Int32, Int32) = (-1, -1)
  /// Connections, each at the place that its descriptor says.
  private var peers: [Peer?] = []
  private var channels: [Channel] = []
  private var channelIndex: [String: Int] = [:]
  private let buffer = UnsafeMutableRawPointer.allocate(byteCount: 256 << 10, alignment: 64)
  private let frame = UnsafeMutableRawPointer.allocate(byteCount: FloorServer.largest + 16, alignment: 64)
  private static let largest = 1 << 20
  private let isStopping = Atomic<Bool>(false)

  /// Listens on 127.0.0.1.
  ///
  /// - Parameter port: 0: any that is free; see ``port``.
  public init(port: UInt16) throws(BenchError) {
    var port = port
    listener = unsafe linuxio_listen(0, &port, 4096)
    self.port = port
    poll = linuxio_epoll_open()
    guard listener >= 0 else {
      throw BenchError(unsafe "port \(port) cannot be listened on: \(String(cString: strerror(-listener)))")
    }
    guard poll >= 0 else { throw BenchError("the kernel gives no epoll") }
    _ = linuxio_raise_file_limit()
    var ends: [Int32] = [-1, -1]
    _ = unsafe linuxio_wakeup_open(&ends)
    wakeup = (ends[0], ends[1])
    let readable = LINUXIO_READABLE
    guard linuxio_epoll_add(poll, listener, readable, UInt64(listener)) == 0,
      linuxio_epoll_add(poll, wakeup.0, readable, UInt64(wakeup.0)) == 0
    else { throw BenchError("the listening socket cannot be watched") }
  }

  deinit {
    for index in peers.indices where peers[index] != nil {
      peers[index]?.waiting.free()
      linuxio_close(Int32(index))
    }
    linuxio_close(listener)
    linuxio_close(poll)
    unsafe linuxio_wakeup_close([wakeup.0, wakeup.1])
    unsafe buffer.deallocate()
    unsafe frame.deallocate()
  }

  /// Ends ``run()``; may be called from another thread.
  public func stop() {
    isStopping.store(true, ordering: .releasing)
    unsafe linuxio_wakeup_signal([wakeup.0, wakeup.1])
  }

  /// Serves until ``stop()``.
  public func run() throws(BenchError) {
    var events = [linuxio_event](repeating: linuxio_event(), count: 1024)
    while !isStopping.load(ordering: .acquiring) {
      let count = unsafe events.withUnsafeMutableBufferPointer {
        unsafe linuxio_epoll_wait(poll, $0.baseAddress, 1024, -1)
      }
      guard count >= 0 else { throw BenchError("epoll_wait failed: errno \(-count)") }
      for place in 0..<Int(count) {
        let descriptor = Int32(truncatingIfNeeded: events[place].tag)
        if descriptor == listener {
          accept()
        } else if descriptor != wakeup.0 {
          if events[place].events & LINUXIO_WRITABLE != 0 { acknowledge(descriptor, 0) }
          if events[place].events & ~LINUXIO_WRITABLE != 0 { read(descriptor) }
        }
      }
    }
  }

  private func accept() {
    for _ in 0..<256 {
      let descriptor = linuxio_accept(listener)
      guard descriptor >= 0 else { return }
      linuxio_no_delay(descriptor)
      guard linuxio_epoll_add(poll, descriptor, LINUXIO_READABLE, UInt64(descriptor)) == 0 else {
        linuxio_close(descriptor)
        continue
      }
      while peers.count <= Int(descriptor) { peers.append(nil) }
      peers[Int(descriptor)] = Peer()
    }
  }

  private func read(_ descriptor: Int32) {
    guard let peer = peers[Int(descriptor)] else { return }
    let kept = peer.waiting.count
    guard kept < 128 << 10 || peer.reply != nil && kept <= Self.largest + 128 else { return close(descriptor) }
    // Most of the time nothing of a connection waits, and the shared buffer is enough.
    let count = unsafe linuxio_receive(descriptor, buffer, 256 << 10)
    if count == -Int(EAGAIN) || count == -Int(EINTR) { return }
    guard count > 0 else { return close(descriptor) }
    var bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: count)
    if kept > 0 {
      unsafe peers[Int(descriptor)]?.waiting.append(bytes)
      unsafe bytes = unsafe peers[Int(descriptor)]?.waiting.bytes ?? bytes
    }
    let consumed = unsafe take(descriptor, bytes)
    guard peers[Int(descriptor)] != nil, consumed >= 0 else { return close(descriptor) }
    if kept > 0 {
      peers[Int(descriptor)]?.waiting.removeFirst(consumed)
    } else if consumed < count {
      unsafe peers[Int(descriptor)]?.waiting.append(UnsafeRawBufferPointer(rebasing: bytes[consumed...]))
    }
  }

  /// - Returns: bytes that were taken; -1: the connection has to be closed.
  private func take(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    guard let peer = peers[Int(descriptor)] else { return -1 }
    if !peer.isUpgraded { return unsafe upgrade(descriptor, bytes) }
    // Subscribers say nothing that matters.
    guard peer.reply != nil else { return bytes.count }
    var count = 0
    let consumed = unsafe publications(bytes, &count)
    if consumed >= 0 { acknowledge(descriptor, count) }
    return consumed
  }

  private func upgrade(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    let text = unsafe String(decoding: bytes, as: UTF8.self)
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
    guard let end = lines.firstIndex(of: ""), end + 1 < lines.count else { return 0 }
    let words = lines[0].split(separator: " ")
    let key = lines[..<end].first { $0.lowercased().hasPrefix("sec-websocket-key:") }
      .map { $0.drop { $0 != ":" }.dropFirst().drop { $0 == " " } }
    guard words.count == 3, let key else { return -1 }
    if words[1].hasPrefix("/floor/") {
      subscribe(descriptor, to: String(words[1].dropFirst(7)))
    } else if let reply = FloorReply.allCases.first(where: { $0.path == words[1] }) {
      peers[Int(descriptor)]?.reply = reply
    } else {
      return -1
    }
    peers[Int(descriptor)]?.isUpgraded = true
    let answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: \(WebSocketCodec.accept(String(key)))\r\n\r\n"
    guard unsafe linuxio_send(descriptor, answer, answer.utf8.count) == answer.utf8.count else { return -1 }
    return lines[..<end].reduce(2) { $0 + $1.utf8.count + 2 }
  }

  private func subscribe(_ descriptor: Int32, to name: String) {
    let index = channelIndex[name] ?? channels.count
    if index == channels.count {
      channels.append(Channel())
      channelIndex[name] = index
    }
    channels[index].members.append(descriptor)
    peers[Int(descriptor)]?.channel = index
  }

  /// Publishes what a publisher's frames hold.
  ///
  /// - Parameter published: how many publications that was is added here.
  /// - Returns: bytes that were taken; -1: the connection has to be closed.
  private func publications(_ bytes: UnsafeRawBufferPointer, _ published: inout Int) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var place = 0
    while bytes.count - place >= 6 {
      let (second, rest) = unsafe (bytes[place + 1], base + place)
      guard second >= 128 else { return -1 }
      var (head, size) = (2, Int(second & 127))
      if size == 126 {
        head = 4
        size = unsafe Int(UInt16(bigEndian: rest.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      } else if size == 127 {
        guard bytes.count - place >= 14 else { break }
        head = 10
        size = unsafe Int(truncatingIfNeeded: UInt64(bigEndian: rest.loadUnaligned(fromByteOffset: 2, as: UInt64.self)))
      }
      guard (0...Self.largest).contains(size) else { return -1 }
      guard bytes.count - place >= head + 4 + size else { break }
      if unsafe bytes[place] & 15 == 8 { return -1 }
      let mask = unsafe rest.loadUnaligned(fromByteOffset: head, as: UInt32.self)
      unsafe publish(UnsafeRawBufferPointer(start: rest + head + 4, count: size), mask)
      place += head + 4 + size
      published += 1
    }
    return place
  }

  /// Sends so many acknowledgements behind those that are owed; what the socket does not take stays owed.
  private func acknowledge(_ descriptor: Int32, _ count: Int) {
    guard var owed = peers[Int(descriptor)]?.owed, let reply = peers[Int(descriptor)]?.reply else { return }
    let before = owed
    owed += count * reply.frameSize
    while owed > 0 {
      // Where a frame was sent in part, its rest is owed before whole ones.
      let part = (reply.frameSize - owed % reply.frameSize) % reply.frameSize
      let size = min(owed, FloorReply.repeated * reply.frameSize - part)
      let sent = unsafe reply.frames.withUnsafeBytes { bytes in
        unsafe linuxio_send(descriptor, bytes.baseAddress.map { unsafe $0 + part }, size)
      }
      guard sent >= 0 else { return close(descriptor) }
      owed -= sent
      guard sent == size else { break }
    }
    peers[Int(descriptor)]?.owed = owed
    guard (owed > 0) != (before > 0) else { return }
    let events = LINUXIO_READABLE | (owed > 0 ? LINUXIO_WRITABLE : 0)
    _ = linuxio_epoll_change(poll, descriptor, events, UInt64(descriptor))
  }

  /// Makes one frame of a publication, and sends it to each of the channel's sockets.
  private func publish(_ masked: UnsafeRawBufferPointer, _ mask: UInt32) {
    guard masked.count >= 2 else { return }
    // The message goes where its name ends just before the frame's content; the frame's head overwrites the name.
    unsafe WebSocketCodec.unmask(masked, mask, to: frame + 16)
    let nameSize = unsafe Int(UInt16(bigEndian: frame.loadUnaligned(fromByteOffset: 16, as: UInt16.self)))
    guard 2 + nameSize <= masked.count else { return }
    let name = unsafe String(decoding: UnsafeRawBufferPointer(start: frame + 18, count: nameSize), as: UTF8.self)
    guard let channel = channelIndex[name] else { return }
    let size = masked.count - 2 - nameSize
    let content = unsafe frame + 18 + nameSize
    let head = size < 126 ? 2 : size < 65536 ? 4 : 10
    let start = unsafe content - head
    unsafe start.storeBytes(of: 0x82, as: UInt8.self)
    unsafe start.storeBytes(of: head == 2 ? UInt8(size) : head == 4 ? 126 : 127, toByteOffset: 1, as: UInt8.self)
    if head == 4 { unsafe (start + 2).storeBytes(of: UInt16(size).bigEndian, as: UInt16.self) }
    if head == 10 { unsafe (start + 2).storeBytes(of: UInt64(size).bigEndian, as: UInt64.self) }
    unsafe sendToAll(channel, start, head + size)
  }

  private func sendToAll(_ channel: Int, _ bytes: UnsafeMutableRawPointer, _ size: Int) {
    var place = 0
    var gone: [Int32] = []
    unsafe channels[channel].members.withUnsafeBufferPointer { members in
      while place < members.count {
        unsafe place += Int(
          linuxio_send_each(members.baseAddress.map { unsafe $0 + place }, members.count - place, unsafe bytes, size))
        guard place < members.count else { break }
        unsafe gone.append(members[place])
        place += 1
      }
    }
    for descriptor in gone { close(descriptor) }
  }

  private func close(_ descriptor: Int32) {
    guard let peer = peers[Int(descriptor)] else { return }
    if peer.channel >= 0, let place = channels[peer.channel].members.firstIndex(of: descriptor) {
      channels[peer.channel].members.remove(at: place)
    }
    peers[Int(descriptor)]?.waiting.free()
    peers[Int(descriptor)] = nil
    linuxio_close(descriptor)
  }
}
