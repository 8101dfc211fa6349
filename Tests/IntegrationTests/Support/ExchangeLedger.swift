/// What each of two people is to hear of their thread in State, in order, by what was acknowledged.
struct ExchangeLedger {
  /// An event of `state.events:`, but for reactions.
  struct Event: Equatable {
    var name: String
    /// The phase's beginning, by the server's clock; nil: whatever it is.
    var since: Int?
    /// It may be missing, since nobody knows whether what it tells of was done: the answer came too late to be one.
    var isOptional = false
  }

  /// By user.
  private(set) var expected: [String: [Event]] = [:]

  mutating func expect(_ name: String, _ since: Int?, of users: [String], isOptional: Bool = false) {
    for user in users { expected[user, default: []].append(Event(name: name, since: since, isOptional: isOptional)) }
  }

  /// What is wrong with the events that a device was sent.
  func faults(in publications: [JSON], of user: String) -> [String] {
    var faults: [String] = []
    let offsets = publications.compactMap { $0["offset"].int }
    for (offset, next) in zip(offsets, offsets.dropFirst()) where next <= offset {
      faults.append("\(user): event \(next) came after \(offset)")
    }
    let heard = publications.map { Event(name: $0["data"]["event"].string ?? "", since: $0["data"]["since"].int) }
      .filter { $0.name != "reacted" }
    var wanted = (expected[user] ?? [])[...]
    for event in heard {
      let place = wanted.firstIndex { $0.name == event.name && ($0.since == nil || $0.since == event.since) }
      guard let place, wanted[..<place].allSatisfy(\.isOptional) else {
        let next = wanted.first.map { "\($0.name) since \($0.since ?? 0)" } ?? "nothing"
        return faults + ["\(user) heard \(event.name) since \(event.since ?? 0) where \(next) was to come"]
      }
      wanted = wanted[(place + 1)...]
    }
    return faults + wanted.filter { !$0.isOptional }.map { "\(user) did not hear \($0.name) since \($0.since ?? 0)" }
  }
}
