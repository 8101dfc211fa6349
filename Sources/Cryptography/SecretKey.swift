internal import COpenSSL

/// Bytes that nobody can guess.
public enum Randomness {
  /// Bytes from OpenSSL's generator, which the kernel seeds. Ends the process if the generator does not work, because
  /// nothing is safe without it.
  public static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let isDone = unsafe RAND_bytes(&bytes, Int32(count)) == 1
    precondition(isDone, "OpenSSL's random generator does not work; see `openssl rand 1`")
    return bytes
  }
}

/// Bytes that are a secret: their memory is overwritten when the last reference goes.
@safe public final class SecretKey: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer

  public init(_ bytes: [UInt8]) {
    unsafe memory = .allocate(byteCount: max(bytes.count, 1), alignment: 1)
    unsafe memory.copyBytes(from: bytes)
    count = bytes.count
  }

  /// A key of so many bytes, drawn at random.
  public convenience init(randomBytes count: Int) {
    var bytes = Randomness.bytes(count)
    self.init(bytes)
    unsafe OPENSSL_cleanse(&bytes, count)
  }

  deinit {
    unsafe OPENSSL_cleanse(memory.baseAddress, memory.count)
    unsafe memory.deallocate()
  }

  public let count: Int

  /// A copy of the bytes, which its owner has to keep secret. It is not overwritten.
  public var bytes: [UInt8] { unsafe withBytes { unsafe Array($0) } }

  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    unsafe try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }

  /// A key derived from this one (HKDF, RFC 5869). Each `info` has its own. Ends the process if OpenSSL lacks HKDF.
  ///
  /// - Parameters:
  ///   - salt: need not be secret; empty: as many zeros as the digest has bytes, as the RFC has it.
  ///   - count: bytes of the derived key; at most 255 times the digest's.
  public func derived(salt: [UInt8] = [], info: [UInt8], count: Int, with digest: Digest = .sha256) -> SecretKey {
    precondition((1...255 * digest.count).contains(count), "HKDF makes 1 to 255 digests of bytes, not \(count)")
    var result = [UInt8](repeating: 0, count: count)
    let isDone = unsafe withBytes { key in
      unsafe copenssl_hkdf(
        digest.name, key.baseAddress, key.count, salt, salt.count, info, info.count, &result, count) == 1
    }
    precondition(isDone, "OpenSSL lacks HKDF, which it must have, or memory is out")
    defer { unsafe OPENSSL_cleanse(&result, count) }
    return SecretKey(result)
  }
}
