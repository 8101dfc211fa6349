public import Wire

/// Two people, in an order that does not depend on who asks.
public struct StatePair: Sendable, Codable {
  public let low: String
  public let high: String

  /// - Throws: where the two are the same user, or one is not a valid user id.
  public init(_ a: String, _ b: String) throws(ClientError) {
    for user in [a, b] { try UserIdentifier.check(user, most: StateCommand.maximumUserBytes) }
    if a.hasSameBytes(as: b) { throw .badRequest.saying("a thread is between two people; name somebody else") }
    let isOrdered = a.utf8.lexicographicallyPrecedes(b.utf8)
    low = isOrdered ? a : b
    high = isOrdered ? b : a
  }

  public subscript(side: StateSide) -> String { side == .low ? low : high }

  /// The side of a user; nil for anybody else.
  public func side(of user: String) -> StateSide? {
    if low.hasSameBytes(as: user) { return .low }
    return high.hasSameBytes(as: user) ? .high : nil
  }

  /// The key of the pair's thread record. The length says where the first name ends, whatever characters it has.
  var key: String { StateKeys.thread + "\(low.utf8.count):\(low):\(high)" }
}

extension StatePair: Equatable {
  public static func == (a: StatePair, b: StatePair) -> Bool {
    a.low.hasSameBytes(as: b.low) && a.high.hasSameBytes(as: b.high)
  }
}

/// What the keys of the app's records begin with.
enum StateKeys {
  static let thread = "state.thread:"
  static let picture = "state.picture:"
  static let person = "state.person:"
  static let view = "state.view:"
  static let news = "state.news:"
  static let badge = "state.badge:"
}

/// The channels of the app. Each belongs to one user.
enum StateChannels {
  static let threadsNamespace = "state.threads"
  static let eventsNamespace = "state.events"

  static func threads(of user: String) throws(ClientError) -> ChannelName { try channel(threadsNamespace, user) }
  static func events(of user: String) throws(ClientError) -> ChannelName { try channel(eventsNamespace, user) }

  private static func channel(_ namespace: String, _ user: String) throws(ClientError) -> ChannelName {
    do {
      return try ChannelName(namespace + ":" + user)
    } catch {
      throw .badRequest.saying("\(error)")
    }
  }

  /// The owner of a channel of the app; nil for other channels.
  static func owner(of channel: ChannelName) -> (namespace: String, user: Substring)? {
    for namespace in [threadsNamespace, eventsNamespace] {
      let prefix = namespace + ":"
      guard channel.string.utf8.starts(with: prefix.utf8) else { continue }
      let rest = channel.string.utf8.dropFirst(prefix.utf8.count)
      return rest.isEmpty ? nil : (namespace, Substring(rest))
    }
    return nil
  }
}
