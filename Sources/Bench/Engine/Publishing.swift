/// What is published when, and what came of it. Worker 0 publishes; the others only know the schedule.
@safe struct Publishing {
  /// A group's publications.
  struct Group {
    var schedule = Schedule.none
    /// How many publications of the schedule went out.
    var done = 0
    /// Publications of earlier schedules: the number of this schedule's first one.
    var base = 0
    var payload: [UInt8]
    /// The group's publishers, as places in ``Publishing/publishers``.
    var publishers: [Int] = []
    /// Publications that went out since the measured time began, and refusals since the last report.
    var published = 0
    var refused = 0
    /// Publications since the beginning whose losses were reported with earlier steps.
    var reported = 0
    /// When a publication was last held up because its publisher's socket took nothing.
    var heldUpAt: UInt64 = 0
  }

  /// A connection that publishes, with the times of what was not answered yet.
  struct Publisher {
    static let remembered = 4096
    var connection: Int
    var group: Int
    var sent = 0
    var answered = 0
    var times = [UInt64](repeating: 0, count: remembered)
    var isTouched = false
  }

  /// Whether the server answers each publication.
  let isAnswered: Bool

  /// Bytes that may wait for a publisher's socket. Beyond them, what is due waits on the schedule.
  static let outLimit = 4 << 20

  var groups: [Group]
  var publishers: [Publisher] = []
  /// Time of the next publication that this worker has to make.
  var nextDue: UInt64 = .max
  /// How late this worker was by itself: what a socket without room held up is the server's doing.
  let lateness = FlatHistogram()
  let acknowledged = FlatHistogram()
  /// Answers without a refusal that came within the measured time.
  var answeredInTime = 0

  /// - Parameter holdsWords: publications are to be compressed: one letter again and again would say nothing of how well.
  init(_ groups: [Scenario.Group], isAnswered: Bool, holdsWords: Bool = false) {
    self.isAnswered = isAnswered
    self.groups = groups.map {
      Group(payload: holdsWords ? Self.words($0.payload) : [UInt8](repeating: 0x78, count: $0.payload))
    }
  }

  /// So many bytes of common words in an order that does not repeat itself, the same each time.
  static func words(_ count: Int) -> [UInt8] {
    let words = [
      "the", "message", "of", "a", "user", "in", "this", "room", "was", "read", "by", "nobody", "who", "is", "there",
      "today", "and", "asks", "about", "order", "number", "price", "status", "when", "it", "comes", "back", "again",
      "at", "noon", "please", "answer",
    ]
    var (text, state): ([UInt8], UInt64) = ([], 1)
    while text.count < count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text += Array((words[Int(truncatingIfNeeded: state >> 59)] + " ").utf8)
    }
    return Array(text.prefix(count))
  }

  mutating func add(connection: Int, group: Int) -> Int {
    publishers.append(Publisher(connection: connection, group: group))
    groups[group].publishers.append(publishers.count - 1)
    return publishers.count - 1
  }

  /// Begins with the next schedules; the last ones must be done with.
  mutating func set(_ schedules: [Schedule]) {
    for index in groups.indices {
      groups[index].base += groups[index].schedule.count
      groups[index].schedule = schedules[index]
      groups[index].done = 0
    }
    findNext()
  }

  mutating func findNext() {
    nextDue = .max
    guard !publishers.isEmpty else { return }
    for group in groups where group.done < group.schedule.count {
      nextDue = min(nextDue, group.schedule.due(group.done))
    }
  }

  /// Whether everything that was due went out; always true on other workers than the first, which publish nothing.
  var isDone: Bool { publishers.isEmpty || groups.allSatisfy { $0.done == $0.schedule.count } }

  /// Publications that the server has answered since the beginning.
  var answered: Int { publishers.reduce(0) { $0 + $1.answered } }

  /// Publications of a group that the server has not answered, where it answers.
  func unanswered(group: Int) -> Int {
    guard isAnswered else { return 0 }
    return publishers.reduce(0) { $1.group == group ? $0 + $1.sent - $1.answered : $0 }
  }

  /// Whether a publication was not answered yet: a delivery may overtake the answer to its publisher.
  var awaitsAnswers: Bool { isAnswered && publishers.contains { $0.answered < $0.sent } }

  /// What was lost so far has been reported.
  mutating func noteReported() {
    for index in groups.indices { groups[index].reported = groups[index].base + groups[index].schedule.count }
  }

  mutating func resetCounts() {
    lateness.removeAll()
    acknowledged.removeAll()
    answeredInTime = 0
    for index in groups.indices { (groups[index].published, groups[index].refused) = (0, 0) }
  }
}

