import Cryptography
import Testing

@testable import ObjectStore

/// The examples of "Signature Calculations for the Authorization Header" in the reference of Amazon S3's API.
@Suite("Signatures of requests to an object store")
struct RequestSignatureTests {
  private static let host = "examplebucket.s3.amazonaws.com"
  /// 24 May 2013, 00:00:00 GMT.
  private static let seconds: Int64 = 1_369_353_600

  private static let signature = RequestSignature(
    credentials: StoreCredentials(
      accessKeyID: "AKIAIOSFODNN7EXAMPLE",
      secretAccessKey: SecretKey(Array("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8)), region: "us-east-1"))

  private static let examples: [(request: StoreRequest, signature: String)] = [
    (
      StoreRequest(method: "GET", path: "/test.txt", headers: [("range", "bytes=0-9")]),
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    ),
    (
      StoreRequest(
        method: "PUT", path: "/test$file.text",
        headers: [("x-amz-storage-class", "REDUCED_REDUNDANCY"), ("date", "Fri, 24 May 2013 00:00:00 GMT")],
        body: Array("Welcome to Amazon S3.".utf8)),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    ),
    (
      StoreRequest(method: "GET", path: "/", query: [("lifecycle", "")]),
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    ),
    (
      StoreRequest(method: "GET", path: "/", query: [("prefix", "J"), ("max-keys", "2")]),
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    ),
  ]

  @Test("the published examples are signed as published", arguments: examples.indices)
  func published(number: Int) throws {
    let example = Self.examples[number]
    let headers = Self.signature.headers(of: example.request, host: Self.host, at: Self.seconds)
    let authorization = try #require(headers.last)
    #expect(authorization.name == "authorization")
    #expect(authorization.value.hasSuffix("Signature=" + example.signature))
    #expect(
      authorization.value.hasPrefix(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
  }

  @Test("whatever of a request is changed changes the signature")
  func bound() {
    func signature(_ change: (inout StoreRequest) -> Void, at seconds: Int64 = Self.seconds, host: String = "a")
      -> String
    {
      var request = StoreRequest(method: "GET", path: "/b/n", query: [("a", "b")], headers: [("range", "bytes=0-9")])
      change(&request)
      return Self.signature.headers(of: request, host: host, at: seconds).last?.value ?? ""
    }
    let all = [
      signature { _ in }, signature { $0.method = "PUT" }, signature { $0.path = "/b/m" },
      signature { $0.query[0].value = "c" }, signature { $0.query[0].name = "c" },
      signature { $0.headers[0].value = "bytes=0-8" }, signature { $0.headers = [] }, signature { $0.body = [1] },
      signature({ _ in }, at: Self.seconds + 1), signature({ _ in }, host: "b"),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test("a query is in order and encoded, also where it has signs that mean something in one")
  func query() {
    let request = StoreRequest(
      method: "GET", path: "/b/a b/ü",
      query: [("prefix", "p/a+b=c&d"), ("list-type", "2"), ("versioning", ""), ("continuation-token", "1/x==")])
    #expect(
      request.encodedQuery == "continuation-token=1%2Fx%3D%3D&list-type=2&prefix=p%2Fa%2Bb%3Dc%26d&versioning=")
    #expect(request.encodedPath == "/b/a%20b/%C3%BC")
  }

  @Test("times are of Greenwich, whole to the second")
  func times() {
    #expect(RequestSignature.time(0) == "19700101T000000Z")
    #expect(RequestSignature.time(Self.seconds) == "20130524T000000Z")
    #expect(RequestSignature.time(951_782_400) == "20000229T000000Z")
    #expect(RequestSignature.time(1_709_209_845) == "20240229T123045Z")
    #expect(RequestSignature.time(4_107_542_399) == "21000228T235959Z")
    #expect(RequestSignature.time(4_107_542_400) == "21000301T000000Z")
  }

  @Test("endpoints are as libcurl writes them in Host, and nothing else is one")
  func endpoints() throws {
    for (text, address, host) in [
      ("https://S3.example.com", "https://s3.example.com", "s3.example.com"),
      ("https://s3.example.com:443/", "https://s3.example.com", "s3.example.com"),
      ("http://10.0.0.7:9000", "http://10.0.0.7:9000", "10.0.0.7:9000"),
      ("http://store:80", "http://store", "store"), ("https://store:80", "https://store:80", "store:80"),
      ("http://[::1]:9000", "http://[::1]:9000", "[::1]:9000"), ("https://[fd00::1]", "https://[fd00::1]", "[fd00::1]"),
    ] {
      let endpoint = try StoreEndpoint(text)
      #expect(endpoint.address == address && endpoint.host == host)
    }
    for text in [
      "", "s3.example.com", "ftp://a", "https://", "https://a/b", "https://u:p@a", "https://a:", "https://a:0",
      "https://a:70000", "https://a:1:2", "https://a?b", "https://a b", "https://a\n", "https://ä",
    ] {
      #expect(throws: ObjectStoreFault.self) { try StoreEndpoint(text) }
    }
  }
}
