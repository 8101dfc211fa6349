/// What a person is to be told of a thread of another partition: home keeps it, since it knows the person's devices.
struct StateHeldNews: AppRecord {
  var user: String
  var with: String
  var news: StateNews

  var due: Int64? { nil }

  static func key(of user: String, with other: String) -> String {
    StateKeys.news + "\(user.utf8.count):\(user):\(other)"
  }
}

/// How many threads of other partitions await a person's answer, for the badge.
struct StateBadge: AppRecord {
  /// By partition. None is 0.
  var received: [Int: Int] = [:]

  var due: Int64? { nil }
  var count: Int { received.values.reduce(0, +) }
}
