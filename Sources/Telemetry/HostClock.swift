#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The machine whose clock stamps are of.
public enum HostClock {
  /// A number that all processes of this start of this machine share, and no other: the digest of the kernel's
  /// `boot_id` (random(4)). Where the system has none, it is drawn, and then stamps of two processes are never
  /// compared.
  public static let identity: UInt64 = {
    guard let file = unsafe fopen("/proc/sys/kernel/random/boot_id", "r") else { return .random(in: 1 ... .max) }
    defer { unsafe fclose(file) }
    var text = [UInt8](repeating: 0, count: 64)
    let count = unsafe fread(&text, 1, text.count, file)
    return count > 0 ? digest(of: text.prefix(count)) : .random(in: 1 ... .max)
  }()

  /// FNV-1a, of 64 bits.
  static func digest(of bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
