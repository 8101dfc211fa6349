import Testing
import Wire

@testable import Gateway

@Suite("Different filters on a channel")
struct ChannelFiltersTests {
  private let channel = try? ChannelName("news")

  /// Of so many conditions, unlike every other with another number.
  private func filter(_ number: Int, conditions: Int) -> TagFilter {
    .all((1..<max(2, conditions)).map { .equal(key: "k\(number)", "\($0)") })
  }

  private func begin(_ filters: inout ChannelFilters, _ filter: TagFilter, tag: Int) throws -> Bool {
    let source = RequestSource(loop: 0, connection: 1, tag: UInt64(tag))
    return filters.begin(source, try #require(channel), filter)
  }

  @Test("as many as are allowed, with as many conditions on average; and room comes back")
  func conditions() throws {
    var filters = ChannelFilters(most: 10)
    // Ten of ninety conditions would be 900 for each publication; 160 are allowed.
    #expect(filter(1, conditions: 90).conditionCount == 90)
    #expect(try begin(&filters, filter(1, conditions: 90), tag: 1))
    #expect(try !begin(&filters, filter(2, conditions: 90), tag: 2))
    // A filter that is there already costs nothing, and a short one has room.
    #expect(try begin(&filters, filter(1, conditions: 90), tag: 3))
    #expect(try begin(&filters, filter(3, conditions: 20), tag: 4))
    filters.end(connection: 1, tag: 1)
    #expect(try !begin(&filters, filter(2, conditions: 90), tag: 5))
    filters.end(connection: 1, tag: 3)
    #expect(try begin(&filters, filter(2, conditions: 90), tag: 6))
    filters.end(connection: 1, tag: 4)
    filters.end(connection: 1, tag: 6)
    #expect(filters.channelCount == 0)
  }

  @Test("short ones are limited by their number alone")
  func short() throws {
    var filters = ChannelFilters(most: 10)
    for number in 0..<10 { #expect(try begin(&filters, filter(number, conditions: 3), tag: number)) }
    #expect(try !begin(&filters, filter(10, conditions: 3), tag: 10))
  }

  @Test("every kind of condition counts, and each value of a list")
  func count() {
    let filter = TagFilter.any([
      .not(.exists(key: "a")), .oneOf(key: "b", ["1", "2", "3"]), .number(key: "c", .greater, "1"),
      .hasPrefix(key: "d", "x"),
    ])
    #expect(filter.conditionCount == 1 + 2 + 4 + 1 + 1)
  }
}
