/// What a scenario must fulfil beyond the kind of each of its values.
enum ScenarioRules {
  /// Bytes that a publication may have: with fewer there is no room for the marker and JSON's quotation marks.
  static let payloads = (Marker.length + 2)...(1 << 20)

  static func check(_ scenario: Scenario, file: String) throws(BenchError) {
    func wrong(_ sentence: String) -> BenchError { BenchError("\(file): \(sentence)") }
    var names: Set<String> = []
    for (index, group) in scenario.groups.enumerated() {
      let place = "group \(index) (\"\(group.name)\")"
      guard isName(group.name), group.namespace.isEmpty || isName(group.namespace) else {
        throw wrong("the name and the namespace of \(place) may have letters, digits, \"_\" and \"-\" only.")
      }
      guard names.insert(group.name).inserted else {
        throw wrong("two groups are called \"\(group.name)\"; give each a name of its own.")
      }
      guard group.channels.multipliedReportingOverflow(by: max(group.subscribers, 1)).partialValue <= 1_000_000 else {
        throw wrong("\(place) has more than a million subscribers; take fewer channels or subscribers.")
      }
      if let worker = group.worker, worker >= scenario.workers {
        throw wrong(
          "\(place) is for worker \(worker), and there are \(scenario.workers), numbered from 0; set \"workers\".")
      }
      guard group.rate == 0 || group.publishers > 0 else {
        throw wrong("\(place) has a rate and no publishers; set \"publishers\" to 1 or more.")
      }
      guard group.publishers <= group.channels else {
        throw wrong(
          "\(place) has \(group.publishers) publishers for \(group.channels) channels; a channel has one publisher, so "
            + "take as many at most.")
      }
    }
    guard scenario.groups.contains(where: { $0.subscribers > 0 }) else {
      throw wrong("no group has subscribers; set \"groups.0.subscribers\".")
    }
    try checkMeasure(scenario, wrong)
    do throws(BenchError) {
      _ = try scenario.template?.compiled(channels: scenario.groups.reduce(0) { $0 + $1.channels })
    } catch { throw wrong(error.description) }
    try check(scenario.goals ?? [], of: scenario, wrong)
    guard !scenario.peers.isEmpty else { throw wrong("\"peers\" must name one peer at least.") }
    for setting in scenario.settings where !setting.contains("=") || setting.hasPrefix("=") {
      throw wrong("the setting \"\(setting)\" must be like client.ping_interval=5m.")
    }
  }

  private static func checkMeasure(
    _ scenario: Scenario, _ wrong: (String) -> BenchError
  ) throws(BenchError) {
    let publishes = scenario.groups.contains { $0.rate > 0 }
    switch scenario.measure {
    case .delivery, .saturation, .resume:
      guard publishes else {
        throw wrong("a run of the kind \"\(scenario.measure.rawValue)\" publishes: set \"groups.0.rate\" (--rate).")
      }
    case .connect, .idle:
      guard !publishes else {
        throw wrong("a run of the kind \"\(scenario.measure.rawValue)\" publishes nothing: leave \"rate\" out.")
      }
    }
    guard scenario.measure == .saturation || scenario.ramp == nil else {
      throw wrong("\"ramp\" belongs to \"measure\": \"saturation\".")
    }
    guard scenario.measure == .resume || scenario.missed == nil else {
      throw wrong("\"missed\" belongs to \"measure\": \"resume\".")
    }
    guard scenario.measure != .saturation || scenario.groups[0].rate > 0 else {
      throw wrong("a saturation run raises the first group's rate: set \"groups.0.rate\".")
    }
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 64
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
      }
  }
}
