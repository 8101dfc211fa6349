import Wire

/// Deleting a user's data, as far as the store does it.
extension TailedStore {
  final func erase(_ question: ErasureQuestion) -> LogAnswer? {
    switch question {
    case .trace(let users, let contents, let after):
      read(.trace(UserTrace(users: users, contents: contents, after: after)), for: .answer(.erasure(question)))
      return nil
    case .drop(let names):
      // A channel that is in memory has entries under way, or is open. Rows that leave already are waited for.
      guard !upkeep.isDeleting, names.allSatisfy({ hot[$0] == nil && !loading.contains($0) }) else {
        return .erasure(.busy)
      }
      guard inbox.ask(.erase(question)) else { return .failed(.closed) }
      upkeep.phase = .dropping(Set(names))
      return nil
    case .clear(let rows) where rows.contains(where: { $0.kind != .publication && hot[$0.channel] != nil }):
      return .erasure(.busy)
    case .settle, .clear, .forgetAccounts, .scrub:
      return inbox.ask(.erase(question)) ? nil : .failed(.closed)
    }
  }

  final func erased(_ question: ErasureQuestion, _ error: LogError?) {
    if case .drop = question { upkeep.deleted() }
    if case .clear(let rows) = question, error == nil {
      for row in rows where row.kind == .publication {
        guard let channel = hot[row.channel] else { continue }
        hot.counting(channel) { channel.emptied(row.publication) }
      }
    }
    tell(error.map { .failed($0) } ?? .erasure(.done), to: .erasure(question))
  }
}
