import CLinuxIO

/// What time and arrivals change in a worker's run.
extension EventLoop {
  /// Called whenever sockets were read or time has passed.
  func advance() throws(BenchError) {
    if now >= connecting.deadline {
      throw BenchError(
        "only \(connecting.ready) of \(connectionCount) connections were confirmed, and nothing happened for "
          + "\(connecting.patience / Run.second) s; does \(plan.target.url) speak \(plan.target.dialect), and does it allow that "
          + "many connections?")
    }
    try followOrders()
    guard !run.isOver else { return }
    watchTheClock()
    if now >= run.nextTick { try tick() }
    switch run.stage {
    case .waiting: break
    case .publishing: endPublishing()
    case .draining: try endDraining()
    case .apart: try endBeingApart()
    case .returning:
      let isBack = connecting.inFlight == 0 && connecting.rest.isEmpty
      if isDrained(isBack, without: isBack ? unreachable : 0) { try finish() }
    case .holding: if now >= run.deadline { try finish() }
    }
  }

  private func watchTheClock() {
    if run.cpuBegin == 0, now >= run.measureFrom {
      run.cpuBegin = linuxio_process_cpu()
      run.wallBegin = now
      run.nextTick = now + Run.second
    }
    if run.cpuBegin != 0, run.cpuEnd == nil, now >= run.measureTo { endMeasuring() }
  }

  private func endMeasuring() {
    run.cpuEnd = linuxio_process_cpu()
    run.wallEnd = now
  }

  func tick() throws(BenchError) {
    run.nextTick = now + Run.second
    stamps?.setClocks()
    let second = ledger.endSecond()
    if run.cpuBegin != 0 && (run.cpuEnd == nil || second.delivered > 0) { run.seconds.append(second) }
    let published = publishing.groups.reduce(0) { $0 + $1.base + $1.done }
    try console.write(
      .progress(
        Progress(
          connections: connecting.ready, published: published, delivered: ledger.arrived, p99: second.p99)))
  }

  /// Once the time is over and all that was due went out, what is under way is waited for.
  private func endPublishing() {
    guard now >= run.deadline else { return }
    if publishing.isDone || now >= run.lastChance || hasStalled() {
      run.stage = .draining
      run.lastArrived = ledger.arrived
      run.deadline = now + run.patience
    } else {
      run.deadline = now + Run.second / 10
    }
  }

  /// Whether a publisher that is behind sees neither room nor deliveries any more.
  private func hasStalled() -> Bool {
    let progress = ledger.arrived + publishing.groups.reduce(0) { $0 + $1.done }
    if progress != run.lastArrived {
      run.lastArrived = progress
      run.stalledSince = now
    }
    return now - run.stalledSince > run.patience
  }

  private func endDraining() throws(BenchError) {
    if plan.scenario.measure == .resume {
      // By the clock, so that all workers drop their clients at the same time.
      guard now >= run.resumeAt else { return run.deadline = run.resumeAt }
      return dropAll()
    }
    guard isDrained(true) || now >= run.lastChance else { return }
    if run.isStep {
      run.stage = .waiting
      try console.write(.stepped(makeReport()))
      publishing.noteReported()
      resetCounts()
      (run.measureFrom, run.measureTo) = (.max, .max)
      run.deadline = .max
      run.isStep = false
    } else if plan.scenario.measure == .delivery {
      try finish()
    } else {
      run.stage = .waiting
      run.deadline = .max
    }
  }

  /// Whether everything that was awaited has come, or nothing came for as long as the run is patient.
  ///
  /// - Parameters:
  ///   - isComplete: whether all clients are there that deliveries are awaited for.
  ///   - given: deliveries that are given up.
  private func isDrained(_ isComplete: Bool, without given: Int = 0) -> Bool {
    let arrived = ledger.arrived + connecting.ready + publishing.answered
    if isComplete && ledger.arrived + given >= awaited && !publishing.awaitsAnswers { return true }
    if arrived != run.lastArrived {
      run.lastArrived = arrived
      run.deadline = now + run.patience
    }
    return now >= run.deadline
  }

