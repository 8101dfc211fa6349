import Wire

/// What one event loop found for an inspection.
struct LoopInspection: Sendable {
  var channel: ChannelReport?
  var clients: [ClientReport] = []
  /// Connections that fit and are not among ``clients``, because there are too many.
  var leftOut = 0
  /// How many connections of the user there are for each verdict.
  var verdicts: [AccessTally] = []
  var top = TopFindings()

  mutating func add(_ other: LoopInspection) {
    if let channel = other.channel { self.channel = self.channel.map { $0 + channel } ?? channel }
    clients += other.clients
    leftOut += other.leftOut
    for tally in other.verdicts { count(tally) }
    top.add(other.top)
  }

  mutating func count(_ tally: AccessTally) {
    if let place = verdicts.firstIndex(where: { $0.isSame(as: tally) }) {
      verdicts[place].connections += tally.connections
    } else {
      verdicts.append(tally)
    }
  }
}

/// Connections of one user that may, or may not, do something for the same reason.
struct AccessTally: Sendable {
  var verdict: AccessVerdict
  /// Whether they are subscribed to the channel.
  var isSubscribed: Bool
  var connections: Int

  func isSame(as other: AccessTally) -> Bool { verdict == other.verdict && isSubscribed == other.isSubscribed }
}

/// What event loops have of a channel.
struct ChannelReport: Sendable {
  var subscribers = 0
  var tapes = 0
  /// Subscribers that are behind.
  var laggards = 0
  /// Bytes that tapes keep for subscribers that are behind, or for the lap at hand.
  var keptBytes: UInt64 = 0
  /// Bytes that were put on tapes since they were made.
  var bytes: UInt64 = 0

  static func + (a: ChannelReport, b: ChannelReport) -> ChannelReport {
    ChannelReport(
      subscribers: a.subscribers + b.subscribers, tapes: a.tapes + b.tapes, laggards: a.laggards + b.laggards,
      keptBytes: a.keptBytes + b.keptBytes, bytes: a.bytes + b.bytes)
  }

  func write(to writer: inout JSONWriter) {
    writer.write("subscribers", subscribers)
    writer.write("tapes", tapes)
    writer.write("subscribers_behind", laggards)
    writer.write("kept_bytes", keptBytes)
    writer.write("bytes", bytes)
  }
}

/// What an event loop has of one connection.
struct ClientReport: Sendable {
  struct Subscription: Sendable {
    var channel: ChannelName
    /// `live`, or what it waits for.
    var phase: String
    var isServerSide: Bool
    var hasFilter: Bool
    /// Seconds since 1970; nil: never.
    var expiresAt: Int64?
    /// Bytes of the channel that the client has not been sent; nil: it is not subscribed yet.
    var behindBytes: UInt64?
  }

  var client: String
  var user: String
  var address: String
  var format: String
  /// Name and version of the SDK as it gave them; empty: it gave none.
  var software: String
  /// Seconds since 1970 at which the connection was opened.
  var since: Int64
  var waitingBytes: Int
  var askedBytes: Int
  /// Milliseconds until the client is read again, because it was too fast; 0: it does not rest.
  var restMilliseconds: Int64
  /// The client's commands are read later for some reason.
  var isReadLater: Bool
  var subscriptionCount: Int
  var subscriptions: [Subscription]
  /// Subscriptions that are not listed: too many, or on channels that the answer may not name.
  var unlisted: Int

  func write(to writer: inout JSONWriter) {
    writer.write("client", client)
    writer.write("user", user)
    writer.write("address", address)
    writer.write("format", format)
    if !software.isEmpty { writer.write("sdk", software) }
    writer.write("since", since)
    writer.write("waiting_bytes", waitingBytes)
    writer.write("asked_bytes", askedBytes)
    if restMilliseconds > 0 { writer.write("rests_ms", restMilliseconds) }
    if isReadLater { writer.write("read_later", true) }
    writer.write("num_subs", subscriptionCount)
    writer.list("subscriptions") { writer in
      for subscription in subscriptions {
        writer.object { writer in
          writer.write("channel", subscription.channel.string)
          if subscription.phase != "live" { writer.write("phase", subscription.phase) }
          if subscription.isServerSide { writer.write("server_side", true) }
          if subscription.hasFilter { writer.write("filtered", true) }
          if let expiresAt = subscription.expiresAt { writer.write("expire_at", expiresAt) }
          if let bytes = subscription.behindBytes { writer.write("behind_bytes", bytes) }
        }
      }
    }
    if unlisted > 0 { writer.write("unlisted_subs", unlisted) }
  }
}

extension SessionDriver {
  /// - Parameter most: subscriptions to list at most.
  func report(_ request: InspectRequest, most: Int, software: String, in hub: Hub, at time: SessionTime) -> ClientReport
  {
    var listed: [ClientReport.Subscription] = []
    for (channel, subscription) in session.subscriptions.sorted(by: { $0.key < $1.key }) {
      if listed.count >= most { break }
      guard request.mayName(channel) else { continue }
      listed.append(
        .init(
          channel: channel, phase: subscription.phase.name, isServerSide: subscription.isServerSide,
          hasFilter: subscription.filter != nil,
          expiresAt: subscription.expiresAt < .max ? subscription.expiresAt : nil,
          behindBytes: hub.behindBytes(of: self, on: channel)))
    }
    let rest = session.rates.map { $0.restUntil == .max ? 0 : max(0, $0.restUntil - time.monotonic) } ?? 0
    return ClientReport(
      client: client, user: user, address: address, format: "\(format)", software: software, since: openedAt,
      waitingBytes: outlet.unaskedBytes, askedBytes: outlet.askedBytes, restMilliseconds: rest,
      isReadLater: session.isInputHeld || !session.wantsInput, subscriptionCount: session.subscriptions.count,
      subscriptions: listed, unlisted: session.subscriptions.count - listed.count)
  }
}

extension SessionSubscription.Phase {
  fileprivate var name: String {
    switch self {
    case .checkingToken: "checking_token"
    case .subscribing: "subscribing"
    case .abandoned: "ended"
    case .live: "live"
    }
  }
}

extension Hub {
  func report(on channel: ChannelName) -> ChannelReport {
    var report = ChannelReport(subscribers: clientCount(on: channel), tapes: tapeCount(on: channel))
    for tape in publicationTapes(of: channel) {
      report.laggards += tape.laggards
      report.keptBytes += tape.end - tape.base
      report.bytes += tape.end
    }
    return report
  }

  /// Bytes of the channel that stand on its tapes and that the session has not been sent; nil: it has no seat there.
  func behindBytes(of session: SessionDriver, on channel: ChannelName) -> UInt64? {
    for tape in publicationTapes(of: channel) {
      if let place = tape.place(of: session.outlet.id) { return tape.end - min(tape.end, tape.seats[place].cursor) }
    }
    return nil
  }
}
