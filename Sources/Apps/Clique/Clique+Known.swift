import Wire

/// Who is known to the server: whoever has called a method of Clique, from a phone or by a service in their name.
///
/// Only where ``CliqueRules/knownUsersOnly`` asks for it is anybody noted, and is a request to somebody unknown refused.
/// What is noted is a digest, and it stays when the user's data is deleted: a request to somebody who has gone looks as it
/// did before, like one that nobody answers.
extension Clique {
  struct Known: AppRecord {
    var due: Int64? { nil }
  }

  /// The decision of a command, which makes its caller known.
  func noting(_ call: AppCall, _ decision: AppDecision, _ view: any AppView) throws(ClientError) -> AppDecision {
    guard rules.knownUsersOnly, case .reply = decision.answer else { return decision }
    let key = Key.known(call.user)
    if try view.record(Known.self, key) != nil { return decision }
    var decision = decision
    decision.effects.append(.write(key: key, Known()))
    for place in places?.others ?? [] { decision.effects.append(try relay(.known(key), to: place, view)) }
    return decision
  }

  /// - Parameter stored: what is known to stand between the two; where there is anything, the other was known once.
  /// - Throws: where the other is not known. Whether they have blocked the caller, or have gone, makes no difference.
  func checkKnown(_ other: String, _ stored: Pair?, _ view: any AppView) throws(ClientError) {
    guard rules.knownUsersOnly, stored == nil, try view.record(Known.self, Key.known(other)) == nil else { return }
    throw ClientError.permissionDenied.saying("nobody of this name is known here; check how it is spelt")
  }
}

extension Clique.Key {
  static func known(_ user: String) -> String { "known/" + CliqueIdentifier.hex(["known", user]) }
}
