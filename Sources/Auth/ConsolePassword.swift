public import Cryptography

/// The password of the web console, where none is configured: made on the first start, of which the data folder keeps a
/// salted hash alone.
public enum ConsolePassword {
  /// Name of the hash's file within the data folder.
  public static let fileName = "console-password.hash"
  /// Fewest bytes of a password that somebody has chosen.
  public static let minimumBytes = 16

  /// Why there is no password to be had. The description is a sentence for the operator.
  public enum Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file in the data folder holds something else.
    case damaged(path: String)
    case tooShort(path: String, bytes: Int)
    case file(SecretFile.Fault)

    public var description: String {
      switch self {
      case .damaged(let path): "\(path) holds no hash of a password; make a new one with: fanfare console password"
      case .tooShort(let path, let bytes):
        "the password in \(path) has \(bytes) bytes, at least \(minimumBytes) are needed; write for example what "
          + "`openssl rand -base64 24` prints"
      case .file(let fault): "\(fault)"
      }
    }
  }

  /// Digits and letters of which none is taken for another.
  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
  private static let groups = 6
  private static let groupLength = 4

  /// A new password of 120 random bits, as six groups of four letters and digits.
  public static func make() -> String {
    // 32 characters, so each byte's low five bits choose one evenly.
    let characters = Randomness.bytes(groups * groupLength).map { alphabet[Int($0 & 31)] }
    return (0..<groups).map { group in
      String(characters[group * groupLength..<(group + 1) * groupLength])
    }.joined(separator: "-")
  }

  /// What the data folder keeps; nil: no password was made yet.
  public static func load(from folder: String) throws(Fault) -> PasswordHash? {
    let path = folder + "/" + fileName
    guard let text = try contents(of: path) else { return nil }
    guard let hash = PasswordHash(text: text) else { throw .damaged(path: path) }
    return hash
  }

  /// Has the data folder keep this in the place of what it kept.
  public static func keep(_ hash: PasswordHash, in folder: String) throws(Fault) {
    do throws(SecretFile.Fault) {
      try SecretFile.replace(folder + "/" + fileName, in: folder, with: Array((hash.text + "\n").utf8))
    } catch {
      throw .file(error)
    }
  }

  /// A password that somebody has written into a file.
  public static func read(_ path: String) throws(Fault) -> String {
    guard let text = try contents(of: path) else { throw .file(.missing(path: path)) }
    guard text.utf8.count >= minimumBytes else { throw .tooShort(path: path, bytes: text.utf8.count) }
    return text
  }

  /// A file without the white space around its text; nil: there is none.
  static func contents(of path: String) throws(Fault) -> String? {
    do throws(SecretFile.Fault) {
      let bytes = try SecretFile.contents(of: path, limit: SecretFile.maximumLength)
      let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
      guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
      else { return "" }
      return String(decoding: bytes[first...last], as: UTF8.self)
    } catch .missing {
      return nil
    } catch {
      throw .file(error)
    }
  }
}
