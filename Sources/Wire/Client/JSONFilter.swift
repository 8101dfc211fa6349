/// Reads the filter of a JSON subscribe request.
///
/// A filter that makes no sense is no reason to close the connection, as a message that is no JSON is. So the filter is
/// first passed over, as JSON of any shape, and then read by itself.
enum JSONFilter {
  /// Levels of nesting beyond the payload's limit in which a filter is still passed over as JSON: one that is too deep
  /// is refused and does not close the connection.
  private static let moreLevels = 32

  /// Reads a filter, or says why it makes no sense.
  ///
  /// - Throws: where there is no JSON value.
  static func read(_ cursor: inout JSONCursor) throws(MalformedInput) -> Result<FilterNode, ClientError> {
    let start = cursor.index
    try cursor.skipValue(depth: -moreLevels)
    let bytes = cursor.bytes(from: start)
    return unsafe bytes.withUnsafeBytes { bytes in
      var content = unsafe JSONCursor(bytes)
      var nodes = 0
      return Result { () throws(ClientError) in try node(&content, depth: 1, &nodes) }
    }
  }

  private static func node(
    _ cursor: inout JSONCursor, depth: Int, _ nodes: inout Int
  ) throws(ClientError) -> FilterNode {
    // Checked here as well as with the rest, so that no tree is built that cannot be right.
    if depth > TagFilter.maximumDepth {
      throw TagFilter.refusal("is nested deeper than \(TagFilter.maximumDepth) levels; flatten it")
    }
    nodes += 1
    if nodes > TagFilter.maximumNodes {
      throw TagFilter.refusal("has more than \(TagFilter.maximumNodes) nodes; use \"in\" for many values")
    }
    var node = FilterNode()
    var seen: Set<String> = []
    guard cursor.consume(UInt8(ascii: "{")) else { throw TagFilter.refusal("must be an object of \"op\" or \"cmp\"") }
    try members(&cursor, until: UInt8(ascii: "}")) { (cursor) throws(ClientError) in
      let key = try text(&cursor, "a key")
      cursor.skipWhitespace()
      _ = cursor.consume(UInt8(ascii: ":"))
      cursor.skipWhitespace()
      if !seen.insert(key).inserted { throw TagFilter.refusal("has a key twice in one object; leave one out") }
      if cursor.next == UInt8(ascii: "n") { return try skip(&cursor) }
      switch key {
      case "op": node.op = try text(&cursor, "\"op\"")
      case "key": node.key = try text(&cursor, "\"key\"")
      case "cmp": node.cmp = try text(&cursor, "\"cmp\"")
      case "val": node.val = try text(&cursor, "\"val\"")
      case "vals":
        try list(&cursor, "\"vals\"") { (cursor) throws(ClientError) in
          node.vals.append(try text(&cursor, "each of \"vals\""))
        }
      case "nodes":
        try list(&cursor, "\"nodes\"") { (cursor) throws(ClientError) in
          node.nodes.append(try self.node(&cursor, depth: depth + 1, &nodes))
        }
      default: try skip(&cursor)
      }
    }
    return node
  }

  private static func list(
    _ cursor: inout JSONCursor, _ name: StaticString, _ element: (inout JSONCursor) throws(ClientError) -> Void
  ) throws(ClientError) {
    guard cursor.consume(UInt8(ascii: "[")) else { throw TagFilter.refusal("has \(name) that is no list; write one") }
    try members(&cursor, until: UInt8(ascii: "]"), element)
  }

  /// Reads the members between the brackets, which are known to be JSON.
  private static func members(
    _ cursor: inout JSONCursor, until end: UInt8, _ member: (inout JSONCursor) throws(ClientError) -> Void
  ) throws(ClientError) {
    cursor.skipWhitespace()
    while !cursor.isAtEnd, !cursor.consume(end) {
      try member(&cursor)
      cursor.skipWhitespace()
      _ = cursor.consume(UInt8(ascii: ","))
      cursor.skipWhitespace()
    }
  }

  private static func text(_ cursor: inout JSONCursor, _ name: StaticString) throws(ClientError) -> String {
    guard cursor.next == UInt8(ascii: "\""), let text = try? cursor.readString() else {
      throw TagFilter.refusal("has \(name) that is no string; write it in quotes")
    }
    return text
  }

  private static func skip(_ cursor: inout JSONCursor) throws(ClientError) {
    do { try cursor.skipValue(depth: 0) } catch { throw TagFilter.refusal("is nested too deeply; flatten it") }
  }
}

extension ClientCommand.Subscribe {
  mutating func setFilter(_ node: Result<FilterNode, ClientError>) {
    do throws(ClientError) { filter = try TagFilter(try node.get()) } catch { refusal = error }
  }
}

extension ClientCommand.Publish {
  /// Makes the publish one on a map where any of these fields says so, so that none of them is passed over. A score of
  /// 0 is none, as in Protobuf, which cannot tell the two apart.
  mutating func setMap(type: Int32, key: String, removed: Bool, score: Int64) {
    if type == 0, key.isEmpty, !removed, score == 0 { return }
    map = MapWrite(key: key, removed: removed, score: score == 0 ? nil : score)
  }
}
