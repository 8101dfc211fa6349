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
    return nil
  }

  /// Somebody's channel of events says with whom a thread has changed.
  public func names(_ users: SoughtUsers, _ publication: Publication, on channel: ChannelName) -> Bool {
    guard StateChannels.owner(of: channel)?.namespace == StateChannels.eventsNamespace,
      let notice = try? StateJSON.decode(NamedInNotice.self, publication.data)
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
    var effects = try change(from: before, to: thread, view).filter { effect in
      if case .publish = effect { false } else { true }
    }
    if gone.count == 1, before.blocks[gone[0].other] {
      effects.append(.write(key: StateBar.key(of: people), StateBar(by: gone[0].other)))
    }
    return AppDecision(effects + [.scrub])
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
