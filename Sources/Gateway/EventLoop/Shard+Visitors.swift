import Wire

/// Those who come and go, while others are served.
extension Shard {
  /// Those who sign in, and those who leave, between two looks of the event loop at its sockets: each costs as much as some
  /// deliveries.
  private static let (mostEntering, mostLeaving) = (2, 8)
  private static let mostEnteringAtRest = 64
  /// Reads between two looks: what those who were let in have missed, for one.
  private static let mostReading = 4
  /// Milliseconds without a publication or a call of an app until the event loop is ``isAtRest``.
  static let rest: Int64 = 250

  /// From now on few come and go at a time, and ``passed()`` is called after ``FanOut/requestTurn`` was.
  func paceVisitors() {
    exit.open(to: Self.mostLeaving) { [unowned self] in fanOut.requestTurn() }
    entrance.open(to: Self.mostEnteringAtRest) { [unowned self] in fanOut.requestTurn() }
  }

  /// Nothing was published here for a while and no app called, so hardly anybody would notice a longer turn.
  var isAtRest: Bool { time.monotonic - servedAt >= Self.rest }

  /// The event loop has looked at its sockets.
  func passed() {
    runSlice()
    exit.passed()
    setPace()
    entrance.passed()
    reads.looked()
    askNext()
    requestsComplete()
  }

  /// Whoever is let in subscribes, and gets what was missed.
  func admit(_ goOn: @escaping () -> Void) {
    setPace()
    entrance.enter(goOn)
  }

  /// Whoever leaves has subscriptions to give up, at the broker too.
  func leaves(_ driver: SessionDriver) { exit.enter { driver.leave() } }

  /// How many may come in and read until the event loop looks at its sockets next.
  func setPace() {
    guard entrance.isPaced else { return }
    let isAtRest = isAtRest
    entrance.most = isAtRest ? Self.mostEnteringAtRest : Self.mostEntering
    reads.mostBetweenLooks = isAtRest ? .max : Self.mostReading
  }
}
