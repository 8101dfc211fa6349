import Wire

/// Writes spans as OTLP/HTTP takes them in JSON (opentelemetry-proto 1, `ExportTraceServiceRequest`): ids in
/// hexadecimal, times as strings of nanoseconds since 1970.
public struct SpanEncoder: Sendable {
  /// What the spans are of: `service.name` and `service.version`.
  private let resource: [(String, String)]
  /// Nanoseconds to add to `CLOCK_MONOTONIC` for the time since 1970.
  public var epoch: UInt64

  public init(service: String, version: String, instance: String, epoch: UInt64 = 0) {
    resource = [("service.name", service), ("service.version", version), ("service.instance.id", instance)]
    self.epoch = epoch
  }

  /// The body of one request.
  public func body(_ spans: some Sequence<Span>) -> [UInt8] {
    let attributes = resource.map { Self.attribute($0.0, string: $0.1) }.joined(separator: ",")
    let list = spans.map { span($0) }.joined(separator: ",")
    return Array(
      """
      {"resourceSpans":[{"resource":{"attributes":[\(attributes)]},"scopeSpans":[{"scope":{"name":"fanfare"},\
      "spans":[\(list)]}]}]}
      """.utf8)
  }

  private func span(_ span: Span) -> String {
    var text = "{\"traceId\":\"\(span.context.traceID)\",\"spanId\":\"\(TraceContext.hexadecimal(span.context.span))\""
    if let parent = span.parent { text += ",\"parentSpanId\":\"\(TraceContext.hexadecimal(parent))\"" }
    text += ",\"name\":\(Self.quoted(span.name)),\"kind\":\(span.kind.rawValue)"
    text += ",\"startTimeUnixNano\":\"\(epoch &+ span.start)\",\"endTimeUnixNano\":\"\(epoch &+ span.end)\""
    var attributes: [String] = []
    if let namespace = span.attributes.namespace {
      attributes.append(Self.attribute("fanfare.namespace", string: namespace))
    }
    if let offset = span.attributes.offset {
      attributes.append(Self.attribute("fanfare.offset", number: offset))
    }
    if let method = span.attributes.method { attributes.append(Self.attribute("fanfare.method", string: method)) }
    if let failure = span.attributes.failure {
      attributes.append(Self.attribute("fanfare.error", number: UInt64(failure)))
    }
    if !attributes.isEmpty { text += ",\"attributes\":[\(attributes.joined(separator: ","))]" }
    // STATUS_CODE_ERROR; of what went well the status is left out.
    if span.attributes.failure != nil { text += ",\"status\":{\"code\":2}" }
    return text + "}"
  }

  private static func attribute(_ key: String, string value: String) -> String {
    "{\"key\":\(quoted(key)),\"value\":{\"stringValue\":\(quoted(value))}}"
  }

  private static func attribute(_ key: String, number value: UInt64) -> String {
    "{\"key\":\(quoted(key)),\"value\":{\"intValue\":\"\(value)\"}}"
  }

  /// A JSON string.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
