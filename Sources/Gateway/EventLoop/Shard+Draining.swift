import NIOCore

/// The end of an event loop's clients; ``Drain`` has the states.
extension Shard {
  /// Sessions that have a slot in a ramp: their clients are signed in.
  var servedCount: Int { sessions.values.count { $0.phase == .live } }

  /// Gives each client that is signed in a slot within the window, and tells those of it that understand it. Whoever is
  /// not signed in leaves at once. ``sendAwayDue()`` has to be called from here on, every some milliseconds.
  ///
  /// - Parameters:
  ///   - window: milliseconds.
  ///   - over: called once, when the last slot has come or nobody is there any more.
  func beginRamp(over window: Int64, _ over: @escaping () -> Void) {
    guard case .serving = drain else { return over() }
    // In the order of their connections before it is shuffled, so that a simulation can be replayed.
    let drivers = sessions.sorted { $0.key < $1.key }.map(\.value)
    let served = shuffled(drivers.filter { $0.phase == .live })
    let grace = Ramp.grace(within: window)
    let start = time.monotonic
    var slots: [Ramp.Slot] = []
    for (driver, delay) in zip(served, delays(of: served.count, within: window - grace)) {
      let isTold = driver.tellSlot(after: delay)
      slots.append(Ramp.Slot(connection: driver.id, due: start + delay + (isTold ? grace : 0)))
    }
    drain = .ramping(Ramp(slots), over: over)
    for driver in drivers where driver.phase != .live { driver.shutDown() }
    sendAwayDue()
  }

  /// Sends those clients away whose slot has come: what they asked for is answered, then they are told 3001.
  func sendAwayDue() {
    guard case .ramping(var ramp, let over) = drain else { return }
    let due = ramp.takeDue(at: time.monotonic)
    drain = .ramping(ramp, over: over)
    for connection in due { sessions[connection]?.shutDown() }
    if ramp.isOver || sessions.isEmpty { endRamp() }
  }

  /// No slot counts any more.
  func endRamp() {
    guard case .ramping(_, let over) = drain else { return }
    drain = .closing
    over()
  }

  /// The server ends: every client that is still there gets its last answers and is told 3001. Calls back when the last
  /// session has ended.
  func shutDown(_ whenEmpty: @escaping () -> Void) {
    endRamp()
    drain = .closing
    onEmpty = whenEmpty
    if sessions.isEmpty { return whenEmpty() }
    for driver in Array(sessions.values) { driver.shutDown() }
  }

  /// Ends the sessions that still wait for answers: they are told 3001 without them.
  func shutDownNow() {
    for driver in Array(sessions.values) { driver.shutDownNow() }
  }

  /// A connection became a WebSocket just when the server began to end, and its session would have no slot.
  func leaveIfDraining(_ driver: SessionDriver) {
    if case .serving = drain { return }
    // Later: the connection does not have its session yet.
    driver.eventLoop.assumeIsolated().execute { driver.shutDown() }
  }

  private func shuffled(_ drivers: [SessionDriver]) -> [SessionDriver] { drivers.shuffled(using: &randomness) }

  private func delays(of count: Int, within window: Int64) -> [Int64] {
    Ramp.delays(of: count, within: window, using: &randomness)
  }
}
