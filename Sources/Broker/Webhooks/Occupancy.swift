import Log
import Wire

/// Which channels webhooks were told of as occupied: in memory, and on disk as entries of a hidden map, so that a
/// restart tells nothing twice and forgets no end. Only channels of which some webhook wants to know stand here.
///
/// States of a channel:
/// - vacant: not in the table. Can transition to: announcing (somebody comes).
/// - announcing: that it is occupied is on its way to the disk. Can transition to: occupied, settling (everybody has
///   left meanwhile), vacant (the disk refused; looked at again).
/// - occupied. Can transition to: settling (the last one leaves).
/// - settling: nobody is there, which is not told yet: a page that is loaded again is no pair of events. Can transition
///   to: occupied (somebody comes), retracting (its time has come).
/// - retracting: that it is vacated is on its way to the disk. Can transition to: vacant; announcing (somebody has come
///   meanwhile); settling (the disk refused).
final class Occupancy {
  enum Place { case announcing, occupied, settling, retracting }

  /// What is to be written.
  enum Notice: Equatable { case occupied, vacated }

  private(set) var places: [ChannelName: Place] = [:]
  /// When channels are to be looked at, in monotonic milliseconds: those that settle, and those of which the disk did
  /// not take the notice.
  private var due = DueIndex<ChannelName>()
  private(set) var state: BrokerChannel
  /// Milliseconds for which nobody must have been there.
  private let settleTime: Int64
  /// Milliseconds until a notice that the disk did not take is tried again.
  static let again: Int64 = 1000
  /// Channels that are looked at in one turn at most.
  static let perTurn = 500

  static let channel: ChannelName = {
    guard let name = try? ChannelName("fanfare.occupied:all") else {
      preconditionFailure("the name of the map of occupied channels is a valid one")
    }
    return name
  }()

  static let question = LogQuestion.open(channel, .durable, withEntries: true, ifExists: false)

  init(settleTime: Int64, store: any LogStore) {
    self.settleTime = settleTime
    state = Self.state(store, OpenedChannel(position: StreamPosition(epoch: "", offset: 0)))
  }

  private static func state(_ store: any LogStore, _ opened: OpenedChannel) -> BrokerChannel {
    BrokerChannel(name: channel, options: AppHost.recordsOptions, store: store, opened: opened, isHidden: true)
  }

  var nextTime: Int64? { due.nextTime }

  /// Takes in what a process before this one has told.
  ///
  /// - Parameter patience: milliseconds until gateways have named their channels again.
  func loaded(_ opened: OpenedChannel, at now: Int64, patience: Int64) {
    state = Self.state(state.store, opened)
    places = [:]
    due = DueIndex()
    for entry in opened.entries {
      guard let key = entry.change?.key, let name = try? ChannelName(key, limit: .max) else { continue }
      places[name] = .settling
      due.set(name, at: now + max(settleTime, patience))
    }
  }

  /// - Returns: what is to be written now; nil: nothing.
  func arrived(_ name: ChannelName) -> Notice? {
    switch places[name] {
    case nil:
      due.remove(name)
      places[name] = .announcing
      return .occupied
    case .settling:
      due.remove(name)
      places[name] = .occupied
    case .announcing, .occupied, .retracting: break
    }
    return nil
  }

  /// Nobody is subscribed any more.
  func left(_ name: ChannelName, at now: Int64) {
    guard places[name] == .occupied else { return }
    settle(name, at: now + settleTime)
  }

  private func settle(_ name: ChannelName, at time: Int64) {
    places[name] = .settling
    due.set(name, at: time)
  }

  /// The next channel whose time has come.
  ///
  /// - Parameter isThere: whether somebody is subscribed to a channel.
  /// - Returns: what is to be written of it; nil where no time has come.
  func next(at now: Int64, _ isThere: (ChannelName) -> Bool) -> (name: ChannelName, notice: Notice)? {
    while let name = due.next(upTo: now) {
      switch (places[name], isThere(name)) {
      case (.settling, false):
        places[name] = .retracting
        return (name, .vacated)
      case (.settling, true): places[name] = .occupied
      case (nil, true):
        places[name] = .announcing
        return (name, .occupied)
      case (nil, false), (.announcing, _), (.occupied, _), (.retracting, _): break
      }
    }
    return nil
  }

  /// The notice under way is on disk.
  ///
  /// - Returns: what is to be written then; nil: nothing.
  func written(_ name: ChannelName, isThere: Bool, at now: Int64) -> Notice? {
    switch places[name] {
    case .announcing:
      if isThere { places[name] = .occupied } else { settle(name, at: now + settleTime) }
    case .retracting:
      places[name] = nil
      if isThere { return arrived(name) }
    case .occupied, .settling, nil: break
    }
    return nil
  }

  /// The log did not take the notice.
  func failed(_ name: ChannelName, at now: Int64) {
    switch places[name] {
    case .announcing:
      places[name] = nil
      due.set(name, at: now + Self.again)
    case .retracting: settle(name, at: now + Self.again)
    case .occupied, .settling, nil: break
    }
  }
}
