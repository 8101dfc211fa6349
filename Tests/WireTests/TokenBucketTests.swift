import Testing
import Wire

/// A macro cannot call what mutates a value, so the value stands behind a reference.
private final class Held<Value> {
  var value: Value

  init(_ value: Value) { self.value = value }
}

extension Held<TokenBucket> {
  func take(_ count: Int = 1, at milliseconds: Int64) -> Bool { value.take(count, at: milliseconds) }
  func charge(_ count: Int = 1, at milliseconds: Int64) -> Int64 { value.charge(count, at: milliseconds) }
}

extension Held {
  func take<Key>(_ count: Int = 1, for key: Key, at milliseconds: Int64) -> Bool where Value == TokenBuckets<Key> {
    value.take(count, for: key, at: milliseconds)
  }

  func reserve<Key>(
    _ count: Int = 1, for key: Key, within longest: Int64, at milliseconds: Int64
  ) -> Int64? where Value == TokenBuckets<Key> {
    value.reserve(count, for: key, within: longest, at: milliseconds)
  }
}

@Suite("Token buckets")
struct TokenBucketTests {
  @Test("A burst passes at once, then the rate, to the millisecond")
  func rate() {
    let bucket = Held(TokenBucket(perSecond: 4, burst: 10))
    for _ in 0..<10 { #expect(bucket.take(at: 1_000)) }
    #expect(!bucket.take(at: 1_000))
    #expect(!bucket.take(at: 1_249))
    #expect(bucket.take(at: 1_250))
    #expect(!bucket.take(at: 1_250))
    // A long rest brings the burst and no more.
    for _ in 0..<10 { #expect(bucket.take(at: 9_999_999)) }
    #expect(!bucket.take(at: 9_999_999))
  }

  @Test("Nothing is lost in looking often")
  func noDrift() {
    let bucket = Held(TokenBucket(perSecond: 3, burst: 3))
    for _ in 0..<3 { #expect(bucket.take(at: 0)) }
    var taken = 0
    for millisecond in Int64(1)...10_000 where bucket.take(at: millisecond) { taken += 1 }
    #expect(taken == 30)
  }

  @Test("No rate is no limit")
  func unlimited() {
    let bucket = Held(TokenBucket(perSecond: 0, burst: 0))
    #expect(bucket.value.limit.isUnlimited)
    for _ in 0..<100 { #expect(bucket.take(.max, at: 5)) }
    #expect(bucket.charge(.max, at: 5) == 0)
  }

  @Test("What is larger than the burst passes a full bucket, and is owed")
  func largerThanBurst() {
    let bucket = Held(TokenBucket(perSecond: 10, burst: 10))
    #expect(bucket.take(25, at: 0))
    #expect(!bucket.take(at: 1_500))
    #expect(!bucket.take(at: 1_599))
    #expect(bucket.take(at: 1_600))
  }

  @Test("A charge is taken in any case, and says how long to rest")
  func charge() {
    let bucket = Held(TokenBucket(perSecond: 100, burst: 100))
    #expect(bucket.charge(100, at: 0) == 0)
    #expect(bucket.charge(1, at: 0) == 10)
    #expect(bucket.charge(1, at: 5) == 15)
    #expect(bucket.charge(1, at: 30) == 0)
  }

  @Test("A debt is bounded, so that nobody rests for ever")
  func boundedDebt() {
    let bucket = Held(TokenBucket(perSecond: 100, burst: 100))
    for _ in 0..<10_000 { _ = bucket.charge(100, at: 0) }
    #expect(bucket.charge(0, at: 0) == 1_000)
  }

  @Test("A clock that goes back or leaps brings nothing wrong")
  func clocks() {
    let bucket = Held(TokenBucket(perSecond: 1, burst: 1))
    #expect(bucket.take(at: 10_000))
    #expect(!bucket.take(at: 0))
    #expect(!bucket.take(at: .min))
    #expect(!bucket.take(at: 10_999))
    #expect(bucket.take(at: .max))
    #expect(!bucket.take(at: .max))
  }

  @Test("Numbers without measure trap nowhere")
  func extremes() {
    let bucket = Held(TokenBucket(perSecond: .max, burst: .max))
    #expect(bucket.take(.max, at: .min))
    _ = bucket.charge(.max, at: 0)
    _ = bucket.charge(.min, at: .max)
    let small = Held(TokenBucket(perSecond: 1, burst: .min))
    #expect(small.charge(.max, at: 0) > 0)
    #expect(small.take(.min, at: .max))
  }

  @Test("Each key has a bucket of its own")
  func keys() {
    let buckets = Held(TokenBuckets<String>(perSecond: 1, burst: 2, capacity: 100))
    #expect(buckets.take(for: "a", at: 0))
    #expect(buckets.take(for: "a", at: 0))
    #expect(!buckets.take(for: "a", at: 0))
    #expect(buckets.take(for: "b", at: 0))
    #expect(buckets.reserve(2, for: "b", within: 1_000, at: 0) == 1_000)
    #expect(buckets.take(for: "a", at: 1_000))
  }

  @Test("What is put off is paid for: who would wait for too long owes nothing, and the others come no faster")
  func reserved() {
    let buckets = Held(TokenBuckets<String>(perSecond: 10, burst: 10, capacity: 100))
    let waits = (0..<100).map { _ in buckets.reserve(for: "a", within: 500, at: 0) }
    #expect(waits == Array(repeating: 0, count: 10) + [100, 200, 300, 400, 500] + Array(repeating: nil, count: 85))
    #expect(buckets.reserve(for: "a", within: 500, at: 99) == nil)
    #expect(buckets.reserve(for: "a", within: 500, at: 100) == 500)
    #expect(!buckets.take(for: "a", at: 600))
    #expect(buckets.take(for: "a", at: 700))
  }

  @Test("Who invents keys fills no memory, and drives out nobody who is busy")
  func bounded() {
    let buckets = Held(TokenBuckets<Int>(perSecond: 1, burst: 1, capacity: 100))
    #expect(buckets.take(for: -1, at: 0))
    for key in 0..<10_000 {
      #expect(buckets.take(for: key, at: 0))
      #expect(buckets.value.count <= 100)
      #expect(!buckets.take(for: -1, at: 0), "the busy key was forgotten after \(key) others")
    }
  }

  @Test("Without a limit no key is kept")
  func unlimitedKeys() {
    let buckets = Held(TokenBuckets<Int>(.unlimited, capacity: 100))
    for key in 0..<10 { #expect(buckets.take(for: key, at: 0)) }
    #expect(buckets.value.count == 0)
  }
}

/// A limit and where somebody stands with it, together.
private struct TokenBucket {
  let limit: RateLimit
  private var level: TokenLevel

  init(perSecond: Int, burst: Int) {
    limit = RateLimit(perSecond: perSecond, burst: burst)
    level = TokenLevel(limit)
  }

  mutating func take(_ count: Int = 1, at milliseconds: Int64) -> Bool {
    level.take(count, of: limit, at: milliseconds)
  }

  mutating func charge(_ count: Int = 1, at milliseconds: Int64) -> Int64 {
    level.charge(count, of: limit, at: milliseconds)
  }
}
