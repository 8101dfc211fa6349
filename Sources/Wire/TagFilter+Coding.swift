private enum FilterKind: UInt8 {
  case all = 1
  case any, not, equal, oneOf, exists, hasPrefix, hasSuffix, contains, greater, greaterOrEqual, less, lessOrEqual
}

extension TagFilter: ByteEncodable {
  func write(to sink: inout some ByteSink) {
    switch self {
    case .all(let filters): Self.write(.all, filters, to: &sink)
    case .any(let filters): Self.write(.any, filters, to: &sink)
    case .not(let filter):
      sink.write(byte: FilterKind.not.rawValue)
      filter.write(to: &sink)
    case .equal(let key, let value): Self.write(.equal, key, value, to: &sink)
    case .oneOf(let key, let values):
      sink.write(byte: FilterKind.oneOf.rawValue)
      sink.write(key)
      sink.write(UInt64(values.count))
      for value in values { sink.write(value) }
    case .exists(let key):
      sink.write(byte: FilterKind.exists.rawValue)
      sink.write(key)
    case .hasPrefix(let key, let value): Self.write(.hasPrefix, key, value, to: &sink)
    case .hasSuffix(let key, let value): Self.write(.hasSuffix, key, value, to: &sink)
    case .contains(let key, let value): Self.write(.contains, key, value, to: &sink)
    case .number(let key, let comparison, let value):
      let kind: FilterKind =
        switch comparison {
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        }
      Self.write(kind, key, value, to: &sink)
    }
  }

  private static func write(_ kind: FilterKind, _ filters: [TagFilter], to sink: inout some ByteSink) {
    sink.write(byte: kind.rawValue)
    sink.write(UInt64(filters.count))
    for filter in filters { filter.write(to: &sink) }
  }

  private static func write(_ kind: FilterKind, _ key: String, _ value: String, to sink: inout some ByteSink) {
    sink.write(byte: kind.rawValue)
    sink.write(key)
    sink.write(value)
  }
}

extension ByteReader {
  /// Deepest nesting on the link: a client's deepest filter, with a negation around each of its levels, within the
  /// filters that the server adds.
  private static var maximumFilterDepth: Int { 2 * TagFilter.maximumDepth + 8 }

  mutating func readFilter() throws(MalformedMessage) -> TagFilter { try readFilter(depth: 1) }

  private mutating func readFilter(depth: Int) throws(MalformedMessage) -> TagFilter {
    guard depth <= Self.maximumFilterDepth, let kind = FilterKind(rawValue: try readByte()) else {
      throw MalformedMessage()
    }
    switch kind {
    case .all: return .all(try readFilters(depth: depth))
    case .any: return .any(try readFilters(depth: depth))
    case .not: return .not(try readFilter(depth: depth + 1))
    case .equal: return .equal(key: try readString(), try readString())
    case .oneOf:
      let key = try readString()
      var values: [String] = []
      for _ in 0..<(try readCount()) { values.append(try readString()) }
      return .oneOf(key: key, values)
    case .exists: return .exists(key: try readString())
    case .hasPrefix: return .hasPrefix(key: try readString(), try readString())
    case .hasSuffix: return .hasSuffix(key: try readString(), try readString())
    case .contains: return .contains(key: try readString(), try readString())
    case .greater: return .number(key: try readString(), .greater, try readString())
    case .greaterOrEqual: return .number(key: try readString(), .greaterOrEqual, try readString())
    case .less: return .number(key: try readString(), .less, try readString())
    case .lessOrEqual: return .number(key: try readString(), .lessOrEqual, try readString())
    }
  }

  private mutating func readFilters(depth: Int) throws(MalformedMessage) -> [TagFilter] {
    var filters: [TagFilter] = []
    for _ in 0..<(try readCount()) { filters.append(try readFilter(depth: depth + 1)) }
    return filters
  }
}
