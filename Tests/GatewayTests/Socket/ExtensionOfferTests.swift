import Testing

@testable import Gateway

@Suite("Extensions that clients offer")
struct ExtensionOfferTests {
  @Test(
    "a header is read as a list of extensions with parameters",
    arguments: [
      ("", []), (" , ,", []), ("a", [.init(name: "a")]), ("a,b", [.init(name: "a"), .init(name: "b")]),
      (",a ,, b,", [.init(name: "a"), .init(name: "b")]),
      ("a;x", [.init(name: "a", parameters: [.init(name: "x")])]),
      ("a ; x = 1 ;\ty", [.init(name: "a", parameters: [.init(name: "x", value: "1"), .init(name: "y")])]),
      (#"a; x="10", b"#, [.init(name: "a", parameters: [.init(name: "x", value: "10")]), .init(name: "b")]),
      (#"a; x="1\0""#, [.init(name: "a", parameters: [.init(name: "x", value: "10")])]),
    ] as [(String, [ExtensionOffer])])
  func list(header: String, expected: [ExtensionOffer]) {
    #expect(ExtensionOffer.list(header) == expected)
  }

  @Test(
    "a header that is none is refused",
    arguments: [
      "a b", "a;", "a;;x", "a; =1", "a; x=", "a; x=1 2", #"a; x="1"#, #"a; x="""#, #"a; x="1\"#, #"a; x="1,2""#,
      #"a; x="1"2"#, "(a)", "a=1", ";x", "a; x=1=2", "caf\u{E9}", #""a""#, "a\u{0}",
    ])
  func malformed(header: String) {
    #expect(ExtensionOffer.list(header) == nil)
  }

  private static let answer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

  @Test(
    "the first offer that can be accepted is, without contexts that are taken over, and within the limit that it names",
    arguments: [
      ("permessage-deflate", answer, .large),
      ("permessage-deflate; client_max_window_bits", answer, .large),
      ("permessage-deflate; client_max_window_bits=8", answer, .large),
      ("permessage-deflate; client_no_context_takeover; server_no_context_takeover", answer, .large),
      ("permessage-deflate; server_max_window_bits=15", answer + "; server_max_window_bits=15", .large),
      ("permessage-deflate; server_max_window_bits=14", answer + "; server_max_window_bits=12", .medium),
      (#"permessage-deflate; server_max_window_bits="12""#, answer + "; server_max_window_bits=12", .medium),
      ("permessage-deflate; server_max_window_bits=11", answer + "; server_max_window_bits=9", .small),
      ("permessage-deflate; server_max_window_bits=9", answer + "; server_max_window_bits=9", .small),
      ("x-webkit-deflate-frame, permessage-deflate", answer, .large),
      ("permessage-deflate; server_max_window_bits=8, permessage-deflate", answer, .large),
      (
        "permessage-deflate; unknown, permessage-deflate; server_max_window_bits=10",
        answer + "; server_max_window_bits=9", .small
      ),
    ] as [(String, String, DeflateWindow)])
  func accepted(header: String, answer: String, window: DeflateWindow) throws {
    let offers = try #require(ExtensionOffer.list(header))
    let agreement = try #require(DeflateAgreement(offers))
    #expect(agreement.answer == answer)
    #expect(agreement.window == window)
  }

  @Test(
    "an offer with a parameter that is unknown, comes twice or has a wrong value is declined",
    arguments: [
      "", "permessage-bzip2", "Permessage-Deflate", "permessage-deflate; unknown",
      "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=8",
      "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=09",
      "permessage-deflate; server_max_window_bits=+9", "permessage-deflate; server_max_window_bits=x",
      "permessage-deflate; client_max_window_bits=7", "permessage-deflate; client_max_window_bits=16",
      "permessage-deflate; client_max_window_bits=010", "permessage-deflate; client_no_context_takeover=1",
      "permessage-deflate; server_no_context_takeover=0",
      "permessage-deflate; client_max_window_bits; client_max_window_bits=10",
    ])
  func declined(header: String) throws {
    let offers = try #require(ExtensionOffer.list(header))
    #expect(DeflateAgreement(offers) == nil)
  }
}
