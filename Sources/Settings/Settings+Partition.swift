/// One broker for each partition, from the settings of all of them.
extension Settings {
  /// Whether State is in all partitions, and not at home alone (docs/decisions/0073-state-in-all-partitions.md).
  public var sharesState: Bool { state.enabled && state.partitioned && cluster.partitions > 1 }

  /// Whether Clique is in all partitions, and not at home alone (docs/decisions/0074-clique-in-all-partitions.md).
  public var sharesClique: Bool { clique.enabled && clique.partitioned && cluster.partitions > 1 }

  /// Whether brokers of other partitions than home have an app, with all that it needs.
  public var sharesApps: Bool { !sharingSettings.isEmpty }

  /// The settings by which apps are in all partitions.
  fileprivate var sharingSettings: [Setting<Bool>] {
    (sharesClique ? [clique.$partitioned] : []) + (sharesState ? [state.$partitioned] : [])
  }

  /// These settings, as the broker of one partition has them on the same machine:
  ///
  ///     data.directory               partition-P in the configured one; what an installation has once stays in that
  ///     backbone.endpoint            as ``PartitionEndpoint`` says
  ///     broker.services.tap          likewise, where services are on
  ///     broker.services.commands     empty: the broker of a partition takes none
  ///     admin.port                   1 + P ports behind the configured one, where the port is open
  ///
  /// What an installation has once (``Data/homeDirectory``) stays where it is without partitions, so that sharing the
  /// channels out loses no key and no picture.
  ///
  /// - Parameter number: the partition, from 0; less than `cluster.partitions`.
  /// - Throws: what keeps a broker from having partitions, where it is.
  public func brokerOfPartition(_ number: Int) throws(SettingsError) -> Settings {
    precondition((0..<cluster.partitions).contains(number), "there is no such partition")
    let problems = PartitionRules.problemsOfBroker(self)
    guard problems.isEmpty else { throw SettingsError(problems: problems) }
    var settings = self
    settings.cluster.partition = number
    settings.data.enterPartition(number)
    settings.state.keepPictures(in: data.homeDirectory)
    settings.backbone.enterPartition(number)
    settings.broker.services.enterPartition(number)
    settings.admin.enterPartition(number)
    return settings
  }
}

/// What is wrong with settings where channels are shared among partitions.
enum PartitionRules {
  private typealias Report = (SettingPlace, String) -> Void

  /// What is wrong whatever process has the settings.
  static func problems(_ settings: Settings) -> [SettingsError.Problem] {
    if settings.cluster.partitions == 1 { return collected { checkSharing(settings, $0) } }
    return collected { report in
      let backbone = settings.backbone
      let services = settings.broker.services
      var endpoints = services.enabled ? [services.commands: "\(services.$commands)"] : [:]
      if !backbone.isInProcess { add(backbone.$endpoint, settings, to: &endpoints, report) }
      if services.enabled { add(services.$tap, settings, to: &endpoints, report) }
      var ofBrokers: [String: String] = [:]
      for broker in backbone.brokers {
        add(Setting(broker.endpoint, backbone.$brokers.place), settings, to: &ofBrokers, report)
      }
    }
  }

  private static func checkSharing(_ settings: Settings, _ report: Report) {
    let apps = [
      ("Clique", settings.clique.enabled, settings.clique.$partitioned),
      ("State", settings.state.enabled, settings.state.$partitioned),
    ]
    for (app, isEnabled, partitioned) in apps where isEnabled && partitioned.wrappedValue {
      report(
        partitioned.place,
        "is true, but \(settings.cluster.$partitions) is 1, so there is nothing to share \(app) among; write 2 or more "
          + "there, or false here")
    }
  }

  /// What is wrong with the settings of a process that is to start brokers.
  static func problemsOfBroker(_ settings: Settings) -> [SettingsError.Problem] {
    collected { report in
      let (partitions, log, admin) = (settings.cluster.$partitions, settings.log, settings.admin)
      if log.engine != .postgres {
        report(
          partitions.place,
          "is \(partitions.wrappedValue), but \(log.$engine) is \(log.engine.rawValue), a log that one broker has; "
            + "keep the log in postgres, or write 1")
      }
      let sharing = settings.sharingSettings
      for partitioned in sharing where settings.keys.masterFile.isEmpty {
        report(
          partitioned.place,
          "is true, but \(settings.keys.$masterFile) is not set, and the brokers of all partitions need the same keys; "
            + "write the path of the master key's file there")
      }
      if log.engine == .postgres, log.postgres.outboxInterval == .zero {
        report(
          log.postgres.$outboxInterval.place,
          "is 0s, but \(partitions) is \(partitions.wrappedValue), and what partitions tell each other comes by the "
            + "outbox; write 2ms, or another time")
      }
      let last = settings.cluster.partitions
      if admin.enabled, PartitionEndpoint.port(admin.port, plus: last) == nil {
        report(
          admin.$port.place,
          "is \(admin.port), and the \(last) ports behind it are those of the partitions' brokers; write one of at most "
            + "\(65535 - last)")
      }
    }
  }

  private static func collected(_ check: (Report) -> Void) -> [SettingsError.Problem] {
    var problems: [SettingsError.Problem] = []
    check { problems.append(.init(source: $0.source, keyPath: $0.key, message: $1)) }
    return problems
  }

  /// Adds each partition's endpoint of a base, and says where there is none, or where it is another one's.
  ///
  /// - Parameter endpoints: those that are known, and whose they are.
  private static func add(
    _ base: Setting<String>, _ settings: Settings, to endpoints: inout [String: String], _ report: Report
  ) {
    let count = settings.cluster.partitions
    let shown = SettingKey.quote(base.wrappedValue)
    let others = endpoints
    for partition in 0..<count {
      guard let endpoint = PartitionEndpoint.of(partition, at: base.wrappedValue) else {
        return report(
          base.place,
          "is \(shown), beside which there is no endpoint for partition \(partition); leave room for "
            + "\(settings.cluster.$partitions): a port of at most \(65536 - count), or a path of at most "
            + "\(ZeroMQEndpoint.maximumPathBytes - ".p\(count - 1)".utf8.count) bytes")
      }
      // Where the system chooses, it chooses another one each time.
      let isChosen = endpoint.hasSuffix(":*") || endpoint.hasSuffix(":0") || endpoint == "ipc://*"
      if !isChosen, let other = others[endpoint] {
        return report(
          base.place,
          "is \(shown), and \(endpoint), which is partition \(partition)'s of it, belongs to \(other) already; leave "
            + "\(count) ports between them")
      }
      endpoints[endpoint] = base.place.key
    }
  }
}
