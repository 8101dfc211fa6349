import COpenSSL
import NIOCore

/// The secrets that a handshake has agreed on, for both directions.
@safe final class TrafficKeys {
  var sending = copenssl_traffic()
  var receiving = copenssl_traffic()

  deinit {
    unsafe copenssl_forget_traffic(&sending)
    unsafe copenssl_forget_traffic(&receiving)
  }
}

/// An open TLS 1.3 connection whose handshake is over: its keys, its counters, and nothing else.
///
/// OpenSSL keeps 14 KiB for a connection, of which a record needs 250 bytes; to write 150 bytes through it took four
/// times what the encryption takes, most of it misses in the cache. So when its handshake has ended a server's
/// connection is taken over, and OpenSSL's own state is freed (decision 0031). What remains to be said in TLS 1.3 is
/// little:
///
/// | From the peer | |
/// |---|---|
/// | application data | is given out |
/// | KeyUpdate | the next keys for what it sends; where it asks, also for what we send |
/// | close_notify | its end |
/// | another alert | an error |
/// | anything else | an error, and an alert of ours |
///
/// Bound to its event loop.
@safe final class TLSRecords {
  enum Event: Equatable {
    case data(ByteBuffer)
    /// Only a part of a record is there, or nothing.
    case needsInput
    case closed
    /// An alert of ours is in the output where the peer has broken the protocol.
    case failed(TLSError)
  }

  private enum ContentType {
    static let alert: UInt8 = 21
    static let handshake: UInt8 = 22
    static let applicationData: UInt8 = 23
  }

  private enum Alert: UInt8 {
    case closeNotify = 0
    case unexpectedMessage = 10
    case badRecordMAC = 20
    case recordOverflow = 22
    case illegalParameter = 47
    case decodeError = 50
    case internalError = 80
    case userCanceled = 90
  }

  private static let headerBytes = Int(COPENSSL_HEADER)
  static let largestTextBytes = Int(COPENSSL_LARGEST_TEXT)
  /// Bytes that a record adds to its text: header (5), type (1), tag (16).
  static let overheadBytes = 22
  /// The type of a KeyUpdate message, which is five bytes long (RFC 8446, section 4.6.3).
  private static let keyUpdate: UInt8 = 24
  /// How many empty records in a row are read, as many as in OpenSSL: a peer that sends more makes us work for nothing.
  private static let mostEmptyRecords = 32

  private let loop: TLSLoop
  private let cipher: RecordCipher
  private var sending: copenssl_traffic
  private var receiving: copenssl_traffic
  /// Records that are sealed with one key. AES-GCM's limit is 2^24.5 (RFC 8446, section 5.5).
  private let recordsPerKey: UInt64
  /// The peer has asked us to change keys. We do before we send next, or when the input is read to its end: once,
  /// however often the peer asked meanwhile.
  private var owesKeyUpdate = false
  /// The beginning of a handshake message whose rest stands in the next record; less than a KeyUpdate.
  private var partialMessage: [UInt8] = []
  private var emptyRecords = 0

  /// - Parameters:
  ///   - keys: only their secrets are used; all else is derived from them.
  ///   - sealedRecords: how many records OpenSSL has sealed with the sending keys.
  /// - Returns: nil where OpenSSL cannot derive the keys.
  init?(
    _ keys: TrafficKeys, _ cipher: RecordCipher, sealedRecords: UInt64, loop: TLSLoop,
    recordsPerKey: UInt64 = 1 << 23
  ) {
    self.loop = loop
    self.cipher = cipher
    self.recordsPerKey = recordsPerKey
    sending = keys.sending
    receiving = keys.receiving
    sending.key_bytes = cipher.suite.keyBytes
    receiving.key_bytes = cipher.suite.keyBytes
    guard sending.secret_bytes == cipher.suite.secretBytes, receiving.secret_bytes == cipher.suite.secretBytes,
      unsafe copenssl_begin_traffic(&sending) == 1, unsafe copenssl_begin_traffic(&receiving) == 1
    else { return nil }
    sending.sequence = sealedRecords
  }

  deinit {
    unsafe copenssl_forget_traffic(&sending)
    unsafe copenssl_forget_traffic(&receiving)
  }

  // MARK: Out

