import COpenSSL
import Synchronization

/// The keys under which a server seals session tickets: what it knows of a session stands in the client's ticket, and
/// the server keeps nothing of it.
///
/// Whoever learns a key can open all tickets that were sealed with it, and in TLS 1.2 read the sessions that began with
/// them. So each key seals for an hour, is forgotten when its last ticket has ended, and never leaves the process:
/// neither a disk nor another server has it. After a restart, or with a new certificate, clients shake hands in full
/// once.
package final class TicketKeys: Sendable {
  /// Seconds for which a key seals new tickets.
  package static let sealingSeconds: Int64 = 3600
  /// Seconds for which a ticket is good.
  package static let lifetimeSeconds: Int64 = 7200

  private struct Entry {
    var key: TicketKey
    var madeAt: Int64
  }

  /// The newest first. With one key an hour, there are no more than three.
  private let entries = Mutex<[Entry]>([])
  private let uptime: @Sendable () -> Int64

  /// - Parameter uptime: seconds since some moment, of a clock that is never set back.
  package init(uptime: @escaping @Sendable () -> Int64) { self.uptime = uptime }

  /// The key for new tickets; nil where OpenSSL has no randomness, and then there are no tickets.
  func sealing() -> TicketKey? {
    let now = uptime()
    return entries.withLock { entries in
      Self.forgetOld(&entries, at: now)
      if let newest = entries.first, now - newest.madeAt < Self.sealingSeconds { return newest.key }
      guard let key = TicketKey() else { return nil }
      entries.insert(Entry(key: key, madeAt: now), at: 0)
      return key
    }
  }

  /// The key that a ticket names, and whether it still seals new ones; nil where the ticket is too old, or somebody
  /// else's.
  func opening(_ name: UnsafePointer<UInt8>) -> (key: TicketKey, isSealing: Bool)? {
    let now = uptime()
    return entries.withLock { entries in
      Self.forgetOld(&entries, at: now)
      guard let entry = entries.first(where: { unsafe $0.key.isNamed(name) }) else { return nil }
      return (entry.key, now - entry.madeAt < Self.sealingSeconds)
    }
  }

  /// Forgets the keys of tickets that have ended; to be called from time to time, for a server to which nobody comes.
  func forgetOld() {
    let now = uptime()
    entries.withLock { Self.forgetOld(&$0, at: now) }
  }

  /// How many keys there are.
  package var count: Int { entries.withLock(\.count) }

  private static func forgetOld(_ entries: inout [Entry], at now: Int64) {
    entries.removeAll { now - $0.madeAt >= sealingSeconds + lifetimeSeconds }
  }
}

/// One key of tickets, wiped with its last reference.
///
/// Safety of the unchecked conformance: after `init` nothing changes the memory until `deinit`.
@safe final class TicketKey: @unchecked Sendable {
  static let nameBytes = 16
  static let ivBytes = 16

  private let memory: UnsafeMutablePointer<copenssl_ticket_key>

  /// Nil where OpenSSL has no randomness.
  init?() {
    unsafe memory = .allocate(capacity: 1)
    unsafe memory.initialize(to: copenssl_ticket_key())
    let bytes = unsafe UnsafeMutableRawBufferPointer(start: memory, count: MemoryLayout<copenssl_ticket_key>.size)
    guard unsafe RAND_priv_bytes(bytes.bindMemory(to: UInt8.self).baseAddress, Int32(bytes.count)) == 1 else {
      return nil
    }
  }

  deinit {
    unsafe copenssl_forget_ticket_key(memory)
    unsafe memory.deallocate()
  }

  /// - Parameter name: as many bytes as a key's name has.
  func isNamed(_ name: UnsafePointer<UInt8>) -> Bool {
    unsafe UnsafeRawBufferPointer(start: memory, count: Self.nameBytes)
      .elementsEqual(UnsafeBufferPointer(start: name, count: Self.nameBytes))
  }

  /// Writes the key's name and a new initialization vector into a ticket, and keys the ciphers that seal it.
  func seal(
    _ name: UnsafeMutablePointer<UInt8>, _ iv: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer,
    _ mac: OpaquePointer
  ) -> Bool {
    unsafe UnsafeMutableRawPointer(name).copyMemory(from: memory, byteCount: Self.nameBytes)
    guard unsafe RAND_bytes(iv, Int32(Self.ivBytes)) == 1 else { return false }
    return unsafe copenssl_use_ticket_key(memory, iv, cipher, mac, 1) == 1
  }

  /// Keys the ciphers that open a ticket.
  func open(_ iv: UnsafePointer<UInt8>, _ cipher: OpaquePointer, _ mac: OpaquePointer) -> Bool {
    unsafe copenssl_use_ticket_key(memory, iv, cipher, mac, 0) == 1
  }
}
