import Cryptography

/// One request to an object store, as it is signed and sent: what is not in here cannot be changed on the way without the
/// store noticing, and nothing else of the request matters to it.
struct StoreRequest: Sendable {
  var method: String
  /// Of bucket and object, not encoded.
  var path: String
  var query: [(name: String, value: String)] = []
  /// Names in lower case.
  var headers: [(name: String, value: String)] = []
  var body: [UInt8] = []

  /// The query as it stands in the address and in what is signed, which must be the same: names in order, everything
  /// encoded, an `=` also where there is no value.
  var encodedQuery: String {
    query.map { (name: Self.encoded($0.name), value: Self.encoded($0.value)) }
      .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
      .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
  }

  var encodedPath: String { Self.encoded(path, except: UInt8(ascii: "/")) }

  /// All but RFC 3986's unreserved characters as `%` and two digits in upper case.
  static func encoded(_ text: String, except other: UInt8? = nil) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), other:
        bytes.append(byte)
      default: bytes += Array("%\([byte].hexadecimal.uppercased())".utf8)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Whoever may use a store: the name of a key, the key, and the region that signatures are for.
struct StoreCredentials: Sendable {
  var accessKeyID: String
  var secretAccessKey: SecretKey
  var region: String
}

/// Signs requests with AWS Signature Version 4, in the form of S3: the path is encoded once, and the digest of the body is
/// a header of its own ("Authenticating Requests (AWS Signature Version 4)" in the reference of Amazon S3's API).
///
/// Our own and not libcurl's (`CURLOPT_AWS_SIGV4`): 7.88, Debian 12's, signs headers that it is told not to send, sends no
/// `x-amz-content-sha256`, which S3 wants, and signs queries as they come; what it encodes changes with its versions.
struct RequestSignature {
  let credentials: StoreCredentials

  /// The headers of the request, with those that the signature needs, and the signature.
  ///
  /// - Parameters:
  ///   - host: as it stands in the header `Host`, which whoever sends the request adds.
  ///   - seconds: since 1970. Stores refuse what is a quarter of an hour from theirs.
  func headers(of request: StoreRequest, host: String, at seconds: Int64) -> [(name: String, value: String)] {
    let time = Self.time(seconds)
    let digest = Digest.sha256.hash(request.body).hexadecimal
    let added = request.headers + [("x-amz-content-sha256", digest), ("x-amz-date", time)]
    let signed = (added + [("host", host)]).sorted { $0.name < $1.name }
    let names = signed.map(\.name).joined(separator: ";")
    let canonical =
      [request.method, request.encodedPath, request.encodedQuery]
      + signed.map { "\($0.name):\($0.value)" } + ["", names, digest]
    let scope = "\(time.prefix(8))/\(credentials.region)/s3/aws4_request"
    let text = [
      "AWS4-HMAC-SHA256", time, scope,
      Digest.sha256.hash(Array(canonical.joined(separator: "\n").utf8)).hexadecimal,
    ]
    let signature = Digest.sha256.authenticate(
      Array(text.joined(separator: "\n").utf8), with: key(day: String(time.prefix(8))))
    let authorization =
      "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope), SignedHeaders=\(names), "
      + "Signature=\(signature.hexadecimal)"
    return added + [("authorization", authorization)]
  }

  /// The key of a day, so that whoever reads one signs nothing on another.
  private func key(day: String) -> SecretKey {
    let start = SecretKey(Array("AWS4".utf8) + credentials.secretAccessKey.bytes)
    return [day, credentials.region, "s3", "aws4_request"].reduce(start) { key, word in
      SecretKey(Digest.sha256.authenticate(Array(word.utf8), with: key))
    }
  }

  /// `20130524T000000Z`.
  ///
  /// - Parameter seconds: since 1970, not before.
  static func time(_ seconds: Int64) -> String {
    let (year, month, day) = date(daysSince1970: seconds / 86_400)
    let second = seconds % 86_400
    func digits(_ number: Int64, _ count: Int = 2) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return digits(year, 4) + digits(month) + digits(day) + "T" + digits(second / 3600) + digits(second / 60 % 60)
      + digits(second % 60) + "Z"
  }

  /// The day in the Gregorian calendar, which repeats itself every 400 years. Years are counted from March on, so that the
  /// day that comes every four years is their last.
  private static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468  // Days since the first of March of the year 0.
    let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
  }
}
