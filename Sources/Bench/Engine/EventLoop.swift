import CLinuxIO
import COpenSSL

/// All connections of a worker on one thread: epoll, non-blocking sockets, one buffer for reading.
///
/// Generic over the dialect, so that what reads a delivery is compiled into what reads the socket. Connections stand in
/// plain memory and are reached by pointer: nothing on the way of a delivery is counted, copied or checked twice.
@safe final class EventLoop<D: Dialect> {
  let plan: WorkerPlan
  let roster: Roster
  let dialect: D
  let ledger: Ledger
  let links: Links
  let connections: UnsafeMutablePointer<Connection>
  let connectionCount: Int
  let poll: Int32
  let timer: Int32
  let console: WorkerConsole
  /// Channel names of each group.
  let channels: [[String]]

  /// Shared by all connections: what waited of a socket's bytes, and behind it what the socket gives.
  var buffer: UnsafeMutableRawPointer
  var bufferCapacity = 256 << 10
  var outgoing = Outgoing()
  /// When the last socket was read, or the last wait ended.
  var now: UInt64 = 0
  /// Nil: compression is not asked for.
  let inflater: MessageInflater?
  /// Bytes that subscribers got within the measured time.
  var received = 0
  /// Nil: the kernel stamps nothing.
  let stamps: ArrivalStamps?
  var random: UInt64
  var connecting: Connecting
  var publishing: Publishing
  var run: Run

  init(_ plan: WorkerPlan, _ dialect: D, _ console: WorkerConsole) throws(BenchError) {
    self.plan = plan
    self.dialect = dialect
    self.console = console
    let roster = try Roster(plan)
    self.roster = roster
    connectionCount = roster.subscribers.count + roster.publishers.count
    // Checked before memory is allocated for the connections.
    try ConnectionLimit.check(connectionCount, limit: linuxio_raise_file_limit())
    let groups = plan.scenario.groups
    channels = groups.map { group in
      (0..<group.channels).map { Roster.channelName(group, run: plan.run, index: $0) }
    }
    links = try Links(plan.target)
    inflater = plan.target.compresses ? try MessageInflater() : nil
    publishing = Publishing(groups, isAnswered: dialect.answersPublications, holdsWords: plan.target.compresses)
    connecting = Connecting(patience: plan.patience)
    run = Run(patience: plan.patience)
    stamps = plan.stampsArrivals ? ArrivalStamps() : nil
    let healthy = roster.subscribers.count { !$0.isSlow }
    ledger = Ledger(groups.map { Self.shape($0, plan.scenario) }, lines: healthy)
    unsafe connections = .allocate(capacity: max(1, connectionCount))
    unsafe buffer = .allocate(byteCount: bufferCapacity, alignment: 64)
    poll = linuxio_epoll_open()
    timer = linuxio_timer_open()
    random = linuxio_now() &* 0x9E37_79B9_7F4A_7C15 | 1
    makeConnections()
    guard poll >= 0, timer >= 0 else { throw BenchError("the kernel gives no epoll or no timer") }
    try watch(timer, LINUXIO_READABLE, tag: Tag.timer)
    // Orders from a plain file are all there already, and an epoll takes no plain file.
    if linuxio_epoll_add(poll, console.input, LINUXIO_READABLE, Tag.console) != 0 { console.isFile = true }
  }

  deinit {
    for index in 0..<connectionCount { unsafe connections[index].drop() }
    unsafe connections.deinitialize(count: connectionCount)
    unsafe connections.deallocate()
    unsafe buffer.deallocate()
    if poll >= 0 { linuxio_close(poll) }
    if timer >= 0 { linuxio_close(timer) }
  }

  enum Tag {
    static var timer: UInt64 { .max }
    static var console: UInt64 { .max - 1 }
  }

  private static func shape(_ group: Scenario.Group, _ scenario: Scenario) -> Ledger.Shape {
    // Ten seconds of the fastest rate are never under way at once, nor more than a hundred million bytes' worth.
    var rate = group.rate
    if let ramp = scenario.ramp, scenario.measure == .saturation {
      for _ in 0..<min(64, ramp.maximumSteps) { rate = min(10_000_000, rate * max(1, ramp.factor)) }
    }
    let wanted = min(Double(1 << 20), rate * 10 / Double(group.channels)) + Double(group.burst)
    let most = max(64, (1 << 23) / group.channels)
    return Ledger.Shape(channels: group.channels, window: max(16, min(most, Int(wanted))))
  }

