import Cryptography
import Foundation
import Testing

/// Base64url without padding.
private func bytes(_ text: String) throws -> [UInt8] {
  let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
  let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
  return try Array(#require(Data(base64Encoded: base64)))
}

@Suite("Signatures")
struct SignatureTests {
  private static let claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

  /// The signature is the message's, and nothing near it is.
  private func check(_ key: PublicKey, _ message: String, _ signature: [UInt8]) {
    let message = Array(message.utf8)
    #expect(key.isSignature(signature, of: message))
    #expect(!key.isSignature(signature, of: message + [0]))
    #expect(!key.isSignature([], of: message))
    #expect(!key.isSignature(signature.dropLast(), of: message))
    #expect(!key.isSignature(signature + [0], of: message))
    for index in stride(from: 0, to: signature.count, by: 7) {
      var changed = signature
      changed[index] ^= 1
      #expect(!key.isSignature(changed, of: message))
    }
    #expect(!key.isSignature([UInt8](repeating: 0, count: signature.count), of: message))
  }

  @Test("RS256: the example of RFC 7515, A.2")
  func rs256() throws {
    let modulus = try bytes(
      "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pC"
        + "gNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2Ca"
        + "pHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9g"
        + "b54h4FRWyuXpoQ")
    let key = try PublicKey(rsaModulus: modulus, exponent: [1, 0, 1])
    #expect(key.kind == .rsa)
    check(
      key, "eyJhbGciOiJSUzI1NiJ9." + Self.claims,
      try bytes(
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUA"
          + "r7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6"
          + "_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrB"
          + "p0igcN_IoypGlUPQGe77Rw"))
  }

  @Test("ES256: the example of RFC 7515, A.3")
  func es256() throws {
    let key = try PublicKey(
      .p256, x: bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
      y: bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
    #expect(key.kind == .ecdsa(.p256))
    check(
      key, "eyJhbGciOiJFUzI1NiJ9." + Self.claims,
      try bytes("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
  }

  @Test("ES512: the example of RFC 7515, A.4")
  func es512() throws {
    let key = try PublicKey(
      .p521, x: bytes("AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk"),
      y: bytes("ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"))
    check(
      key, "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA",
      try bytes(
        "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2Y"
          + "BJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"))
  }

  @Test("ES384: the example of RFC 6979, A.2.6")
  func es384() throws {
    let key = try PublicKey(
      .p384,
      x: bytes(hex: "EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64DEF8F0EA9055866064A254515480BC13"),
      y: bytes(hex: "8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1288B231C3AE0D4FE7344FD2533264720"))
    check(
      key, "sample",
      bytes(
        hex: "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46"
          + "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8"))
  }

  @Test("EdDSA: the example of RFC 8037, A.4")
  func eddsa() throws {
    let key = try PublicKey(ed25519: bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
    #expect(key.kind == .ed25519)
    check(
      key, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
      try bytes("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"))
  }

  @Test("what is signed is checked by the public half, from its PEM and from its point")
  func halves() throws {
    for curve in Curve.allCases {
      let key = try PrivateKey(on: curve)
      let signature = try key.sign(Array("x".utf8))
      #expect(signature.count == 2 * curve.coordinateBytes)
      let point = key.publicKey.point
      let halves = [
        try PublicKey(pem: key.publicKey.pem),
        try PublicKey(
          curve, x: Array(point[1...curve.coordinateBytes]), y: Array(point[(curve.coordinateBytes + 1)...])),
      ]
      for half in halves {
        check(half, "x", signature)
        #expect(half.kind == .ecdsa(curve))
      }
    }
    let key = try PrivateKey()
    check(try PublicKey(pem: key.publicKey.pem), "y", try key.sign(Array("y".utf8)))
    check(try PublicKey(ed25519: key.publicKey.point), "y", try key.sign(Array("y".utf8)))
  }

  @Test("what is no key, or too weak or too large a one, is refused")
  func unusable() throws {
    for pem in [
      "", "nonsense", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
      "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ] {
      #expect(throws: UnusableKey()) { try PublicKey(pem: pem) }
    }
    let odd = { (bytes: Int) in [0xC1] + [UInt8](repeating: 0x11, count: bytes - 1) }
    #expect(throws: UnusableKey()) { try PublicKey(rsaModulus: odd(128), exponent: [1, 0, 1]) }
    #expect(throws: UnusableKey()) { try PublicKey(rsaModulus: odd(2048), exponent: [1, 0, 1]) }
    #expect(throws: UnusableKey()) { try PublicKey(rsaModulus: odd(256), exponent: odd(9)) }
    #expect(throws: UnusableKey()) { try PublicKey(rsaModulus: [], exponent: [1, 0, 1]) }
    #expect(throws: UnusableKey()) { try PublicKey(ed25519: [1]) }
    let zero = [UInt8](repeating: 0, count: 32)
    #expect(throws: UnusableKey()) { try PublicKey(.p256, x: zero, y: zero) }
    let beside = [UInt8](repeating: 1, count: 32)
    #expect(throws: UnusableKey()) { try PublicKey(.p256, x: beside, y: beside) }
    #expect(throws: UnusableKey()) { try PublicKey(.p384, x: zero, y: zero) }
  }
}
