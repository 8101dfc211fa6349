import Wire

extension Explanation {
  /// What a gateway's intervals say of the publication, each with its finding.
  ///
  /// Where the app changes what a user may see, one interval ends and the next goes on where it ended. Neither has
  /// anything to say of what is the other's: that one was not there any more, or came later.
  ///
  /// - Parameter hides: whoever asks must not be told what an app keeps from the user. An exclusion is left out, and the
  ///   intervals between which the audience changed look like one.
  static func devices(_ facts: PublicationFacts, _ intervals: [CoverageInterval], hides: Bool) -> [Device] {
    let sequels = Self.sequels(in: intervals)
    let continued = Set(sequels.values)
    var devices: [Device] = []
    for (place, interval) in intervals.enumerated() {
      guard let finding = interval.finding(of: facts, hidesFilters: hides) else { continue }
      if finding == .before, continued.contains(place) { continue }
      if finding == .after, sequels[place] != nil { continue }
      var device = Device(interval: interval, finding: finding, isVeiled: hides)
      if hides {
        if device.isExclusion { continue }
        device.interval = joined(place, intervals, sequels)
      }
      devices.append(device)
    }
    return devices
  }

  /// For each interval that ended because the audience changed, the one that goes on in its place.
  private static func sequels(in intervals: [CoverageInterval]) -> [Int: Int] {
    var sequels: [Int: Int] = [:]
    for (place, interval) in intervals.enumerated() where interval.end?.cause == .refiltered {
      let next = intervals.indices.dropFirst(place + 1).first { intervals[$0].continues(interval) }
      if let next { sequels[place] = next }
    }
    return sequels
  }

  /// The subscription that an interval is a part of, as if the audience had never changed.
  private static func joined(
    _ place: Int, _ intervals: [CoverageInterval], _ sequels: [Int: Int]
  ) -> CoverageInterval {
    var (first, last) = (place, place)
    while let before = sequels.first(where: { $0.value == first })?.key { first = before }
    while let next = sequels[last] { last = next }
    var whole = intervals[first]
    (whole.reach, whole.end, whole.start.audience) = (intervals[last].reach, intervals[last].end, nil)
    return whole
  }
}

extension CoverageInterval {
  /// Whether this one begins where another ended because the audience changed.
  fileprivate func continues(_ other: CoverageInterval) -> Bool {
    client == other.client && start.since == nil && start.at == other.end?.at
      && start.position.epoch.hasSameBytes(as: other.start.position.epoch)
      && start.position.offset == other.covered
  }
}

extension CoverageEnd.Cause {
  /// Looks the same as an end by the app to whoever may not know of that.
  var isVeiled: Bool {
    switch self {
    case .unsubscribed, .removed, .excluded, .refiltered: true
    case .lost, .expired, .disconnected, .gone, .died, .refused: false
    }
  }
}
