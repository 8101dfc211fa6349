import TestSupport
import Testing

@testable import ObjectStore

@Suite("Answers of an object store")
struct StoreAnswerTests {
  /// As AWS writes it.
  private static let page = """
    <?xml version="1.0" encoding="UTF-8"?>
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>pictures</Name><Prefix>p%2F</Prefix>\
    <NextContinuationToken>1ueGcx&amp;PXTx==</NextContinuationToken><KeyCount>2</KeyCount><MaxKeys>2</MaxKeys>\
    <IsTruncated>true</IsTruncated><EncodingType>url</EncodingType><Contents><Key>p/a%2Eb%20c</Key>\
    <LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;70ee&quot;</ETag><Size>5</Size>\
    <StorageClass>STANDARD</StorageClass></Contents><Contents><Key>p/%C3%BC</Key><Size>6</Size></Contents>
    </ListBucketResult>
    """

  private func page(_ text: String) throws -> ObjectPage { try ObjectPage(Array(text.utf8)) }

  @Test("a page has the names, and what asks for the next")
  func pages() throws {
    #expect(try page(Self.page) == ObjectPage(names: ["p/a.b c", "p/ü"], next: "1ueGcx&PXTx=="))
    let last =
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a%41</Key></Contents></ListBucketResult>"
    #expect(try page(last) == ObjectPage(names: ["a%41"], next: nil), "not encoded where it does not say so")
    #expect(try page("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>").names == [])
  }

