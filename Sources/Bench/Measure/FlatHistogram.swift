import Histogram

/// Counts of nanoseconds in the same buckets as ``EncodedHistogram/makeHistogram()``'s, as a bare table.
///
/// A recording is a shift and an increment without a check, because one falls to each delivery and millions of those to
/// a second. The table becomes a real histogram when the run is over.
@safe final class FlatHistogram {
  /// Three digits: 2048 values one by one, then 1024 of each further power of two, up to 2^41.
  static let size = 31 * 1024 + 1024
  static let highest: UInt64 = 600_000_000_000

  let counts: UnsafeMutablePointer<UInt64>

  init() {
    unsafe counts = .allocate(capacity: Self.size)
    unsafe counts.initialize(repeating: 0, count: Self.size)
  }

  deinit { unsafe counts.deallocate() }

  @inline(__always)
  static func place(_ value: UInt64) -> Int {
    let value = min(value, highest)
    let bucket = 53 &- (value | 2047).leadingZeroBitCount
    return bucket &<< 10 &+ Int(truncatingIfNeeded: value &>> UInt64(truncatingIfNeeded: bucket))
  }

  static func value(_ place: Int) -> UInt64 {
    guard place >= 2048 else { return UInt64(place) }
    let bucket = place >> 10 - 1
    return UInt64(place - bucket << 10) << UInt64(bucket)
  }

  @inline(__always)
  static func record(_ value: UInt64, in counts: UnsafeMutablePointer<UInt64>) {
    unsafe counts[place(value)] &+= 1
  }

  func record(_ value: UInt64) { unsafe Self.record(value, in: counts) }

  func add(_ other: FlatHistogram) {
    for place in 0..<Self.size { unsafe counts[place] &+= other.counts[place] }
  }

  func removeAll() { unsafe counts.update(repeating: 0, count: Self.size) }

  var total: UInt64 { (0..<Self.size).reduce(0) { unsafe $0 &+ counts[$1] } }

  /// Values at these parts of all recordings (0...1), rising; zeros where nothing was recorded.
  func values(at quantiles: [Double]) -> [UInt64] {
    let total = total
    guard total > 0 else { return quantiles.map { _ in 0 } }
    var (place, seen) = unsafe (0, counts[0])
    return quantiles.map { quantile in
      let wanted = max(1, UInt64((Double(total) * quantile).rounded(.up)))
      while seen < wanted && place + 1 < Self.size {
        place += 1
        unsafe seen &+= counts[place]
      }
      return Self.value(place)
    }
  }

  var encoded: EncodedHistogram {
    var histogram = EncodedHistogram.makeHistogram()
    for place in 0..<Self.size where unsafe counts[place] > 0 {
      unsafe histogram.record(Self.value(place), count: counts[place])
    }
    return EncodedHistogram(histogram)
  }
}
