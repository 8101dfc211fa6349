import TestSupport

/// Events of machines: for each a beginning that brings it to where it has something to lose, and random events behind.
enum MachineSeeds {
  static func of(_ beginning: [[UInt8]]) -> [[UInt8]] {
    let beginning = beginning.flatMap { $0 }
    return [beginning]
      + (1...8).map { index in
        var random = SeededGenerator(seed: UInt64(index))
        return beginning + (0..<(index * 40)).map { _ in UInt8.random(in: 0...255, using: &random) }
      }
  }

  static let session: [[UInt8]] = [
    [0],
    // Connect with a token, which is good.
    [0, 0, 15, 1, 0], [21, 0, 0],
    // Subscribe to "a"; the broker answers.
    [0, 0, 0, 0], [13, 1, 0], [17],
    // Publish on it.
    [0, 0, 7, 1, 0x31, 0], [13, 1], [17],
    // Subscribe to "b", and before the answer unsubscribe it.
    [0, 1, 0, 4], [0, 1, 5], [13, 1, 1], [17], [13, 1], [17],
  ]

  static let gatewayLink: [[UInt8]] = [
    [0],
    // The broker welcomes the gateway.
    [5, 0, 1, 0],
    // A session subscribes to "a"; the broker answers with a position.
    [0, 0, 0, 1, 0], [7, 1, 3, 5, 0, 0],
    // A publication that follows.
    [10, 4, 1, 0x31, 0, 0],
    // Another subscribes, and unsubscribes.
    [0, 0, 1, 0, 0], [7, 1, 4, 5, 0, 0], [3, 1], [7, 1, 4, 1, 0],
  ]

  static let broker: [[UInt8]] = [
    [0],
    // A gateway says hello.
    [0, 0, 5, 1, 1],
    // It subscribes to "a", and publishes there, on a durable channel and on a map.
    [2, 0, 0, 1, 0, 0, 0, 1, 10, 0], [2, 0, 0, 1, 0, 3, 0, 0, 0], [2, 0, 1, 1, 0, 3, 0, 1, 0],
    [2, 0, 2, 1, 0, 3, 1, 0, 0, 0, 0],
    // It reads the history. A service publishes. Time passes.
    [2, 0, 0, 1, 0, 5, 10, 0, 0], [11, 0, 0, 3, 0, 0, 0], [15, 10, 1],
    // One person writes to another, who does not mind; time passes.
    [13, 0, 0, 0, 0], [15, 10, 1], [13, 2, 4, 0, 0], [15, 10, 1],
  ]

  static let client: [[UInt8]] = [
    [1],
    // Connect; the transport opens, and the server takes the token.
    [0, 1], [1, 5, 1], [3, 0, 1, 25, 1, 0, 0, 0, 1],
    // Subscribe to "a" from a position; the server agrees, and publishes.
    [11, 0, 3], [3, 0, 1, 37, 3, 1], [7, 0, 0, 0, 4, 1, 0x31, 1],
    // A call, which is answered.
    [13, 1, 0, 0], [3, 0, 1, 1, 0x31, 1],
  ]
}
