internal import CZeroMQ
import Glibc

/// Encryption and authentication of ZeroMQ over TCP (ZMTP's CURVE; Z85 is ZeroMQ RFC 32).
///
/// The server proves its key to every client. Unless clients are checked, too, libzmq lets in *any* client that knows
/// the server's public key: treat that key like a password, or name the clients in a `CurveAllowList`.
public enum Curve {
  /// Whether this libzmq was built with CURVE.
  public static var isAvailable: Bool { unsafe zmq_has("curve") == 1 }

  /// 32 bytes as 40 characters of Z85.
  public struct PublicKey: Hashable, Sendable, CustomStringConvertible {
    public let z85: String

    public init(z85: String) throws(ZeroMQError) {
      self.z85 = try validated(z85)
    }

    public var description: String { z85 }

    /// The 32 bytes.
    var binary: [UInt8] {
      var binary = [UInt8](repeating: 0, count: 32)
      // Cannot fail: the text was decoded once already.
      _ = unsafe zmq_z85_decode(&binary, z85)
      return binary
    }
  }

  /// Like `PublicKey`, but its description hides it, so that it cannot slip into a log.
  public struct SecretKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let z85: String

    public init(z85: String) throws(ZeroMQError) {
      self.z85 = try validated(z85)
    }

    /// The public half, computed.
    public var publicKey: PublicKey {
      get throws(ZeroMQError) {
        var text = [CChar](repeating: 0, count: 41)
        guard unsafe zmq_curve_public(&text, z85) == 0 else { throw .last(.readKey) }
        return try PublicKey(z85: string(text))
      }
    }

    public var description: String { "(secret)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
  }

  public struct KeyPair: Hashable, Sendable {
    public let publicKey: PublicKey
    public let secretKey: SecretKey

    public init(publicKey: PublicKey, secretKey: SecretKey) {
      self.publicKey = publicKey
      self.secretKey = secretKey
    }

    /// A new random pair.
    public static func generate() throws(ZeroMQError) -> KeyPair {
      var publicText = [CChar](repeating: 0, count: 41)
      var secretText = [CChar](repeating: 0, count: 41)
      guard unsafe zmq_curve_keypair(&publicText, &secretText) == 0 else { throw .last(.generateKeys) }
      return KeyPair(
        publicKey: try PublicKey(z85: string(publicText)), secretKey: try SecretKey(z85: string(secretText)))
    }
  }

  /// Which end of a CURVE connection a socket is.
  public enum Role: Sendable {
    /// With a domain, which `CurveAllowList.domain` gives, only the clients on that list are let in.
    case server(SecretKey, allowing: CurveAllowList.Domain? = nil)
    case client(KeyPair, server: PublicKey)

    func apply(to core: SocketCore) throws(ZeroMQError) {
      switch self {
      case .server(let secret, let domain):
        if let domain { try core.set(ZMQ_ZAP_DOMAIN, Array(domain.name.utf8), "curve.domain") }
        try core.set(ZMQ_CURVE_SERVER, Int32(1), "curve.server")
        try core.set(ZMQ_CURVE_SECRETKEY, Curve.option(secret.z85), "curve.secretKey")
      case .client(let own, let server):
        try core.set(ZMQ_CURVE_SERVERKEY, Curve.option(server.z85), "curve.serverKey")
        try core.set(ZMQ_CURVE_PUBLICKEY, Curve.option(own.publicKey.z85), "curve.publicKey")
        try core.set(ZMQ_CURVE_SECRETKEY, Curve.option(own.secretKey.z85), "curve.secretKey")
      }
    }
  }

  private static func validated(_ z85: String) throws(ZeroMQError) -> String {
    var binary = [UInt8](repeating: 0, count: 32)
    // The length comes first: libzmq decodes as many characters as it is given, into a buffer whose size it is not
    // told.
    guard z85.utf8.count == 40, !z85.utf8.contains(0), unsafe zmq_z85_decode(&binary, z85) != nil else {
      // Never the text itself: it may be a secret.
      throw ZeroMQError(code: EINVAL, operation: .readKey)
    }
    return z85
  }

  private static func string(_ text: [CChar]) -> String {
    String(decoding: text.prefix(while: { $0 != 0 }).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Z85 text as libzmq wants it: with its terminating zero.
  private static func option(_ z85: String) -> [UInt8] {
    Array(z85.utf8) + [0]
  }
}
