import Testing
import Wire

@Suite("A filter that stands by itself")
struct LoneFilterTests {
  private func filter(_ json: String) throws(ClientError) -> TagFilter { try TagFilter(json: Array(json.utf8)) }

  @Test("It is read as that of a subscribe")
  func read() throws {
    #expect(try filter(#"{"key":"user","cmp":"eq","val":"ada"}"#) == .equal(key: "user", "ada"))
    #expect(
      try filter(#" {"op":"not","nodes":[{"key":"a","cmp":"ex"}]} "#) == .not(.exists(key: "a")))
  }

  @Test(
    "What makes no sense is refused with a sentence",
    arguments: ["", "{", "[]", "1", "{}", #"{"key":"a","cmp":"eq","val":1}"#, #"{"key":"a","cmp":"ex"} x"#])
  func refused(_ json: String) {
    let error = #expect(throws: ClientError.self) { try filter(json) }
    #expect(error?.code == 107 && error?.message.hasPrefix("the filter ") == true)
  }
}
