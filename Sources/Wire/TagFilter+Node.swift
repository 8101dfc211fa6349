/// A filter as clients write it: a tree of nodes with all fields of all kinds.
///
/// Source: the client protocol's `FilterNode`.
struct FilterNode: Equatable {
  /// How the nodes below are joined; empty: the node is a comparison.
  var op = ""
  var key = ""
  var cmp = ""
  var val = ""
  var vals: [String] = []
  var nodes: [FilterNode] = []
}

extension TagFilter {
  /// Deepest nesting of a client's filter, its outermost node included.
  public static let maximumDepth = 16
  /// Most nodes of a client's filter.
  public static let maximumNodes = 100
  /// Most values in all lists of a client's filter: each publication is compared with every one.
  public static let maximumValues = 1_000

  /// Longest key and longest value of a client's filter, in bytes of UTF-8.
  public static let maximumTextBytes = 1_024
  /// Bytes of UTF-8 of all keys and values of a client's filter together: the filter is kept for as long as the
  /// subscription, and each publication is compared with it.
  public static let maximumBytes = 16_384

  /// Longest text that is looked for anywhere in a tag, in bytes of UTF-8: the search takes as long as the product of
  /// both lengths.
  public static let maximumContained = 256

  /// - Throws: error 107, with a sentence that says what to change.
  init(_ node: FilterNode) throws(ClientError) {
    var (nodes, values, bytes) = (0, 0, 0)
    self = try Self.filter(node, depth: 1, &nodes, &values, &bytes)
  }

  private static func measure(_ node: FilterNode, _ bytes: inout Int) throws(ClientError) {
    for text in [node.key, node.val] + node.vals {
      let count = text.utf8.count
      if count > maximumTextBytes { throw refusal("has a key or a value of more than \(maximumTextBytes) bytes") }
      bytes += count
    }
    if bytes > maximumBytes { throw refusal("has more than \(maximumBytes) bytes of keys and values; make it shorter") }
  }

  private static func filter(
    _ node: FilterNode, depth: Int, _ nodes: inout Int, _ values: inout Int, _ bytes: inout Int
  ) throws(ClientError) -> TagFilter {
    if depth > maximumDepth { throw refusal("is nested deeper than \(maximumDepth) levels; flatten it") }
    nodes += 1
    try measure(node, &bytes)
    if nodes > maximumNodes { throw refusal("has more than \(maximumNodes) nodes; use \"in\" for many values") }
    values += node.vals.count
    if values > maximumValues { throw refusal("has more than \(maximumValues) values; make it shorter") }
    if node.op.isEmpty { return try comparison(node) }
    guard node.key.isEmpty, node.cmp.isEmpty, node.val.isEmpty, node.vals.isEmpty else {
      throw refusal("has a node with both \"op\" and a comparison; put the comparison into \"nodes\"")
    }
    var filters: [TagFilter] = []
    for child in node.nodes { filters.append(try filter(child, depth: depth + 1, &nodes, &values, &bytes)) }
    switch node.op {
    case "and", "or":
      if filters.isEmpty { throw refusal("has \"\(node.op)\" without \"nodes\"; give it at least one") }
      return node.op == "and" ? .all(filters) : .any(filters)
    case "not":
      guard filters.count == 1 else { throw refusal("has \"not\" with other than one of \"nodes\"; give it one") }
      return .not(filters[0])
    default: throw refusal("has an unknown \"op\"; use \"and\", \"or\", \"not\", or none for a comparison")
    }
  }

  private static func comparison(_ node: FilterNode) throws(ClientError) -> TagFilter {
    if !node.nodes.isEmpty { throw refusal("has \"nodes\" without \"op\"; say \"and\", \"or\" or \"not\"") }
    if node.cmp.isEmpty { throw refusal("has a node without \"op\" and \"cmp\"; say what it compares") }
    if node.key.isEmpty { throw refusal("has a comparison without \"key\"; name the tag") }
    switch node.cmp {
    case "in", "nin":
      guard !node.vals.isEmpty, node.val.isEmpty else {
        throw refusal("has \"\(node.cmp)\" otherwise than with \"vals\" alone; list the values there")
      }
      return node.cmp == "in" ? .oneOf(key: node.key, node.vals) : .not(.oneOf(key: node.key, node.vals))
    case "ex", "nex":
      guard node.val.isEmpty, node.vals.isEmpty else {
        throw refusal("has \"\(node.cmp)\" with \"val\" or \"vals\"; leave them out")
      }
      return node.cmp == "ex" ? .exists(key: node.key) : .not(.exists(key: node.key))
    default: return try comparisonWithValue(node)
    }
  }

  private static func comparisonWithValue(_ node: FilterNode) throws(ClientError) -> TagFilter {
    let filter: TagFilter
    switch node.cmp {
    case "eq": filter = .equal(key: node.key, node.val)
    case "neq": filter = .not(.equal(key: node.key, node.val))
    case "sw": filter = .hasPrefix(key: node.key, node.val)
    case "ew": filter = .hasSuffix(key: node.key, node.val)
    case "ct": filter = .contains(key: node.key, node.val)
    default:
      guard let comparison = NumberComparison(rawValue: node.cmp) else {
        throw refusal(
          "has an unknown \"cmp\"; use \"eq\", \"neq\", \"in\", \"nin\", \"ex\", \"nex\", \"sw\", \"ew\", \"ct\", \"gt\", "
            + "\"gte\", \"lt\" or \"lte\"")
      }
      filter = .number(key: node.key, comparison, node.val)
    }
    guard !node.val.isEmpty, node.vals.isEmpty else {
      throw refusal("has \"\(node.cmp)\" otherwise than with \"val\" alone; put the value there")
    }
    if case .number = filter, !DecimalText.isDecimal(node.val) {
      throw refusal("has \"\(node.cmp)\" with a \"val\" that is no decimal number; write one like \"-12.5\"")
    }
    if case .contains = filter, node.val.utf8.count > maximumContained {
      throw refusal("has \"ct\" with a \"val\" of more than \(maximumContained) bytes; look for less")
    }
    return filter
  }

  /// - Parameter what: the rest of a sentence that begins with "the filter".
  static func refusal(_ what: String) -> ClientError { .badRequest.saying("the filter \(what)") }
}
