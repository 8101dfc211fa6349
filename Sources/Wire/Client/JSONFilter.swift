/// Reads the filter of a JSON subscribe request.
///
/// A filter that makes no sense is no reason to close the connection, as a message that is no JSON is. So it is passed
/// over first, as JSON of any shape, and then read by itself.
enum JSONFilter {
  /// A filter as deep as is allowed, or far deeper, is JSON nonetheless.
  private static let moreLevels = 32

  /// - Throws: where there is no JSON value.
  static func read(_ scanner: inout JSONScanner) throws(CommandError) -> Result<FilterNode, ClientError> {
    let start = scanner.index
    try scanner.skipValue(depth: -moreLevels)
    let bytes = scanner.bytes(from: start)
    return unsafe bytes.withUnsafeBytes { bytes in
      var content = unsafe JSONScanner(bytes)
      var nodes = 0
      return Result { () throws(ClientError) in try node(&content, depth: 1, &nodes) }
    }
  }

  private static func node(
    _ scanner: inout JSONScanner, depth: Int, _ nodes: inout Int
  ) throws(ClientError) -> FilterNode {
    // Checked again with the rest; here so that nothing is put together that cannot be right.
    if depth > TagFilter.maximumDepth {
      throw TagFilter.refusal("is nested deeper than \(TagFilter.maximumDepth) levels; flatten it")
    }
    nodes += 1
    if nodes > TagFilter.maximumNodes {
      throw TagFilter.refusal("has more than \(TagFilter.maximumNodes) nodes; use \"in\" for many values")
    }
    var node = FilterNode()
    var seen: Set<String> = []
    guard scanner.consume(UInt8(ascii: "{")) else { throw TagFilter.refusal("must be an object of \"op\" or \"cmp\"") }
    try members(&scanner, until: UInt8(ascii: "}")) { (scanner) throws(ClientError) in
      let key = try text(&scanner, "a key")
      scanner.skipWhitespace()
      _ = scanner.consume(UInt8(ascii: ":"))
      scanner.skipWhitespace()
      if !seen.insert(key).inserted { throw TagFilter.refusal("has a key twice in one object; leave one out") }
      if scanner.next == UInt8(ascii: "n") { return try skip(&scanner) }
      switch key {
      case "op": node.op = try text(&scanner, "\"op\"")
      case "key": node.key = try text(&scanner, "\"key\"")
      case "cmp": node.cmp = try text(&scanner, "\"cmp\"")
      case "val": node.val = try text(&scanner, "\"val\"")
      case "vals":
        try list(&scanner, "\"vals\"") { (scanner) throws(ClientError) in
          node.vals.append(try text(&scanner, "each of \"vals\""))
        }
      case "nodes":
        try list(&scanner, "\"nodes\"") { (scanner) throws(ClientError) in
          node.nodes.append(try self.node(&scanner, depth: depth + 1, &nodes))
        }
      default: try skip(&scanner)
      }
    }
    return node
  }

  private static func list(
    _ scanner: inout JSONScanner, _ name: StaticString, _ element: (inout JSONScanner) throws(ClientError) -> Void
  ) throws(ClientError) {
    guard scanner.consume(UInt8(ascii: "[")) else { throw TagFilter.refusal("has \(name) that is no list; write one") }
    try members(&scanner, until: UInt8(ascii: "]"), element)
  }

  /// What stands between the brackets. That it is JSON is known.
  private static func members(
    _ scanner: inout JSONScanner, until end: UInt8, _ member: (inout JSONScanner) throws(ClientError) -> Void
  ) throws(ClientError) {
    scanner.skipWhitespace()
    while !scanner.isAtEnd, !scanner.consume(end) {
      try member(&scanner)
      scanner.skipWhitespace()
      _ = scanner.consume(UInt8(ascii: ","))
      scanner.skipWhitespace()
    }
  }

  private static func text(_ scanner: inout JSONScanner, _ name: StaticString) throws(ClientError) -> String {
    guard scanner.next == UInt8(ascii: "\""), let text = try? scanner.readString() else {
      throw TagFilter.refusal("has \(name) that is no string; write it in quotes")
    }
    return text
  }

  private static func skip(_ scanner: inout JSONScanner) throws(ClientError) {
    do { try scanner.skipValue(depth: 0) } catch { throw TagFilter.refusal("is nested too deeply; flatten it") }
  }
}

extension ClientCommand.Subscribe {
  mutating func setFilter(_ node: Result<FilterNode, ClientError>) {
    do throws(ClientError) { filter = try TagFilter(try node.get()) } catch { refusal = error }
  }
}

extension ClientCommand.Publish {
  /// Whatever is said of a map makes it a map's publish, so that nothing of it is passed over. A score of 0 is none, as
  /// in Protobuf, which cannot tell the two apart.
  mutating func setMap(type: Int32, key: String, removed: Bool, score: Int64) {
    if type == 0, key.isEmpty, !removed, score == 0 { return }
    map = MapWrite(key: key, removed: removed, score: score == 0 ? nil : score)
  }
}