  /// Deliveries that this worker would have since the beginning, were nothing lost.
  private var awaited: Int {
    (0..<ledger.groups).reduce(0) { sum, group in
      let total = total(group)
      return sum
        + (0..<ledger.channels[group]).reduce(0) {
          unsafe $0 + Int(publications(of: $1, in: total, group)) * Int(ledger.tables[group].members[$1])
        }
    }
  }

  /// Deliveries that cannot come any more, because their subscribers were lost.
  private var unreachable: Int {
    guard run.disconnected > 0 else { return 0 }
    return roster.subscribers.indices.reduce(0) { sum, index in
      guard unsafe connections[index].stage == .closed, let line = unsafe connections[index].line else { return sum }
      let (group, channel, next) = unsafe (Int(line.pointee.group), Int(line.pointee.channel), line.pointee.next)
      let published = publications(of: channel, in: total(group), group)
      return sum + (published > next ? Int(published - next) : 0)
    }
  }

  /// Publications of a group since the beginning: that went out, or on other workers than the first, that were due.
  func total(_ group: Int) -> Int {
    let part = publishing.groups[group]
    return part.base + (publishing.publishers.isEmpty ? part.schedule.count : part.done)
  }

  /// Of that many publications of a group, those on one channel.
  func publications(of channel: Int, in total: Int, _ group: Int) -> UInt64 {
    let count = ledger.channels[group]
    return UInt64(total / count + (channel < total % count ? 1 : 0))
  }
}

/// The resume run.
extension EventLoop {
  func isToReturn(_ connection: UnsafeMutablePointer<Connection>) -> Bool { unsafe !connection.pointee.isSlow }

  /// Every subscriber is gone at once, without a word; then each channel gets what they will have missed.
  private func dropAll() {
    if ledger.arrived < awaited { run.remark("not all of the warm-up had arrived when the clients were dropped") }
    for index in roster.subscribers.indices { unsafe connections[index].drop() }
    let missed = max(1, plan.scenario.missed ?? Scenario.Defaults.missed)
    let begin = run.resumeAt + Run.second
    publishing.set(
      plan.scenario.groups.map { group in
        Schedule(
          begin: begin, count: group.rate > 0 ? missed * group.channels : 0, rate: group.rate, burst: group.burst)
      })
    run.measureFrom = begin
    run.stage = .apart
    run.resumeAt = publishing.groups.reduce(begin) { max($0, $1.schedule.end) } + Run.second
    run.deadline = run.resumeAt
  }

  private func endBeingApart() throws(BenchError) {
    guard now >= run.resumeAt else { return }
    // By the clock, so that all workers' clients return at the same time. One worker alone may wait until the server
    // has what they are to have missed.
    let isOut = publishing.isDone && !publishing.awaitsAnswers
    if !isOut && plan.workers == 1 && now < run.resumeAt + run.patience {
      return run.deadline = now + Run.second / 10
    }
    if !publishing.isDone {
      run.remark("the publications for the absent clients were not out when the clients returned")
    }
    run.stage = .returning
    try comeBack()
  }

  private func comeBack() throws(BenchError) {
    run.isReturning = true
    run.origin = now
    run.cpuBegin = linuxio_process_cpu()
    run.wallBegin = now
    run.deadline = now + run.patience
    for index in roster.subscribers.indices where unsafe isToReturn(connections + index) {
      let connection = unsafe connections + index
      unsafe connection.pointee.stage = .idle
      unsafe connection.pointee.state.recovers = true
      unsafe connection.pointee.state.phase = 0
      unsafe connection.pointee.state.nextID = 1
      unsafe connection.pointee.state.remaining = 0
    }
    connecting.begin(all: roster.subscribers.indices, at: now)
    try connectMore()
  }
}
