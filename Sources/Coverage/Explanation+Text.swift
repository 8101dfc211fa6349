import Foundation
import Wire

extension Explanation {
  /// The answer in one sentence.
  public var sentence: String {
    let what = "publication \(facts.position.offset) of \(facts.channel)"
    if verdict == .noSuchPublication {
      return facts.top.offset == 0
        ? "There is no \(what): nothing was published on the channel."
        : "There is no \(what): the newest one is \(facts.top.offset)."
    }
    let no = "No: \(what) did not reach user \(user)"
    switch verdict {
    case .delivered: return "Yes: \(what) reached user \(user): " + (devices.first?.sentence(facts) ?? "") + "."
    case .perhaps: return "Perhaps: " + (devices.first?.sentence(facts) ?? "") + claim + "."
    case .underWay: return "Not yet: " + (devices.first?.sentence(facts) ?? "") + "."
    case .unknown: return "It is not known whether \(what) reached user \(user)."
    case .notSubscribed where devices.isEmpty: return "\(no): no subscription of theirs was there for it."
    case .away: return "\(no): " + (devices.first?.sentence(facts) ?? "") + "; " + sequel + "."
    default: return "\(no): " + (devices.first?.sentence(facts) ?? "") + "."
    }
  }

  /// Where the process died that knew: what a client said of itself afterwards.
  private var claim: String {
    guard devices.first?.finding == .perhaps(.died), let later = devices.first(where: { $0.finding == .claimed }) else {
      return ""
    }
    return "; \(later.sentence(facts))"
  }

  /// What became of a user who was away.
  private var sequel: String {
    guard let back = devices.first(where: { $0.finding == .before }) else {
      return "nobody of theirs has come back to the channel and recovered it since"
    }
    return "connection \(back.interval.client) subscribed at \(Self.time(back.interval.start.at)) "
      + "without asking for what was before"
  }

  /// The notes as sentences.
  public var noteSentences: [String] {
    notes.map { note in
      switch note {
      case .formerEpoch:
        "The channel's epoch is \"\(facts.top.epoch)\" now: of a former one it is not known which publications there were."
      case .notKept:
        "The publication is not kept in the channel's history, so what filters make of it is not known."
      case .unanswered(let count): "\(count) of the gateways did not answer: what they know is missing. Ask again."
      case .switchedOff: "Not every gateway keeps intervals of subscriptions (why.enabled)."
      case .keptSince(let time): "Subscriptions that ended before \(Self.time(time)) are not known any more."
      case .noGateway: "No gateway is connected to the broker, and gateways keep what is needed to tell."
      case .unreadable: "A gateway could not read its file of intervals; see its log."
      case .sealed(.untilAnswered):
        "What it tells of is sealed: neither of the two sees what the other has sent before both have answered (State)."
      case .sealed(.forEver):
        "What it tells of was never answered, and stays sealed for ever (State)."
      case .suspended: "The user is suspended now (user_suspend), so no connection of theirs is let in."
      case .lostRecords(let count):
        "\(count) records of subscriptions could not be written since a gateway started; see its log."
      }
    }
  }

  /// A time as people and programs read it: 2026-05-04T12:30:00Z.
  static func time(_ milliseconds: Int64) -> String {
    // The last second of the year 9999, which is as long as the format holds.
    let seconds = min(max(milliseconds / 1000, 0), 253_402_300_799)
    return Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
  }
}

extension Explanation.Device {
  /// What this subscription says, without a full stop.
  public func sentence(_ facts: PublicationFacts) -> String {
    let who = "connection \(interval.client)"
    let began = Explanation.time(interval.start.at)
    switch finding {
    case .delivered: return "written to the socket of \(who) \(span(facts))"
    case .recovered: return "sent to \(who) with the answer to its subscribe at \(began), which recovered it"
    case .claimed:
      return "\(who) came at \(began) with position \(interval.start.since?.offset ?? 0) already"
    case .perhaps(let doubt): return sentence(doubt, who, facts)
    case .underWay: return "\(who) is subscribed since \(began), and it has not been written to its socket yet"
    case .unwritten: return "it waited for \(who) to read what came before it, and then \(end)"
    case .filtered(by: .own): return "the filter that \(who) asked for does not let it through: \(ownFilter)"
    case .filtered(by: .audience):
      return "the app does not let the user see it (a block, or it is for others); what \(who) may see: \(audience)"
    case .gap:
      return "\(who) came at \(began) and asked for everything since \(interval.start.since?.offset ?? 0), "
        + "which could not be had whole any more"
    case .before: return "\(who) subscribed after it, at \(began), and did not ask for what was before"
    case .after: return "\(who) was not subscribed any more: \(end)"
    case .unsent: return "\(who) had not signed in yet when \(end)"
    case .refused: return "\(who) was refused the subscription at \(endTime): \(refusal)"
    }
  }