  /// Encrypts all of the bytes into the loop's output, in as few records as they take.
  ///
  /// - Returns: false where OpenSSL fails; nothing more can be sent then.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if owesKeyUpdate && !changeKeys() { return false }
    var place = 0
    while place < bytes.count {
      if sending.sequence >= recordsPerKey && !changeKeys() { return false }
      let count = min(bytes.count - place, Self.largestTextBytes)
      let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[place..<(place + count)])
      guard unsafe seal(part, ContentType.applicationData) else { return false }
      place += count
    }
    return true
  }

  /// Puts the goodbye (close_notify) into the output. Nothing may be written after it.
  func sayGoodbye() { seal([1, Alert.closeNotify.rawValue], ContentType.alert) }

  private func seal(_ text: UnsafeRawBufferPointer, _ type: UInt8) -> Bool {
    guard let room = unsafe loop.room(text.count + Self.overheadBytes) else { return false }
    let count = unsafe copenssl_seal(cipher.sealing, &sending, type, text.baseAddress, text.count, room)
    loop.wrote(count)
    return count > 0
  }

  @discardableResult
  private func seal(_ text: [UInt8], _ type: UInt8) -> Bool {
    unsafe text.withUnsafeBytes { unsafe seal($0, type) }
  }

  /// Tells the peer with a KeyUpdate that the next record is sealed with the next key, and goes over to that key. Does
  /// not ask the peer to change its own keys.
  private func changeKeys() -> Bool {
    owesKeyUpdate = false
    guard seal([Self.keyUpdate, 0, 0, 1, 0], ContentType.handshake) else { return false }
    return unsafe copenssl_update_traffic(&sending) == 1
  }

  // MARK: In

  /// The next event from the peer. Takes whole records from the input, and leaves the beginning of one there.
  func next(_ input: inout ByteBuffer, _ allocator: ByteBufferAllocator) -> Event {
    while let header = input.getInteger(at: input.readerIndex, as: UInt8.self), let count = recordBytes(in: input) {
      // After the handshake, every record looks like application data from outside.
      guard header == ContentType.applicationData else { return fail(.unexpectedMessage, "a record is not encrypted") }
      guard count <= Self.headerBytes + Int(COPENSSL_LARGEST_PAYLOAD) else {
        return fail(.recordOverflow, "a record is too long")
      }
      guard let record = input.readSlice(length: count) else { break }
      if let event = open(record, allocator) { return event }
    }
    if owesKeyUpdate && !changeKeys() { return fail(.internalError, "the keys cannot be changed") }
    return .needsInput
  }

  /// Bytes of the record that begins here, with its header; nil where that cannot be told yet.
  private func recordBytes(in input: ByteBuffer) -> Int? {
    input.getInteger(at: input.readerIndex + 3, as: UInt16.self).map { Self.headerBytes + Int($0) }
  }

  private func open(_ record: ByteBuffer, _ allocator: ByteBufferAllocator) -> Event? {
    var text = allocator.buffer(capacity: record.readableBytes)
    var type: UInt8 = 0
    var count = -1
    _ = unsafe record.withUnsafeReadableBytes { source in
      unsafe text.writeWithUnsafeMutableBytes(minimumWritableBytes: source.count) { room in
        count = unsafe copenssl_open(
          cipher.opening, &receiving, source.bindMemory(to: UInt8.self).baseAddress, source.count,
          room.bindMemory(to: UInt8.self).baseAddress, &type)
        return max(count, 0)
      }
    }
    guard count >= 0 else { return fail(.badRecordMAC, "a record was changed under way") }
    guard count <= Self.largestTextBytes else { return fail(.recordOverflow, "a record is too long") }
    guard partialMessage.isEmpty || type == ContentType.handshake else {
      return fail(.unexpectedMessage, "a message breaks off")
    }
    switch type {
    case ContentType.applicationData: return read(text)
    case ContentType.alert: return takeAlert(text)
    case ContentType.handshake: return takeMessage(text)
    default: return fail(.unexpectedMessage, "a record has an unknown type")
    }
  }

  private func read(_ text: ByteBuffer) -> Event? {
    if text.readableBytes > 0 {
      emptyRecords = 0
      return .data(text)
    }
    emptyRecords += 1
    return emptyRecords > Self.mostEmptyRecords ? fail(.unexpectedMessage, "too many records are empty") : nil
  }

  private func takeAlert(_ text: ByteBuffer) -> Event? {
    guard text.readableBytes == 2, let code = text.getInteger(at: text.readerIndex + 1, as: UInt8.self) else {
      return fail(.decodeError, "an alert has a wrong length")
    }
    switch Alert(rawValue: code) {
    case .closeNotify: return .closed
    case .userCanceled: return nil  // A goodbye follows.
    default:
      let reason = unsafe SSL_alert_desc_string_long(Int32(code)).map { unsafe String(cString: $0) }
      return .failed(.failed(detail: "the peer says: \(reason ?? "alert \(code)")"))
    }
  }

  /// The only message that a client may send after the handshake is a KeyUpdate, and it ends its record.
  private func takeMessage(_ text: ByteBuffer) -> Event? {
    guard text.readableBytes > 0 else { return fail(.unexpectedMessage, "a message is empty") }
    partialMessage += text.readableBytesView.prefix(6 - partialMessage.count)
    guard partialMessage[0] == Self.keyUpdate else {
      return fail(.unexpectedMessage, "a message does not belong here")
    }
    let length: [UInt8] = [Self.keyUpdate, 0, 0, 1]
    guard partialMessage.starts(with: length.prefix(partialMessage.count)) else {
      return fail(.decodeError, "a change of keys has a wrong length")
    }
    if partialMessage.count < 5 { return nil }
    guard partialMessage.count == 5 else { return fail(.unexpectedMessage, "something stands behind a change of keys") }
    guard partialMessage[4] <= 1 else { return fail(.illegalParameter, "a change of keys asks for something unknown") }
    if partialMessage[4] == 1 { owesKeyUpdate = true }
    partialMessage = []
    guard unsafe copenssl_update_traffic(&receiving) == 1 else {
      return fail(.internalError, "the keys cannot be changed")
    }
    return nil
  }

  private func fail(_ alert: Alert, _ detail: String) -> Event {
    seal([2, alert.rawValue], ContentType.alert)
    return .failed(.failed(detail: detail))
  }
}
