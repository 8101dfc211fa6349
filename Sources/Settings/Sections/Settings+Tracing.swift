extension Settings {
  /// What the server measures of itself.
  public struct Metrics: Sendable, Equatable {
    @Setting public var sampleEvery: Int

    init(_ declare: inout SettingDeclarations) {
      _sampleEvery = declare.integer(
        "sample_every", 128, in: 0...1_000_000_000,
        "Every such publication is measured hop by hop, on each event loop and among those of services; 0: none is.")
    }
  }

  /// Traces of publications and calls, sent to a collector.
  public struct Tracing: Sendable, Equatable {
    /// Empty: nothing is traced.
    @Setting public var endpoint: String
    @Setting public var sampleEvery: Int
    /// Names and values of HTTP headers.
    @Setting public var headers: [String]
    @Setting public var timeout: Duration
    @Setting public var maxWaitingSpans: Int
    @Setting public var allowPrivateAddresses: Bool

    init(_ declare: inout SettingDeclarations) {
      _endpoint = declare.text(
        "endpoint", "",
        "Where traces are sent by OTLP/HTTP in JSON, such as `http://127.0.0.1:4318/v1/traces`; empty: nowhere.",
        rule: Self.faultOfEndpoint)
      _sampleEvery = declare.integer(
        "sample_every", 1024, in: 0...1_000_000_000,
        "Every such publication or call of clients is traced, every such publication of services and every such call "
          + "of theirs; those whose sender traces them always are. 0: those alone.")
      _headers = declare.list(
        "headers", "HTTP headers for the collector, each as `name: value`.", rule: HeaderLine.fault(of:))
      _timeout = declare.duration(
        "timeout", .seconds(10), in: .milliseconds(100) ... .minutes(1),
        "Time for the collector to take some spans; then they are dropped.")
      _maxWaitingSpans = declare.integer(
        "max_waiting_spans", 4096, in: 256...1_000_000,
        "Spans that wait for the collector; more are dropped, and fanfare_spans_dropped_total counts them.")
      _allowPrivateAddresses = declare.flag(
        "allow_private_addresses", true,
        "Whether the collector may have an address of this machine or of a private network.")
    }

    private static func faultOfEndpoint(_ text: String) -> String? {
      if text.isEmpty || text.hasPrefix("http://") || text.hasPrefix("https://") { return nil }
      return
        "does not begin with http:// or https://; write an address such as http://127.0.0.1:4318/v1/traces"
    }
  }
}
