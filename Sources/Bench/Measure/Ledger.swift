/// What one subscriber is to get next. Plain memory, read and written once per delivery.
struct LedgerLine {
  /// The sequence number that comes next; all below have come or are noted as missing.
  var next: UInt64 = 0
  /// When the last delivery of a resume run came, in nanoseconds.
  var lastArrival: UInt64 = 0
  var index: Int32
  var group: UInt16
  var channel: Int32
}

/// How far one publication has got among this worker's subscribers.
struct PublicationReach {
  /// Low half of the sequence number, plus one: zero is nobody's.
  var mark: UInt32 = 0
  var count: UInt32 = 0
}

/// What a delivery needs to know of its group, and where it is counted. Plain memory.
@safe struct LedgerTable {
  /// Latencies of the current second.
  let latency: UnsafeMutablePointer<UInt64>
  /// Latencies up to the kernel's stamp, where it stamps.
  let kernel: UnsafeMutablePointer<UInt64>
  let first: UnsafeMutablePointer<UInt64>
  let median: UnsafeMutablePointer<UInt64>
  let last: UnsafeMutablePointer<UInt64>
  /// For each channel a ring of `window` publications.
  let reach: UnsafeMutablePointer<PublicationReach>
  /// For each channel, healthy subscribers of this worker.
  let members: UnsafeMutablePointer<UInt32>
  let windowMask: UInt64
  let windowShift: UInt64
  /// Deliveries that came for the first time, warm-up included, since the beginning.
  var arrived = 0
  /// Deliveries of publications that were due in the measured time, whenever they came.
  var delivered = 0
  /// Deliveries that came within the measured time, whenever they were due.
  var arrivedInTime = 0
  var duplicated = 0
  var misordered = 0
}

/// Counts what should have come, came, and came wrongly: for each subscriber the next sequence number, for each
/// publication the subscribers reached.
@safe final class Ledger {
  /// A group as the ledger sees it.
  struct Shape {
    var channels: Int
    /// Publications of one channel that may be under way at once, at most.
    var window: Int
  }

  let tables: UnsafeMutablePointer<LedgerTable>
  let groups: Int
  let lines: UnsafeMutablePointer<LedgerLine>
  let lineCapacity: Int
  private(set) var lineCount = 0
  let histograms: [GroupHistograms]
  let channels: [Int]
  /// Deliveries that bore no marker, or another group's.
  var strays = 0
  /// Sequence numbers that were passed over and have not come since, for each line that has such.
  private var gaps: [Int32: [ClosedRange<UInt64>]] = [:]

  /// The histograms behind a table.
  final class GroupHistograms {
    /// Latencies of the current second, and of all seconds before it.
    let second = FlatHistogram()
    let latency = FlatHistogram()
    let kernel = FlatHistogram()
    let first = FlatHistogram()
    let median = FlatHistogram()
    let last = FlatHistogram()

    func removeAll() {
      for histogram in [second, latency, kernel, first, median, last] { histogram.removeAll() }
    }
  }

