import COpenSSL
import Foundation

/// OpenSSL as a client, whose bytes a test can cut, hold back and look at.
final class ListenerTLSClient {
  /// What the client offers.
  enum Offer: CaseIterable, CustomStringConvertible {
    case tls12, aes128, aes256, chaCha20

    var description: String {
      switch self {
      case .tls12: "TLS 1.2"
      case .aes128: "TLS_AES_128_GCM_SHA256"
      case .aes256: "TLS_AES_256_GCM_SHA384"
      case .chaCha20: "TLS_CHACHA20_POLY1305_SHA256"
      }
    }
  }

  enum Failure: Error { case noOpenSSL, failed(Int32), ended }

  let socket: ListenerRawClient
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private let fromNetwork: OpaquePointer
  private let toNetwork: OpaquePointer
  /// Everything that came over the wire, encrypted.
  private(set) var wire: [UInt8] = []
  /// Decrypted, and not taken by the test yet.
  private var plain: [UInt8] = []
  private(set) var hasEnded = false
  /// The server said goodbye before it ended.
  var heardGoodbye: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

  /// The handshake was short, because the server took a ticket of an earlier one.
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  /// - Parameter earlier: whose tickets are shown.
  init(
    port: Int, _ offer: Offer = .aes256, receiveBufferBytes: Int32? = nil, piece: Int = .max,
    resuming earlier: ListenerTLSClient? = nil
  ) throws {
    socket = try ListenerRawClient(port: port, receiveBufferBytes: receiveBufferBytes)
    guard let context = SSL_CTX_new(TLS_client_method()), let input = BIO_new(BIO_s_mem()),
      let output = BIO_new(BIO_s_mem())
    else { throw Failure.noOpenSSL }
    // SSL_CTRL_SET_MAX_PROTO_VERSION and SSL_CTRL_SET_MIN_PROTO_VERSION.
    if offer == .tls12 {
      SSL_CTX_ctrl(context, 124, Int(TLS1_2_VERSION), nil)
    } else {
      SSL_CTX_ctrl(context, 123, Int(TLS1_3_VERSION), nil)
      guard SSL_CTX_set_ciphersuites(context, offer.description) == 1 else { throw Failure.noOpenSSL }
    }
    guard let ssl = SSL_new(context) else { throw Failure.noOpenSSL }
    // BIO_C_SET_BUF_MEM_EOF_RETURN: empty means "later".
    for bio in [input, output] { BIO_ctrl(bio, 130, -1, nil) }
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
    if let session = earlier.flatMap({ SSL_get1_session($0.ssl) }) {
      SSL_set_session(ssl, session)
      SSL_SESSION_free(session)
    }
    (self.context, self.ssl, fromNetwork, toNetwork) = (context, ssl, input, output)
    while SSL_do_handshake(ssl) != 1 {
      try flush(piece: piece)
      if try receive(atMost: 65_536) == 0 { throw Failure.ended }
    }
    try flush(piece: piece)
  }

  deinit {
    // Else OpenSSL takes the session for a broken one, and whoever resumed it cannot be resumed either.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  // MARK: Out

  /// Sends what OpenSSL has written, in pieces of so many bytes.
  private func flush(piece: Int = .max) throws {
    var room = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Int(BIO_read(toNetwork, &room, Int32(room.count)))
      guard count > 0 else { return }
      for start in stride(from: 0, to: count, by: min(piece, count)) {
        try socket.send(Array(room[start..<min(count, start + min(piece, count))]))
      }
    }
  }

  func send(_ bytes: [UInt8], piece: Int = .max) throws {
    guard SSL_write(ssl, bytes, Int32(bytes.count)) == bytes.count else { throw Failure.failed(SSL_get_error(ssl, -1)) }
    try flush(piece: piece)
  }

  func upgrade(piece: Int = .max) throws {
    try send(Array(ListenerRawClient.upgradeRequest().utf8), piece: piece)
    let end = Data("\r\n\r\n".utf8)
    while true {
      if let found = Data(plain).range(of: end) { return plain.removeFirst(found.upperBound) }
      if hasEnded { throw Failure.ended }
      _ = try receive(atMost: 65_536)
      try decrypt()
    }
  }

  /// Changes the keys of what we send; where it `asks`, the server is to change its own.
  func changeKeys(asks: Bool) throws {
    guard SSL_key_update(ssl, asks ? 1 : 0) == 1, SSL_do_handshake(ssl) == 1 else { throw Failure.failed(0) }
    try flush()
  }

  func sayGoodbye() throws {
    SSL_shutdown(ssl)
    try flush()
  }

  /// Bytes on the wire as they are, past OpenSSL.
  func sendRaw(_ bytes: [UInt8]) throws { try socket.send(bytes) }

  // MARK: In

  /// Reads ciphertext: 0 at the end.
  private func receive(atMost most: Int, flags: Int32 = 0) throws -> Int {
    var room = [UInt8](repeating: 0, count: most)
    var count = recv(socket.fd, &room, most, flags)
    while count < 0 && errno == EINTR { count = recv(socket.fd, &room, most, flags) }
    if count < 0 {
      if errno == EAGAIN && flags != 0 { return -1 }
      guard errno == ECONNRESET else { throw Failure.failed(errno) }
      count = 0
    }
    if count == 0 { hasEnded = true }
    wire += room[..<count]
    BIO_write(fromNetwork, room, Int32(count))
    return count
  }

  private func decrypt() throws {
    var room = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = SSL_read(ssl, &room, Int32(room.count))
      if count > 0 {
        plain += room[..<Int(count)]
        continue
      }
      switch SSL_get_error(ssl, count) {
      case SSL_ERROR_WANT_READ, SSL_ERROR_ZERO_RETURN: return try flush()
      case let error: throw Failure.failed(error)
      }
    }
  }

  /// Takes what the kernel has, at most so many bytes of ciphertext; does not wait for any.
  func readWhatIsThere(atMost most: Int = 1 << 20) throws {
    var left = most
    while left > 0, case let count = try receive(atMost: min(left, 65_536), flags: Int32(MSG_DONTWAIT)), count > 0 {
      left -= count
    }
    try decrypt()
  }

  /// Whole frames that were read and not taken.
  func takeFrames() -> [ListenerRawClient.Frame] {
    var frames: [ListenerRawClient.Frame] = []
    var taken = 0
    while plain.count - taken >= 2 {
      let short = Int(plain[taken + 1] & 0x7F)
      let header = short == 127 ? 10 : short == 126 ? 4 : 2
      guard plain.count - taken >= header else { break }
      let length = short < 126 ? short : plain[(taken + 2)..<(taken + header)].reduce(0) { $0 << 8 | Int($1) }
      guard plain.count - taken >= header + length else { break }
      frames.append(.init(first: plain[taken], payload: Array(plain[(taken + header)..<(taken + header + length)])))
      taken += header + length
    }
    plain.removeFirst(taken)
    return frames
  }

  /// The next frames, at least one; none at the end of the stream.
  func readFrames() throws -> [ListenerRawClient.Frame] {
    while true {
      let frames = takeFrames()
      if !frames.isEmpty || hasEnded { return frames }
      _ = try receive(atMost: 65_536)
      try decrypt()
    }
  }

  func readToEnd() throws {
    while !hasEnded {
      _ = try receive(atMost: 65_536)
      try decrypt()
    }
  }
}
