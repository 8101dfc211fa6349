/// Which clients a worker is, of all that a scenario has. Every worker finds the same without asking another.
struct Roster: Sendable, Equatable {
  struct Subscriber: Sendable, Equatable {
    var client: Int
    var group: Int
    var channel: Int
    var isSlow: Bool
  }

  struct Publisher: Sendable, Equatable {
    var client: Int
    var group: Int
    /// Which of its group's publishers it is, from 0 on.
    var number: Int

    /// The channels on which it publishes.
    func channels(of group: Scenario.Group) -> StrideTo<Int> {
      stride(from: number, to: group.channels, by: group.publishers)
    }
  }

  private(set) var subscribers: [Subscriber] = []
  /// In the order of groups. Worker 0 has all publishers, the others none.
  private(set) var publishers: [Publisher] = []

  init(_ plan: WorkerPlan) throws(BenchError) {
    try Self.check(plan)
    var client = 0
    for (group, shape) in plan.scenario.groups.enumerated() {
      for index in 0..<(shape.channels * shape.subscribers) {
        // Slow ones stand evenly among the others: whenever the part so far passes a whole number.
        let isSlow = (Double(index + 1) * shape.slow).rounded(.down) > (Double(index) * shape.slow).rounded(.down)
        if (shape.worker ?? index % plan.workers) == plan.worker {
          subscribers.append(
            Subscriber(client: client, group: group, channel: index / shape.subscribers, isSlow: isSlow))
        }
        client += 1
      }
    }
    let publishes = plan.worker == 0 && plan.scenario.measure != .connect && plan.scenario.measure != .idle
    for (group, shape) in plan.scenario.groups.enumerated() {
      for number in 0..<shape.publishers {
        if publishes { publishers.append(Publisher(client: client, group: group, number: number)) }
        client += 1
      }
    }
  }

  private static func check(_ plan: WorkerPlan) throws(BenchError) {
    guard plan.workers > 0, (0..<plan.workers).contains(plan.worker) else {
      throw BenchError("worker \(plan.worker) of \(plan.workers) is no worker: they are numbered from 0")
    }
    let groups = plan.scenario.groups
    guard !groups.isEmpty, groups.count < 128 else {
      throw BenchError("scenario \(plan.scenario.name) has \(groups.count) groups; 1 to 127 are possible")
    }
    for group in groups {
      guard group.channels > 0, group.subscribers >= 0, group.channels * group.subscribers <= 1_000_000 else {
        throw BenchError("group \(group.name) needs a channel at least, and a million subscribers at most")
      }
      guard (Marker.length + 2...1 << 20).contains(group.payload) else {
        throw BenchError("group \(group.name): payload must be \(Marker.length + 2) bytes to 1 MiB")
      }
      guard group.rate == 0 || group.publishers > 0, group.rate >= 0, group.rate <= 10_000_000 else {
        throw BenchError("group \(group.name) has a rate without publishers, or no possible rate")
      }
      guard group.burst >= 1, (0...1).contains(group.slow) else {
        throw BenchError("group \(group.name): burst must be at least 1, and slow a part of 1")
      }
    }
  }

  static func channelName(_ group: Scenario.Group, run: String, index: Int) -> String {
    (group.namespace.isEmpty ? "" : group.namespace + ":") + "\(group.name)-\(run)-\(index)"
  }
}
