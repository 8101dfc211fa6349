extension TagFilter {
  /// Reads a filter that stands by itself, in the JSON of a subscribe's `tf`.
  ///
  /// - Throws: error 107 with a sentence.
  public init(json: [UInt8]) throws(ClientError) {
    do { try JSONSyntax.check(json) } catch { throw Self.refusal("is not JSON: \(error.description)") }
    let node = unsafe json.withUnsafeBytes { bytes -> Result<FilterNode, ClientError> in
      var cursor = unsafe JSONCursor(bytes)
      cursor.skipWhitespace()
      do throws(MalformedInput) { return try JSONFilter.read(&cursor) } catch {
        return .failure(Self.refusal("is not JSON: \(error.description)"))
      }
    }
    self = try TagFilter(try node.get())
  }
}