  init(_ shapes: [Shape], lines lineCapacity: Int) {
    groups = shapes.count
    channels = shapes.map(\.channels)
    self.lineCapacity = lineCapacity
    histograms = shapes.map { _ in GroupHistograms() }
    unsafe lines = .allocate(capacity: max(1, lineCapacity))
    unsafe tables = .allocate(capacity: max(1, shapes.count))
    for (index, shape) in shapes.enumerated() {
      let shift = UInt64(max(1, shape.window).bitWidth - max(1, shape.window - 1).leadingZeroBitCount)
      let reach = UnsafeMutablePointer<PublicationReach>.allocate(capacity: shape.channels << Int(shift))
      unsafe reach.initialize(repeating: PublicationReach(), count: shape.channels << Int(shift))
      let members = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, shape.channels))
      unsafe members.initialize(repeating: 0, count: max(1, shape.channels))
      let group = histograms[index]
      unsafe (tables + index).initialize(
        to: LedgerTable(
          latency: group.second.counts, kernel: group.kernel.counts, first: group.first.counts,
          median: group.median.counts, last: group.last.counts, reach: reach, members: members,
          windowMask: 1 << shift - 1, windowShift: shift))
    }
  }

  deinit {
    for index in 0..<groups {
      unsafe tables[index].reach.deallocate()
      unsafe tables[index].members.deallocate()
    }
    unsafe tables.deallocate()
    unsafe lines.deallocate()
  }

  /// Adds a healthy subscriber; from now on each publication of the channel is expected to reach it.
  func addLine(group: Int, channel: Int) -> UnsafeMutablePointer<LedgerLine> {
    precondition(lineCount < lineCapacity, "a ledger holds as many lines as it was made for")
    let line = unsafe lines + lineCount
    unsafe line.initialize(to: LedgerLine(index: Int32(lineCount), group: UInt16(group), channel: Int32(channel)))
    lineCount += 1
    unsafe tables[group].members[channel] += 1
    return unsafe line
  }

  /// A delivery that is not the next one.
  ///
  /// - Returns: whether it came for the first time.
  func noteUnexpected(_ line: UnsafeMutablePointer<LedgerLine>, group: UInt16, sequence: UInt64) -> Bool {
    guard unsafe group == line.pointee.group else {
      strays += 1
      return false
    }
    let table = unsafe tables + Int(group)
    let (next, index) = unsafe (line.pointee.next, line.pointee.index)
    if sequence >= next {
      gaps[index, default: []].append(next...(sequence - 1))
      unsafe line.pointee.next = sequence + 1
      return true
    }
    guard var ranges = gaps[index], let place = ranges.firstIndex(where: { $0.contains(sequence) }) else {
      unsafe table.pointee.duplicated += 1
      return false
    }
    let range = ranges.remove(at: place)
    if range.lowerBound < sequence { ranges.append(range.lowerBound...(sequence - 1)) }
    if sequence < range.upperBound { ranges.append((sequence + 1)...range.upperBound) }
    gaps[index] = ranges
    unsafe table.pointee.misordered += 1
    return true
  }

  var arrived: Int { (0..<groups).reduce(0) { unsafe $0 + tables[$1].arrived } }

  /// Deliveries of a group that have not come so far, all subscribers together: at most as many as the window has
  /// publications for each of them.
  ///
  /// It is looked up in what each line got, and not counted along the way: counts of what was passed over would contain
  /// what belongs to another window, such as the warm-up or an earlier step.
  ///
  /// - Parameter window: sequence numbers of a channel.
  func missing(group: Int, _ window: (_ channel: Int) -> Range<UInt64>) -> Int {
    let windows = (0..<channels[group]).map(window)
    var sum = 0
    for index in 0..<lineCount where unsafe lines[index].group == UInt16(group) {
      let window = unsafe windows[Int(lines[index].channel)]
      let unseen = unsafe max(window.lowerBound, lines[index].next)
      if window.upperBound > unseen { sum += Int(window.upperBound - unseen) }
      guard let gaps = gaps[Int32(index)] else { continue }
      for gap in gaps { sum += window.clamped(to: gap.lowerBound..<(gap.upperBound + 1)).count }
    }
    return sum
  }

  /// Moves the current second's latencies to the whole; gives what they were.
  func endSecond() -> WorkerReport.Second {
    let sum = FlatHistogram()
    for group in histograms {
      sum.add(group.second)
      group.latency.add(group.second)
      group.second.removeAll()
    }
    let values = sum.values(at: [0.5, 0.99, 1])
    return WorkerReport.Second(delivered: Int(sum.total), p50: values[0], p99: values[1], max: values[2])
  }

  /// Sets all counts to nothing; sequence numbers go on.
  func resetCounts() {
    for index in 0..<groups {
      histograms[index].removeAll()
      unsafe tables[index].delivered = 0
      unsafe tables[index].arrivedInTime = 0
      unsafe tables[index].duplicated = 0
      unsafe tables[index].misordered = 0
    }
    strays = 0
  }
}