  @Test(
    "a page that does not say clearly what there is and whether more follows is none",
    arguments: [
      "", "<", "<ListBucketResult/>", "<ListBucketResult></ListBucketResult>", "<Error><Code>a</Code></Error>",
      "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken/></ListBucketResult>",
      "<ListBucketResult><IsTruncated>perhaps</IsTruncated></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><IsTruncated>true</IsTruncated></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents></Contents></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Key>b</Key></Contents></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>x",
      "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult><a/>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType><Contents><Key>%4</Key></Contents></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType><Contents><Key>%+4</Key></Contents></ListBucketResult>",
      "<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType><Contents><Key>%FF</Key></Contents></ListBucketResult>",
    ])
  func unclear(text: String) { #expect(throws: XMLFault.self) { try page(text) } }

  @Test("a page that is cut off anywhere is none")
  func drip() throws {
    let bytes = Array(Self.page.utf8)
    for count in 0..<bytes.count { #expect(throws: XMLFault.self) { try ObjectPage(Array(bytes[..<count])) } }
  }

  @Test("whatever is changed in a page is read or refused, and never a name that nobody gave", arguments: 0..<200)
  func fuzz(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var bytes = Array(Self.page.utf8)
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0...2, using: &generator) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
      case 1: bytes.remove(at: place)
      default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 40)], at: place)
      }
    }
    guard let page = try? ObjectPage(bytes) else { return }
    #expect(page.names.count <= 5 && page.names.allSatisfy { !$0.isEmpty } && page.next != "")
  }

  @Test(
    "what XML could do beyond elements and text is refused",
    arguments: [
      "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "<a>&b;</a>", "<a><!-- b --></a>",
      "<a><![CDATA[b]]></a>", "<a><?b c?></a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&#-1;</a>",
      "<a>&#;</a>", "<a>&#x;</a>", "<a>&amp</a>", "<a>&toolongname;</a>", "<a><b></a></b>", "<a></b>", "<a b></a>",
      "<a b=c></a>", "<a b=\"<\"></a>", "<a b=\"c\"d=\"e\"></a>", "< a/>", "<1/>", "<a>\u{1}</a>", "a", "<a/><?xml?>",
    ])
  func refused(text: String) { #expect(throws: XMLFault.self) { try XMLReader.read(Array(text.utf8)) } }

  @Test("elements, attributes, entities and text are read")
  func read() throws {
    let text = "\u{FEFF}<?xml version='1.0'?>\n<a b = \"c\" d='>'></a>"
    #expect(throws: XMLFault.self) { try XMLReader.read(Array(text.utf8)) }
    let root = try XMLReader.read(
      Array("\u{FEFF}<?xml version='1.0'?>\n<a b=\"c\" d='>'>x&lt;&#x1F600;&#10;<c/> y</a >\n".utf8))
    #expect(root == XMLElement(name: "a", children: [XMLElement(name: "c")], text: "x<😀\n y"))
    #expect(throws: XMLFault.self) { try XMLReader.read([0x3C, 0x61, 0x3E, 0xFF] + Array("</a>".utf8)) }
  }

  @Test("a document is bounded in depth and in elements")
  func bounds() throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)).utf8)
    }
    _ = try XMLReader.read(nested(XMLReader.mostDepth))
    #expect(throws: XMLFault.self) { try XMLReader.read(nested(XMLReader.mostDepth + 1)) }
    func wide(_ count: Int) -> [UInt8] { Array(("<a>" + String(repeating: "<b/>", count: count) + "</a>").utf8) }
    _ = try XMLReader.read(wide(XMLReader.mostElements - 1))
    #expect(throws: XMLFault.self) { try XMLReader.read(wide(XMLReader.mostElements)) }
  }

  @Test("versions are off where nothing is said of them, and whoever says something else says nothing")
  func versioning() throws {
    func read(_ inner: String) throws -> BucketVersioning {
      try BucketVersioning(Array("<VersioningConfiguration>\(inner)</VersioningConfiguration>".utf8))
    }
    #expect(try read("") == .off)
    #expect(try read("<Status>Enabled</Status>") == .on)
    #expect(try read("<Status>Suspended</Status><MfaDelete>Disabled</MfaDelete>") == .suspended)
    #expect(throws: XMLFault.self) { try read("<Status>enabled</Status>") }
    #expect(throws: XMLFault.self) { try BucketVersioning(Array("<html></html>".utf8)) }
  }

  @Test("a part of an object says which it is")
  func ranges() {
    let range = ContentRange("bytes 0-83/1000")
    #expect(range?.first == 0 && range?.last == 83 && range?.total == 1000)
    for text in [
      nil, "", "bytes", "bytes 0-83", "bytes 0-83/*", "bytes */1000", "bytes 83-0/1000", "bytes 0-1000/1000",
      "bytes -1-83/1000", "bytes 0-83/1000/1", "items 0-83/1000", "bytes 0-8x/1000", "bytes 0-99999999999999999999/1",
    ] {
      #expect(ContentRange(text) == nil)
    }
  }

  @Test("an error says whether the object is not there, or something else")
  func errors() {
    func fault(_ status: Int, _ code: String?) -> ObjectStoreFault {
      ObjectStore.fault(
        status: status,
        Array((code.map { "<Error><Code>\($0)</Code><Message>m\nn</Message></Error>" } ?? "<html>").utf8))
    }
    #expect(fault(404, "NoSuchKey") == .missing)
    #expect(fault(416, "InvalidRange") == .outside)
    for (status, code) in [
      (404, "NoSuchBucket"), (403, "SignatureDoesNotMatch"), (403, "RequestTimeTooSkewed"), (301, "PermanentRedirect"),
      (400, "InvalidBucketName"), (404, nil),
    ] {
      guard case .refused(let sentence) = fault(status, code) else {
        Issue.record("\(status) \(code ?? "") is \(fault(status, code))")
        continue
      }
      #expect(!sentence.contains("\n") && sentence.contains(code ?? "404"))
    }
    for (status, code) in [(403, "AccessDenied"), (403, nil), (501, "NotImplemented"), (405, "MethodNotAllowed")] {
      guard case .notAllowed = fault(status, code) else {
        Issue.record("\(status) \(code ?? "") is \(fault(status, code))")
        continue
      }
    }
    for (status, code) in [(503, "SlowDown"), (500, "InternalError"), (502, nil), (429, nil), (200, nil)] {
      #expect(fault(status, code).leavesDoubt)
    }
  }
}
