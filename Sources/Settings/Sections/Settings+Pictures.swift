extension Settings {
  /// Where whole pictures of State and Clique are kept.
  public struct Pictures: Sendable, Equatable {
    public enum Store: String, Sendable, CaseIterable { case folder, s3 }

    /// The store of objects, where ``Pictures/store`` is `s3`.
    public struct S3: Sendable, Equatable {
      @Setting public var endpoint: String
      @Setting public var bucket: String
      @Setting public var region: String
      @Setting public var prefix: String
      @Setting public var accessKeyID: String
      @Setting public var secretAccessKeyFile: String
      @Setting public var certificateAuthorities: String
      @Setting public var timeout: Duration

      init(_ declare: inout SettingDeclarations) {
        _endpoint = declare.text(
          "endpoint", "",
          "Scheme, name and port of the store, such as `https://s3.eu-central-1.amazonaws.com` or `http://10.0.0.7:9000`; it may "
            + "have a private address. The bucket stands in the path.", rule: SettingFaults.ofStoreEndpoint)
        _bucket = declare.text(
          "bucket", "",
          "Bucket of the pictures, which all gateways of a broker and the broker itself must share. It must not keep versions "
            + "of what is deleted.", rule: SettingFaults.ofBucket)
        _region = declare.text("region", "us-east-1", "Region that requests are signed for.") { text in
          text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "/") }
            ? "is no region; write its name, for example \"eu-central-1\"" : nil
        }
        _prefix = declare.text(
          "prefix", "", "What names in the bucket begin with, such as `fanfare/`; empty: nothing.",
          rule: SettingFaults.ofObjectPrefix)
        _accessKeyID = declare.text(
          "access_key_id", "",
          "Name of the key: it has to get, put, list and delete objects, and best sees the versioning.")
        _secretAccessKeyFile = declare.text(
          "secret_access_key_file", "", "File with the key itself; only its owner may read it. Read once, at the start."
        )
        _certificateAuthorities = declare.text(
          "certificate_authorities", "",
          "File with certificates in PEM that are trusted in place of the system's. Empty: the system's.")
        _timeout = declare.duration(
          "timeout", .seconds(20), in: .milliseconds(100) ... .seconds(50), "Time for one call of the store.")
      }
    }

    @Setting public var store: Store
    public var s3: S3

    init(_ declare: inout SettingDeclarations) {
      _store = declare.choice(
        "store", .folder,
        "What keeps the whole pictures of State and Clique: `state.picture_directory`, or a bucket of an S3-compatible store. "
          + "Uploads under way are in the folder in any case.")
      s3 = declare.section("s3", S3.init)
    }
  }
}

extension SettingFaults {
  static func ofStoreEndpoint(_ text: String) -> String? {
    let authority = text.hasPrefix("https://") ? text.dropFirst(8) : text.hasPrefix("http://") ? text.dropFirst(7) : ""
    let isAuthority = authority.utf8.allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && !"/?#@\\\"<>%".utf8.contains(byte)
    }
    if text.isEmpty || !authority.isEmpty && isAuthority { return nil }
    return
      "is \(SettingKey.quote(text)); write scheme, name and port alone, for example \"https://s3.eu-central-1.amazonaws.com\""
  }

  static func ofBucket(_ text: String) -> String? {
    let isBucket = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    if text.isEmpty || isBucket && text.utf8.count <= 255 && !text.hasPrefix(".") { return nil }
    return "is \(SettingKey.quote(text)); write the bucket's name alone: letters, digits, \"-\" and \".\""
  }

  static func ofObjectPrefix(_ text: String) -> String? {
    let isPrefix = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"):
        true
      default: false
      }
    }
    if isPrefix, text.utf8.count <= 256, !text.hasPrefix("/"), !text.contains("//") { return nil }
    return
      "is \(SettingKey.quote(text)); write up to 256 letters, digits, \"-\", \"_\" and \"/\", without \"/\" at its beginning, for example \"fanfare/\""
  }
}
