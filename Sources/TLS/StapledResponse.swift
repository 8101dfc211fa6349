import COpenSSL
import Synchronization

/// What an authority says of a certificate (an OCSP response, RFC 6960), from a file that somebody else renews. It is
/// given to clients in the handshake, so that they need not ask the authority themselves.
///
/// Only a good response that holds now is given out. Without one the handshake goes on as without the file: clients
/// then ask, or do not care; a wrong or an old one would have them refuse the certificate.
final class StapledResponse: Sendable {
  /// How the file is. Its description follows the file's path.
  enum Condition: Sendable, Equatable, CustomStringConvertible {
    case good
    case unreadable
    case tooLarge
    case failure
    case ofAnother
    case notGood
    case withoutEnd
    case forged
    case notYet
    case expired

    var description: String {
      switch self {
      case .good: "is good"
      case .unreadable: "cannot be read as an OCSP response; it has to be one in DER"
      case .tooLarge: "is larger than \(StapledResponse.limitBytes) bytes, so it is no OCSP response"
      case .failure: "holds no answer: the responder says that it failed; ask it again"
      case .ofAnother: "is about another certificate; ask about this one"
      case .notGood:
        "does not call the certificate good: it is revoked, or the responder does not know it; get a new one"
      case .withoutEnd: "does not say until when it holds (nextUpdate)"
      case .forged: "is not signed by who issued the certificate"
      case .notYet: "does not hold yet; check this machine's clock"
      case .expired: "has expired; have it renewed before it does"
      }
    }
  }

  private struct State {
    var condition = Condition.unreadable
    var bytes: [UInt8] = []
    /// Seconds since 1970.
    var holds: Range<Int64> = 0..<0
  }

  static let limitBytes = 65_536
  /// Seconds by which clocks may differ.
  private static let clockToleranceSeconds: Int64 = 300

  let path: String
  private let state = Mutex(State())

  init(path: String) { self.path = path }

  /// Reads the file, whatever was there before.
  func read(for context: OpenSSLContext) {
    let new = Self.load(path, for: context)
    state.withLock { $0 = new }
  }

  /// The response where it is one to give out.
  ///
  /// - Parameter seconds: since 1970.
  func bytes(at seconds: Int64) -> [UInt8]? {
    state.withLock { Self.condition($0, at: seconds) == .good ? $0.bytes : nil }
  }

  func condition(at seconds: Int64) -> Condition { state.withLock { Self.condition($0, at: seconds) } }

  private static func condition(_ state: State, at seconds: Int64) -> Condition {
    guard state.condition == .good else { return state.condition }
    if seconds >= state.holds.upperBound { return .expired }
    return seconds + clockToleranceSeconds < state.holds.lowerBound ? .notYet : .good
  }

  private static func load(_ path: String, for context: OpenSSLContext) -> State {
    var state = State()
    guard let bytes = contents(path) else { return state }
    guard bytes.count <= limitBytes else {
      state.condition = .tooLarge
      return state
    }
    var (from, until): (Int64, Int64) = (0, 0)
    OpenSSLErrors.clear()
    defer { OpenSSLErrors.clear() }
    guard let certificate = unsafe SSL_CTX_get0_certificate(context.pointer) else { return state }
    state.condition =
      switch unsafe copenssl_read_response(
        bytes, bytes.count, certificate, copenssl_issuer(context.pointer), &from, &until)
      {
      case COPENSSL_RESPONSE_GOOD: from < until ? .good : .expired
      case COPENSSL_RESPONSE_FAILURE: .failure
      case COPENSSL_RESPONSE_OF_ANOTHER: .ofAnother
      case COPENSSL_RESPONSE_NOT_GOOD: .notGood
      case COPENSSL_RESPONSE_WITHOUT_END: .withoutEnd
      case COPENSSL_RESPONSE_FORGED: .forged
      default: .unreadable
      }
    if state.condition == .good { (state.bytes, state.holds) = (bytes, from..<until) }
    return state
  }

  /// The file's bytes, cut behind the first that is too many; nil where it cannot be read.
  private static func contents(_ path: String) -> [UInt8]? {
    OpenSSLErrors.clear()
    defer { OpenSSLErrors.clear() }
    guard let file = unsafe BIO_new_file(path, "rb") else { return nil }
    defer { unsafe BIO_free(file) }
    var bytes = [UInt8](repeating: 0, count: limitBytes + 1)
    var count = 0
    while count < bytes.count {
      let read = unsafe bytes.withUnsafeMutableBytes { room in
        unsafe BIO_read(file, room.baseAddress?.advanced(by: count), Int32(room.count - count))
      }
      if read <= 0 { break }
      count += Int(read)
    }
    return count == 0 ? nil : Array(bytes[..<count])
  }
}
