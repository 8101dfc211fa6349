import Cryptography

/// The keys under which sets of keys are wrapped that stand where others may look: in a database, its write-ahead log and
/// its backups.
///
///     file = line+     each 64 hexadecimal digits: a key of AES-256
///     box  = nonce, 12 bytes; ciphertext; tag, 16 bytes
///
/// The first line wraps, all of them unwrap. So a key is replaced by a line before it, and gone with its own line: then no
/// copy of a box that was wrapped under it says anything any more, wherever it is.
public struct MasterKeys: Sendable {
  /// Lines in a file at most.
  static let most = 16
  private static let keyBytes = 32
  private let keys: [SecretKey]

  /// Reads the file. Only its owner may be able to.
  public static func load(_ path: String) throws(VaultFault) -> MasterKeys {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { String(path[..<$0]) } ?? "."
    let file = KeyFile(folder: folder, name: String(path[(slash.map(path.index(after:)) ?? path.startIndex)...]))
    guard let bytes = try file.read(followsLinks: true) else { throw .missingMasterKey(path: path) }
    return try MasterKeys(bytes, path: path)
  }

  init(_ bytes: [UInt8], path: String) throws(VaultFault) {
    var keys: [SecretKey] = []
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      let text = line.filter { !" \t\r".utf8.contains($0) }
      if text.isEmpty { continue }
      guard let key = Self.key(text) else { throw .malformedMasterKey(path: path, line: index + 1) }
      keys.append(SecretKey(key))
    }
    guard (1...Self.most).contains(keys.count) else { throw .malformedMasterKey(path: path, line: nil) }
    self.keys = keys
  }

  private static func key(_ digits: [UInt8]) -> [UInt8]? {
    guard digits.count == 2 * keyBytes else { return nil }
    var key: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      key.append(high << 4 | low)
    }
    return key
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Wraps a set under the first key. The nonce is random: a set is saved some 9,000 times a year, and a key may be used
  /// 2^32 times (NIST SP 800-38D).
  ///
  /// - Parameters:
  ///   - name: the set's; a box under another name is not opened.
  ///   - version: which of the set's; likewise.
  func wrap(_ bytes: [UInt8], name: String, version: Int64) -> [UInt8] {
    do { return try AESGCM.seal(bytes, with: keys[0], authenticating: Self.authenticated(name, version)) } catch {
      preconditionFailure("a key of 32 bytes seals whatever it is given")
    }
  }

  /// Opens what ``wrap(_:name:version:)`` made.
  ///
  /// - Returns: nil where none of the keys opens it, or it was changed. Beside the set: whether it is wrapped under the
  ///   first key.
  func unwrap(_ box: [UInt8], name: String, version: Int64) -> (bytes: [UInt8], isUnderFirst: Bool)? {
    for (index, key) in keys.enumerated() {
      if let bytes = try? AESGCM.open(box, with: key, authenticating: Self.authenticated(name, version)) {
        return (bytes, index == 0)
      }
    }
    return nil
  }

  private static func authenticated(_ name: String, _ version: Int64) -> [UInt8] {
    Array("fanfare keys \(name) version \(version)".utf8)
  }
}
