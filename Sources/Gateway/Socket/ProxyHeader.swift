import Wire

/// The header of the PROXY protocol, version 2, in which a proxy says whose connection it passes on: byte by byte, as
/// it comes.
///
///      0            12        13        14        16                    16 + length
///     +-------------+---------+---------+---------+---------------------+
///     | signature   | 2 | cmd | family  | length  | addresses, then TLV |
///     +-------------+---------+---------+---------+---------------------+
///     cmd: 0 the proxy speaks for itself, 1 for a client. family: 0x11 TCP over IPv4, 0x21 over IPv6, others below.
///
/// Source: "The PROXY protocol", section 2.2. What stands behind the addresses is skipped, whatever it is.
struct ProxyHeader {
  enum Malformed: Error, Equatable {
    /// The first bytes are not the signature: no header of version 2 begins so.
    case noSignature
    /// Version 2 has another first half byte, or there is no such command.
    case unknownVersionOrCommand
    /// The family of a datagram, or one that the protocol does not have.
    case unknownFamily
    /// The header is too short for its addresses, or longer than any proxy's.
    case wrongLength
  }

  enum Progress: Equatable {
    case needsMore
    /// The header is whole. Nil: the proxy speaks for itself, or for somebody who has no IP address.
    case whole(client: IPAddress?)
  }

  static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
  /// Bytes that may follow the first 16. The largest proxies add some hundred.
  static let longestRest = 4096
  private static let fixedBytes = 16

  /// Signature to length, then the client's address; nothing of what is skipped.
  private var bytes: [UInt8] = []
  private var count = 0
  private var rest = 0
  private var isLocal = false
  /// Bytes of the client's address, which is the first thing in the rest.
  private var addressBytes = 0

  /// Takes the next byte.
  mutating func read(_ byte: UInt8) throws(Malformed) -> Progress {
    defer { count += 1 }
    switch count {
    case ..<12: if byte != Self.signature[count] { throw .noSignature }
    case 12:
      guard byte == 0x20 || byte == 0x21 else { throw .unknownVersionOrCommand }
      isLocal = byte == 0x20
    case 13:
      switch byte {
      case 0x00, 0x31: addressBytes = 0
      case 0x11: addressBytes = 4
      case 0x21: addressBytes = 16
      default: throw .unknownFamily
      }
    case 14: rest = Int(byte) << 8
    case 15:
      rest |= Int(byte)
      // Both addresses and both ports have to fit, also where they are not looked at.
      let least = addressBytes == 0 ? 0 : 2 * addressBytes + 4
      guard rest <= Self.longestRest, isLocal || rest >= least else { throw .wrongLength }
      if rest == 0 { return whole }
    default:
      if bytes.count < addressBytes { bytes.append(byte) }
      if count + 1 == Self.fixedBytes + rest { return whole }
    }
    return .needsMore
  }

  private var whole: Progress { .whole(client: isLocal ? nil : IPAddress(networkBytes: bytes)) }
}
