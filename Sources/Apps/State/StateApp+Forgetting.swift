import Foundation
public import Wire

/// What becomes of threads, people and pictures when a user's data is deleted (docs/PRIVACY.md).
extension StateApp {
  public func channels(of user: String) -> [ChannelName] {
    [try? StateChannels.threads(of: user), try? StateChannels.events(of: user)].compactMap(\.self)
  }

  public func forget(
    _ users: SoughtUsers, in key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    if key.utf8.starts(with: StateKeys.thread.utf8) { return try forgetThread(users, key, view) }
    if key.utf8.starts(with: StateKeys.person.utf8) { return try forgetPerson(users, key, view) }
    if key.utf8.starts(with: StateKeys.picture.utf8) { return try forgetPicture(users, key, view) }
    if key.utf8.starts(with: StateKeys.view.utf8) { return try forgetView(users, key, view) }
    if key.utf8.starts(with: StateKeys.news.utf8) { return try forgetNews(users, key, view) }
    if key.utf8.starts(with: StateKeys.badge.utf8) {
      let user = String(decoding: key.utf8.dropFirst(StateKeys.badge.utf8.count), as: UTF8.self)
      guard users.contains(user), try view.record(StateBadge.self, key) != nil else { return nil }
      return AppDecision([.erase(key: key)])
    }
    return nil
  }

  /// Somebody's channel of events says with whom a thread has changed.
  public func names(_ users: SoughtUsers, _ publication: Publication, on channel: ChannelName) -> Bool {
    guard StateChannels.owner(of: channel)?.namespace == StateChannels.eventsNamespace,
      let notice = try? AppJSON.decode(NamedInNotice.self, publication.data)
    else { return false }
    return users.contains(notice.with)
  }

  private struct NamedInNotice: Decodable {
    var with: String
  }

  /// Ends a thread for both: its keys are destroyed, sent or received, revealed or not. The other keeps nothing of it,
  /// as after its end; a block by the other stays, as a digest.
  private func forgetThread(
    _ users: SoughtUsers, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard let before = try view.record(StateThread.self, key) else { return nil }
    let people = before.people
    let gone = StateSide.allCases.filter { users.contains(people[$0]) }
    if gone.isEmpty { return nil }
    let thread = StateThread(people: people)
    // Neither is told: who is forgotten has no channel any more, and the other's would keep the name.
    var effects = try change(from: before, to: thread, isTold: false, view)
    if gone.count == 1, before.blocks[gone[0].other] {
      effects.append(.write(key: StateBar.key(of: people), StateBar(by: gone[0].other)))
    }
    return AppDecision(effects + [.scrub])
  }

  /// The list of the other of the two loses the entry. That of the forgotten one goes as a whole.
  private func forgetView(
    _ users: SoughtUsers, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard let shown = try view.record(StateView.self, key) else { return nil }
    if users.contains(shown.user) { return AppDecision([.erase(key: key), .scrub]) }
    guard users.contains(shown.entry.with) else { return nil }
    let list = try StateChannels.threads(of: shown.user)
    return AppDecision([.erase(key: key), .refresh(list, key: shown.entry.with, .atomically), .scrub])
  }

  private func forgetNews(
    _ users: SoughtUsers, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard let held = try view.record(StateHeldNews.self, key), users.contains(held.user) || users.contains(held.with)
    else { return nil }
    return AppDecision([.erase(key: key), Self.announcement(of: nil, to: held.user, about: held.with)])
  }

  private func forgetPerson(
    _ users: SoughtUsers, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard var person = try view.record(StatePerson.self, key) else { return nil }
    let user = String(decoding: key.utf8.dropFirst(StateKeys.person.utf8.count), as: UTF8.self)
    guard users.contains(user) else {
      let count = person.recordings.count
      person.recordings.removeAll { users.contains($0.with) }
      if person.recordings.count == count { return nil }
      return AppDecision([try change(of: user, to: person, view)].compactMap(\.self))
    }
    let unsent = person.unsent
    let pictures: [AppEffect] = unsent.isEmpty ? [] : [.discardPictures(unsent)]
    return AppDecision(unsent.map { .erase(key: StateKeys.picture + $0) } + pictures + [.erase(key: key), .scrub])
  }

  /// A picture that was sent goes with its thread, whoever of the two has sent it.
  private func forgetPicture(
    _ users: SoughtUsers, _ key: String, _ view: any AppView
  ) throws(ClientError) -> AppDecision? {
    guard let picture = try view.record(StatePicture.self, key) else { return nil }
    if let thread = picture.thread {
      if try view.record(StateThread.self, thread) != nil { return nil }
    } else if !users.contains(picture.owner) {
      return nil
    }
    return AppDecision([.erase(key: key), .discardPictures([picture.id]), .scrub])
  }
}

/// Says that one of two people blocks the other, whose data was deleted: under a digest of the two ids, so that it holds
/// if somebody comes back under the same id, and names nobody.
struct StateBar: AppRecord {
  var by: StateSide

  var due: Int64? { nil }

  static func key(of people: StatePair) -> String {
    "state.bar:" + CliqueIdentifier.hex(["state.bar", people.low, people.high])
  }
}