extension EventLoop {
  /// Makes all publications that are due, each publisher's in one write.
  func publishDue() throws(BenchError) {
    let time = now
    var isHeldUp = false
    for index in publishing.groups.indices {
      if publishDue(group: index, at: time) { isHeldUp = true }
    }
    publishing.findNext()
    // Where a publisher's socket takes nothing, the others' publications are tried again soon, room or not.
    if isHeldUp { publishing.nextDue = max(publishing.nextDue, time + 200_000) }
    for index in publishing.publishers.indices where publishing.publishers[index].isTouched {
      publishing.publishers[index].isTouched = false
      let connection = unsafe connections + publishing.publishers[index].connection
      if unsafe !connection.pointee.awaitsRoom { unsafe try flush(connection) }
    }
  }

  /// - Returns: whether a publisher has no room for more.
  private func publishDue(group index: Int, at time: UInt64) -> Bool {
    let channels = channels[index]
    let (schedule, base) = (publishing.groups[index].schedule, publishing.groups[index].base)
    let publishers = publishing.groups[index].publishers
    var done = publishing.groups[index].done
    let first = done
    var isHeldUp = false
    var payload = publishing.groups[index].payload
    publishing.groups[index].payload = []
    while done < schedule.count, done - first < 8192 {
      let due = schedule.due(done)
      guard due <= time else { break }
      let number = base + done
      let channel = number % channels.count
      let publisher = publishers[channel % publishers.count]
      let connection = unsafe connections + publishing.publishers[publisher].connection
      guard unsafe connection.pointee.out.count < Publishing.outLimit else {
        isHeldUp = true
        publishing.groups[index].heldUpAt = time
        break
      }
      unsafe payload.withUnsafeMutableBytes { bytes in
        if let place = bytes.baseAddress {
          unsafe Marker.write(group: UInt16(index), sequence: UInt64(number / channels.count), due: due, to: place)
        }
        unsafe dialect.publish(
          UnsafeRawBufferPointer(bytes), to: channels[channel], &connection.pointee.state, into: &outgoing)
      }
      unsafe frameOutgoing(connection)
      // An answer to a publication of the warm-up is not timed: its time is 0.
      note(publisher, at: due >= run.measureFrom ? time : 0)
      if due >= run.measureFrom {
        publishing.lateness.record(time - max(due, publishing.groups[index].heldUpAt))
        publishing.groups[index].published += 1
      }
      done += 1
    }
    publishing.groups[index].payload = payload
    publishing.groups[index].done = done
    return isHeldUp
  }

  private func note(_ publisher: Int, at time: UInt64) {
    let place = publishing.publishers[publisher].sent % Publishing.Publisher.remembered
    publishing.publishers[publisher].times[place] = time
    publishing.publishers[publisher].sent += 1
    publishing.publishers[publisher].isTouched = true
  }

  /// The server answered a publisher, in the order in which it was asked.
  func acknowledge(_ connection: UnsafeMutablePointer<Connection>, _ count: Int, refused: Int) {
    let index = unsafe connection.pointee.publisher
    guard index >= 0 else { return }
    if refused > 0 {
      publishing.groups[publishing.publishers[index].group].refused += refused
      let reason = unsafe connection.pointee.state.refusal
      run.remark(
        "the server refused publications\(reason.isEmpty ? "" : " (\(reason))"); may a client publish there, and is a "
          + "rate limit set?")
    }
    if run.isMeasuring(at: now) { publishing.answeredInTime += count - refused }
    let remembered = Publishing.Publisher.remembered
    for _ in 0..<count {
      let (sent, answered) = (publishing.publishers[index].sent, publishing.publishers[index].answered)
      guard answered < sent else { return }
      publishing.publishers[index].answered += 1
      guard sent - answered <= remembered else { continue }
      let time = publishing.publishers[index].times[answered % remembered]
      if time > 0 { publishing.acknowledged.record(now > time ? now - time : 0) }
    }
  }
}
