import Settings
import Testing

@Suite("Settings of traces")
struct TracingSettingsTests {
  @Test("A collector's headers are read as those of proxies are")
  func headers() throws {
    let settings = try load(#"{"tracing": {"headers": ["x-api.key:  a:b \t", "authorization: Bearer c"]}}"#)
    let headers = settings.tracing.headers.compactMap { HeaderLine($0) }
    #expect(headers.map(\.name) == ["x-api.key", "authorization"])
    #expect(headers.map(\.value) == ["a:b", "Bearer c"], "nothing around a value is sent")
  }

  @Test(
    "Headers of the connection itself, and what is no header, are refused without their values",
    arguments: [
      "hidden", "a b: hidden", ": hidden", "Host: hidden", "content-type: hidden", "x: hidden\\n", "x: hiddené",
    ])
  func refused(_ header: String) {
    let found = problems(#"{"tracing": {"headers": ["\#(header)"]}}"#)
    #expect(found.count == 1 && found[0].contains("tracing.headers"), "\(found)")
    #expect(!found.joined().contains("hidden"))
  }
}
