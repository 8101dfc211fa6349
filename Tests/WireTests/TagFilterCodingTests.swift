import Testing

@testable import Wire

@Suite("Tag filters, written and read")
struct TagFilterCodingTests {
  private func read(_ bytes: [UInt8]) throws(MalformedMessage) -> TagFilter {
    var reader = ByteReader(bytes)
    let filter = try reader.readFilter()
    try reader.requireEnd()
    return filter
  }

  @Test("come back from the backbone as they were")
  func roundTrip() throws {
    var random = SeededRandom(seed: 42)
    for _ in 0..<2_000 {
      let filter = TagFilterSamples.filter(depth: 6, using: &random)
      #expect(try read(filter.encoded) == filter)
    }
  }

  @Test("are refused where bytes are missing or left over")
  func damaged() throws {
    var random = SeededRandom(seed: 43)
    for _ in 0..<200 {
      let bytes = TagFilterSamples.filter(using: &random).encoded
      for count in 0..<bytes.count {
        #expect(throws: MalformedMessage.self) { _ = try read(Array(bytes[..<count])) }
      }
      #expect(throws: MalformedMessage.self) { _ = try read(bytes + [0]) }
    }
  }

  @Test("survive any bytes")
  func noise() {
    var random = SeededRandom(seed: 44)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
        UInt8.random(in: 0..<15, using: &random)
      }
      if let filter = try? read(bytes) { #expect((try? read(filter.encoded)) == filter) }
    }
  }

  @Test("are refused where they are nested deeper than any of ours")
  func depth() throws {
    let leaf: [UInt8] = TagFilter.exists(key: "a").encoded
    #expect(throws: Never.self) { _ = try read([UInt8](repeating: 3, count: 2 * TagFilter.maximumDepth) + leaf) }
    #expect(throws: MalformedMessage.self) { _ = try read([UInt8](repeating: 3, count: 100_000) + leaf) }
  }

  // MARK: As clients write them

  private static func leaf(_ cmp: String, _ val: String = "", _ vals: [String] = []) -> FilterNode {
    FilterNode(key: "k", cmp: cmp, val: val, vals: vals)
  }

  @Test(
    "mean what the client protocol says",
    arguments: [
      (leaf("eq", "v"), TagFilter.equal(key: "k", "v")), (leaf("neq", "v"), .not(.equal(key: "k", "v"))),
      (leaf("in", "", ["v", "w"]), .oneOf(key: "k", ["v", "w"])),
      (leaf("nin", "", ["v"]), .not(.oneOf(key: "k", ["v"]))),
      (leaf("ex"), .exists(key: "k")), (leaf("nex"), .not(.exists(key: "k"))),
      (leaf("sw", "v"), .hasPrefix(key: "k", "v")), (leaf("ew", "v"), .hasSuffix(key: "k", "v")),
      (leaf("ct", "v"), .contains(key: "k", "v")), (leaf("gt", "1"), .number(key: "k", .greater, "1")),
      (leaf("gte", "1"), .number(key: "k", .greaterOrEqual, "1")),
      (leaf("lt", "-1.5"), .number(key: "k", .less, "-1.5")),
      (leaf("lte", "1"), .number(key: "k", .lessOrEqual, "1")),
      (FilterNode(op: "and", nodes: [leaf("ex")]), .all([.exists(key: "k")])),
      (FilterNode(op: "or", nodes: [leaf("ex"), leaf("ex")]), .any([.exists(key: "k"), .exists(key: "k")])),
      (FilterNode(op: "not", nodes: [leaf("ex")]), .not(.exists(key: "k"))),
    ])
  func meaning(_ node: FilterNode, _ filter: TagFilter) throws {
    #expect(try TagFilter(node) == filter)
    // A condition that negates is true where the tag is missing.
    #expect(filter.matches(Publication(data: [])) == ["neq", "nin", "nex"].contains(node.cmp) || node.op == "not")
  }

  @Test(
    "are refused with a sentence where they mean nothing",
    arguments: [
      (FilterNode(), "\"op\" and \"cmp\""), (FilterNode(cmp: "eq", val: "v"), "\"key\""), (leaf("eq"), "\"val\""),
      (leaf("eq", "v", ["w"]), "\"val\""), (leaf("sw"), "\"val\""), (leaf("in"), "\"vals\""),
      (leaf("nin", "v", ["w"]), "\"vals\""), (leaf("ex", "v"), "leave them out"),
      (leaf("nex", "", ["v"]), "leave them out"),
      (leaf("is", "v"), "unknown \"cmp\""), (leaf("gt", "1e3"), "decimal"), (leaf("lte", ""), "\"val\""),
      (FilterNode(op: "and"), "at least one"), (FilterNode(op: "or"), "at least one"),
      (FilterNode(op: "not"), "give it one"),
      (FilterNode(op: "not", nodes: [leaf("ex"), leaf("ex")]), "give it one"),
      (FilterNode(op: "xor", nodes: [leaf("ex")]), "unknown \"op\""),
      (FilterNode(op: "and", key: "k", nodes: [leaf("ex")]), "both"),
      (FilterNode(key: "k", cmp: "ex", nodes: [leaf("ex")]), "without \"op\""),
    ])
  func refused(_ node: FilterNode, _ part: String) throws {
    let error = try #require(throws: ClientError.self) { _ = try TagFilter(node) }
    #expect(error.code == 107)
    #expect(error.message.contains(part), "\(error)")
  }

  @Test("have limits, up to which they are taken")
  func limits() throws {
    func nested(_ depth: Int) -> FilterNode {
      (1..<depth).reduce(Self.leaf("ex")) { node, _ in FilterNode(op: "not", nodes: [node]) }
    }
    func wide(_ count: Int) -> FilterNode {
      FilterNode(op: "or", nodes: Array(repeating: Self.leaf("ex"), count: count - 1))
    }
    func long(_ count: Int) -> FilterNode { Self.leaf("in", "", Array(repeating: "v", count: count)) }
    let (least, most) = (String(repeating: "x", count: 256), String(repeating: "x", count: 257))
    for node in [nested(16), wide(100), long(1_000), Self.leaf("ct", least)] {
      #expect(throws: Never.self) { _ = try TagFilter(node) }
    }
    for node in [nested(17), wide(101), long(1_001), Self.leaf("ct", most)] {
      #expect(throws: ClientError.self) { _ = try TagFilter(node) }
    }
    let deepest = FilterNode(
      op: "and", nodes: (0..<14).reduce([Self.leaf("neq", "v")]) { nodes, _ in [FilterNode(op: "not", nodes: nodes)] })
    let filter = try #require(TagFilter.both(try TagFilter(deepest), .not(.exists(key: "user"))))
    #expect(try read(filter.encoded) == filter)
  }
}
