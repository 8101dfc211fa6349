/// What a thread of another partition shows a person: from this record the list is worked out.
///
/// Its phase is as the thread's partition says, and ends when that says so. Texts go by themselves when their time is over,
/// as that partition may have no broker then.
struct StateView: AppRecord {
  /// Whose view it is. The entry says with whom.
  var user: String
  /// As the log keeps it.
  var entry: StateListEntry
  /// When the texts are to go, in milliseconds since 1970; nil: there are none.
  var due: Int64?

  init(of user: String, _ entry: StateListEntry) {
    self.user = user
    self.entry = entry
    due = entry.hasText ? entry.until : nil
  }

  static func key(of user: String, with other: String) -> String {
    StateKeys.view + "\(user.utf8.count):\(user):\(other)"
  }
}

extension StateListEntry {
  /// Whether the log keeps texts with it, encrypted.
  var hasText: Bool { [mine, theirs].contains { $0?.sealed != nil || $0?.sealedReaction != nil } }

  mutating func removeTexts() {
    for side in [\StateListEntry.mine, \StateListEntry.theirs] {
      self[keyPath: side]?.caption = nil
      self[keyPath: side]?.sealed = nil
      self[keyPath: side]?.reaction = nil
      self[keyPath: side]?.sealedReaction = nil
    }
  }
}