  private func makeConnections() {
    for (index, subscriber) in roster.subscribers.enumerated() {
      var state = DialectState(
        role: .subscriber, client: subscriber.client, channels: [channels[subscriber.group][subscriber.channel]])
      state.epochs = [""]
      state.offsets = [0]
      unsafe (connections + index).initialize(to: Connection(state: state, table: ledger.tables + subscriber.group))
      unsafe connections[index].isSlow = subscriber.isSlow
      if !subscriber.isSlow {
        unsafe connections[index].line = unsafe ledger.addLine(group: subscriber.group, channel: subscriber.channel)
      }
    }
    for (number, publisher) in roster.publishers.enumerated() {
      let index = roster.subscribers.count + number
      var state = DialectState(role: .publisher, client: publisher.client, channels: [])
      if plan.target.subscribesPublishers {
        state.channels = publisher.channels(of: plan.scenario.groups[publisher.group]).map {
          channels[publisher.group][$0]
        }
      }
      unsafe (connections + index).initialize(to: Connection(state: state, table: ledger.tables + publisher.group))
      unsafe connections[index].publisher = publishing.add(connection: index, group: publisher.group)
    }
  }

  /// Connects, measures and reports, until it is told to stop.
  func work() throws(BenchError) {
    now = linuxio_now()
    run.nextTick = now + Run.second
    connecting.begin(all: 0..<connectionCount, at: now)
    if connectionCount == 0 { try allConnected(at: now) }
    try connectMore()
    if console.isFile { try readOrders() }
    var events = [linuxio_event](repeating: linuxio_event(), count: 1024)
    while !run.isOver {
      setTimer()
      let count = unsafe events.withUnsafeMutableBufferPointer {
        unsafe linuxio_epoll_wait(poll, $0.baseAddress, 1024, -1)
      }
      guard count >= 0 else { throw BenchError("epoll_wait failed: errno \(-count)") }
      now = linuxio_now()
      if now >= publishing.nextDue { try publishDue() }
      for place in 0..<Int(count) {
        let event = events[place]
        switch event.tag {
        case Tag.timer: break
        case Tag.console: try readOrders()
        default:
          unsafe try handle(connections + Int(truncatingIfNeeded: event.tag), event.events)
          // Publications do not wait until all sockets are read.
          if now >= publishing.nextDue { try publishDue() }
        }
      }
      try advance()
    }
  }

  private func handle(_ connection: UnsafeMutablePointer<Connection>, _ events: UInt32) throws(BenchError) {
    switch unsafe connection.pointee.stage {
    case .open, .upgrading:
      if events & LINUXIO_WRITABLE != 0 { unsafe try flush(connection) }
      if events & ~LINUXIO_WRITABLE != 0 { unsafe try read(connection) }
    case .connecting, .securing: unsafe try establish(connection)
    case .idle, .closed: break
    }
  }

  /// Sets the timer to the next time at which something is due that no socket tells of.
  private func setTimer() {
    let next = min(publishing.nextDue, run.nextCheck, connecting.deadline)
    guard next != run.timerSetTo || next <= now else { return }
    run.timerSetTo = next
    // A timer that is set to 0 is disarmed.
    _ = linuxio_timer_set(timer, next == .max ? 0 : max(1, next))
  }

  func watch(_ descriptor: Int32, _ events: UInt32, tag: UInt64) throws(BenchError) {
    let result = linuxio_epoll_add(poll, descriptor, events, tag)
    guard result == 0 else { throw BenchError("a socket cannot be watched: errno \(-result)") }
  }

  func nextRandom() -> UInt64 {
    // xorshift64: masks must be unlike each other, not secret.
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    return random
  }
}

/// What the limit on open files leaves for connections.
enum ConnectionLimit {
  /// Open files that a worker needs beside its connections.
  static let reserve = 32

  static func check(_ connections: Int, limit: Int) throws(BenchError) {
    guard connections + reserve <= limit else {
      throw BenchError(
        "\(connections) connections need more open files than the limit of \(limit): "
          + "use more workers, or raise the limit (ulimit -Hn)")
    }
  }
}