  private func sentence(_ doubt: CoverageFinding.Doubt, _ who: String, _ facts: PublicationFacts) -> String {
    switch doubt {
    case .queued:
      interval.end == nil
        ? "it was handed to \(who), whose queue has not gone out yet"
        : "it was handed to \(who), whose queue had not gone out when \(end)"
    case .conflated:
      "\(who) was subscribed, in a lane that leaves out what a newer publication of the same key replaces where a reader "
        + "lags; " + conflation(facts)
    case .filterUnknown: unknownFilter(who, facts)
    case .died: "\(who) was subscribed, and \(certainty): \(end)"
    case .notAsked: "\(who) is subscribed, and how far it is could not be asked; ask again"
    }
  }

  /// What is known all the same in a lane that leaves publications out.
  private func conflation(_ facts: PublicationFacts) -> String {
    facts.isNewestOfKey
      ? "nothing newer has replaced this one, so it is left out for nobody who reads on"
      : "what is sure is that the newest of each key goes out"
  }

  /// Nothing can be held against the filter any more: says what the filter was, and what follows where it let it
  /// through.
  private func unknownFilter(_ who: String, _ facts: PublicationFacts) -> String {
    var parts: [String] = []
    if interval.start.filter != nil { parts.append("the filter \(ownFilter)") }
    if interval.start.audience != nil, !isVeiled { parts.append("what the app let the user see: \(audience)") }
    let subscribed =
      parts.isEmpty
      ? "\(who) was subscribed, to a part of the channel perhaps, and the publication is not kept any more: whether it "
        + "was for the user cannot be told"
      : "\(who) was subscribed with " + parts.joined(separator: ", and ")
        + ", and the publication is not kept any more: its tags cannot be held against that"
    guard let sure = interval.sure, facts.position.offset <= sure, !interval.start.isConflated else {
      return subscribed
    }
    return subscribed + "; if it was let through, it was "
      + (facts.position.offset <= interval.start.position.offset
        ? "sent with the answer to the subscribe" : "written to the socket \(span(facts))")
  }

  /// How far it is known what a process that died had sent.
  private var certainty: String {
    guard let sure = interval.sure else {
      return "how far it came is not known, since its gateway had noted no more than that it began, at offset "
        + "\(interval.start.position.offset)"
    }
    return "it is known that everything up to \(sure) was written to its socket, where its gateway noted that last, "
      + "and not how far it came after that"
  }

  private var ownFilter: String { interval.start.filter?.text() ?? "everything" }
  private var audience: String { interval.start.audience?.text() ?? "everything" }

  /// When it was written: not before it was published, and within the subscription.
  private func span(_ facts: PublicationFacts) -> String {
    let from = max(interval.start.at, facts.publication?.time ?? 0)
    guard let end = interval.end else { return "since \(Explanation.time(from))" }
    return "between \(Explanation.time(from)) and \(Explanation.time(end.at))"
  }

  private var endTime: String { interval.end.map { Explanation.time($0.at) } ?? "now" }

  /// How the subscription ended, as a clause.
  private var end: String {
    guard let end = interval.end else { return "the subscription is there" }
    if isVeiled, end.cause.isVeiled { return "the subscription ended at \(endTime)" }
    switch end.cause {
    case .unsubscribed: return "it unsubscribed at \(endTime)"
    case .removed: return "the server ended its subscription at \(endTime) (\(end.code))"
    case .lost: return "publications were lost on the way to its gateway at \(endTime), and it was told to recover"
    case .expired: return "its subscription token expired at \(endTime)"
    case .excluded: return "the app no longer let the user see the channel from \(endTime) on"
    case .disconnected: return disconnected(end.code)
    case .gone: return "the client or the network ended the connection at \(endTime)"
    case .refiltered: return "what the user may see of the channel changed at \(endTime)"
    case .died: return "its gateway's process died at some time after \(endTime)"
    case .refused: return "it was refused at \(endTime)"
    }
  }

  private func disconnected(_ code: UInt32) -> String {
    switch code {
    case UInt32(DisconnectCode.slow.code):
      "the connection was closed at \(endTime) because it read too slowly (\(code))"
    case UInt32(DisconnectCode.insufficientState.code):
      "publications were lost on the way to its gateway, and the connection was closed at \(endTime) to recover "
        + "(\(code))"
    default: "the server closed the connection at \(endTime) (\(code))"
    }
  }

  private var refusal: String {
    let code = interval.end?.code ?? 0
    return switch code {
    case ClientError.permissionDenied.code: "the user may not subscribe (error \(code))"
    case ClientError.limitExceeded.code, ClientError.tooManyRequests.code: "a limit was hit (error \(code))"
    case ClientError.unrecoverablePosition.code: "what it had missed could not be had whole (error \(code))"
    default: "error \(code)"
    }
  }
}
