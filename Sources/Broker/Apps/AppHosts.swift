import Apps
import Log
import Wire

/// The apps that are switched on.
final class AppHosts {
  private let namespaces: NamespaceTable
  /// The apps in the order in which they were installed; `byName` finds them by name.
  private(set) var all: [AppHost] = []
  private var byName: [String: AppHost] = [:]

  init(_ namespaces: NamespaceTable) { self.namespaces = namespaces }

  subscript(name: String) -> AppHost? { byName[name] }

  func add(_ host: AppHost) {
    all.append(host)
    byName[host.app.name] = host
  }

  /// The app that a command is for.
  func host(of command: AppCommand) -> AppHost? {
    // Methods are ASCII, where equal text is equal bytes.
    switch command {
    case .clique: all.first { $0.methodPrefix == "clique." }
    case .state: all.first { $0.methodPrefix == "state." }
    case .push: all.first { $0.methodPrefix == "push." }
    case .other(let other): all.first { other.method.hasPrefix($0.methodPrefix) }
    }
  }

  /// The app that a channel belongs to.
  func host(of options: ChannelOptions) -> AppHost? { options.app.flatMap { byName[$0.description] } }

  func host(of state: BrokerChannel) -> AppHost? { host(of: state.options) }

  /// The app whose rules decide about a request.
  func host(concernedBy request: BrokerRequest) -> AppHost? {
    if all.isEmpty { return nil }
    switch request {
    case .call(let call): return host(of: call.command)
    case .unread(_, let channels): return channels.lazy.compactMap { self.host(governing: $0) }.first
    default: return request.channel.flatMap { host(governing: $0) }
    }
  }

  /// The app whose rules decide who may use a channel: the one that the channel belongs to or, for a channel of
  /// receipts, the one that the channel belongs to for which the receipts are given.
  private func host(governing channel: ChannelName) -> AppHost? {
    guard let options = namespaces.options(for: channel) else { return nil }
    if let app = options.app { return byName[app.description] }
    guard options.followsChannel, let subject = try? ChannelName(channel.rest) else { return nil }
    return namespaces.options(for: subject)?.app.flatMap { byName[$0.description] }
  }

  /// When an app has something to do next, in monotonic milliseconds; `.max`: none has.
  func nextDeadline(at time: BrokerTime) -> Int64 {
    var next = Int64.max
    for host in all {
      if let refresh = host.nextTime { next = min(next, refresh) }
      if let due = host.timetable.next { next = min(next, time.deadline(ofWall: due)) }
    }
    return next
  }
}
