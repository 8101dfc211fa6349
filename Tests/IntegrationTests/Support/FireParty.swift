/// People who do something together while it burns, step by step. Each step is done when it is acknowledged.
protocol FireParty: AnyObject {
  /// What they do before the first step.
  func begin() async throws
  func step() async throws
  /// Looks at everything when it is over: what is wrong then is among ``faults``.
  func end() async throws
  /// What was wrong, as somebody reads it who has to find out why.
  var faults: [String] { get }
}

extension FireParty {
  /// Takes steps until the fire is over, and one more with everybody at work again.
  func live(under watch: FireWatch) async throws {
    try await begin()
    while !watch.isOver { try await step() }
    try await step()
    try await end()
  }
}

extension FireCouple: FireParty {
  func end() async throws {
    try await check()
    try await checkPictures()
  }
}

extension FireExchange: FireParty {
  func end() async throws { try await check() }
}
