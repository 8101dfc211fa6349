/// A page of what a bucket holds.
struct ObjectPage: Sendable, Equatable {
  /// As they were given to the objects.
  var names: [String]
  /// Asks for the next page; nil: this is the last.
  var next: String?
}

extension ObjectPage {
  /// - Parameter body: of an answer to ListObjectsV2 with `encoding-type=url`.
  init(_ body: [UInt8]) throws(XMLFault) {
    let root = try XMLReader.read(body)
    guard root.name == "ListBucketResult" else { throw XMLFault("is no list of objects") }
    let isEncoded = try root.text(of: "EncodingType") == "url"
    names = []
    for object in root.children where object.name == "Contents" {
      guard let key = try object.text(of: "Key"), !key.isEmpty else { throw XMLFault("has an object without a name") }
      names.append(try isEncoded ? Self.decoded(key) : key)
    }
    // Without this word nobody knows whether more follows, and what is not listed is not deleted.
    switch try root.text(of: "IsTruncated") {
    case "false": next = nil
    case "true":
      guard let token = try root.text(of: "NextContinuationToken"), !token.isEmpty else {
        throw XMLFault("says that more follows, and not where")
      }
      next = token
    default: throw XMLFault("does not say whether more follows")
    }
  }

  /// A name without its `%` signs. A `+` stands for itself or for a space, as stores differ; our names have neither.
  static func decoded(_ text: String) throws(XMLFault) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, !digits.contains(UInt8(ascii: "+")), !digits.contains(UInt8(ascii: "-")),
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else { throw XMLFault("has a name with half of an encoded character") }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    guard let name = String(validating: bytes, as: UTF8.self) else { throw XMLFault("has a name that is not UTF-8") }
    return name
  }
}

/// What a store says of an error, if it says it as S3 does.
struct StoreError: Sendable, Equatable {
  var code: String
  var message: String

  init?(_ body: [UInt8]) {
    guard let root = try? XMLReader.read(body), root.name == "Error", let code = try? root.text(of: "Code") else {
      return nil
    }
    self.code = Self.printable(code)
    message = Self.printable((try? root.text(of: "Message")) ?? "")
  }

  /// It stands in our log: no line breaks, and not more than a line.
  private static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.prefix(200).map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
  }
}

/// Whether a bucket keeps what is deleted.
public enum BucketVersioning: Sendable, Equatable {
  /// Deleted is gone.
  case off
  /// What is deleted now is gone; what was overwritten or deleted while it was on may be there still.
  case suspended
  /// Nothing that is deleted is gone.
  case on
}

extension BucketVersioning {
  init(_ body: [UInt8]) throws(XMLFault) {
    let root = try XMLReader.read(body)
    // Not all stores call it as S3 does; those that do not know the question answer with a list, or with a page for people.
    guard root.name.contains("Versioning") else { throw XMLFault("says nothing of versions") }
    switch try root.text(of: "Status") {
    case nil: self = .off
    case "Suspended": self = .suspended
    case "Enabled": self = .on
    default: throw XMLFault("has a status of versions that nobody knows")
    }
  }
}

/// `bytes 0-83/1000`: which part of an object an answer has.
struct ContentRange: Equatable {
  var first: Int
  var last: Int
  var total: Int

  init?(_ text: String?) {
    guard let text, text.hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
      let total = Self.number(parts[1]), first <= last, last < total
    else { return nil }
    (self.first, self.last, self.total) = (first, last, total)
  }

  private static func number(_ text: Substring) -> Int? {
    (1...15).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
  }
}
