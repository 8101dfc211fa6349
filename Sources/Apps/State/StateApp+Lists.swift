import Wire

/// Entries of thread lists.
extension StateApp {
  func entry(of thread: StateThread, for me: StateSide) throws(ClientError) -> AppEntry? {
    guard let entry = listEntry(of: thread, for: me) else { return nil }
    return try shown(entry)
  }

  /// A thread's entry as the log keeps it; nil: the thread has none.
  func listEntry(of thread: StateThread, for me: StateSide) -> StateListEntry? {
    let phase = thread.phase(of: me)
    var entry = StateListEntry(with: thread.people[me.other], phase: phase, colour: phase.colour)
    if phase != .idle {
      entry.since = thread.since
      entry.until = thread.until
      entry.limit = thread.answerLimit(for: me)
    } else if thread.blocks[me] {
      entry.blocked = true
    } else {
      return nil
    }
    guard phase == .revealed, case .revealed(let both) = thread.standing else { return entry }
    entry.unread = !thread.seen[me]
    entry.mine = StateListEntry.Contents(both[me])
    entry.theirs = StateListEntry.Contents(both[me.other])
    return entry
  }

  /// The entry with what its user sees.
  func shown(_ entry: StateListEntry) throws(ClientError) -> AppEntry {
    let kept = try AppJSON.encode(entry)
    return AppEntry(
      data: entry.hasText ? try AppJSON.encode(opened(entry)) : kept, kept: entry.hasText ? kept : nil,
      score: entry.since ?? 0)
  }

  /// The entry with its captions and reactions decrypted.
  func opened(_ entry: StateListEntry) -> StateListEntry {
    var entry = entry
    for side in [\StateListEntry.mine, \StateListEntry.theirs] {
      guard var contents = entry[keyPath: side] else { continue }
      if let sealed = contents.sealed { contents.caption = opened(sealed) }
      if let sealed = contents.sealedReaction { contents.reaction = opened(sealed) }
      contents.sealed = nil
      contents.sealedReaction = nil
      entry[keyPath: side] = contents
    }
    return entry
  }

  /// A text; nil where it cannot be decrypted: the pictures can still be seen.
  func opened(_ text: ReleasedContents.Caption) -> String? {
    guard let bytes = try? vault.decrypt(text.box, with: text.key) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension StateListEntry.Contents {
  fileprivate init(_ contents: ReleasedContents) {
    self.init(
      front: contents.front.id, rear: contents.rear.id, sealed: contents.caption, sealedReaction: contents.reaction)
  }
}
