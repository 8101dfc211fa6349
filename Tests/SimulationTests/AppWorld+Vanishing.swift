import Wire

@testable import Apps

/// People agree on messages that disappear, and what must be left of these in the end.
extension AppWorld {
  func vanish(_ phone: Phone, _ other: String) {
    let after = [60_000, 60_000, 60_000, 90_000, 0][Int.random(in: 0..<5, using: &random)]
    ask(Command(method: "clique.disappear", data: #"{"person":"\#(other)","after":\#(after)}"#), phone)
  }

  func vanishInGroup(_ phone: Phone, _ id: String) {
    let after = random.chance(70) ? 60_000 : 0
    ask(Command(method: "clique.disappear", data: #"{"conversation":"\#(id)","after":\#(after)}"#), phone)
  }

  /// Whether a publication was removed because its time was over, or is about to be, or by its author. Authors remove
  /// messages with pictures alone (``PictureAlbum``).
  func isGone(_ kept: Publication, on channel: ChannelName) -> Bool {
    let opened = clique.opened(kept, on: channel, at: wall)
    return opened.tags["deleted"] != nil
  }

  /// Lets time pass until nothing is over that is not removed yet, or was removed so lately that lists may not show it.
  func settleVanishing() {
    for _ in 0..<200 where isVanishing { pass() }
  }

  private func pass() {
    runUntilQuiet()
    passTime(300)
    runUntilQuiet()
  }

  private var isVanishing: Bool {
    ledger.channels.contains { name, channel in
      name.namespace == "clique.chat"
        && channel.kept.contains { publication in
          let removed = publication.tags["deleted"].flatMap { Int64($0) } ?? 0
          return removed > wall - 3000 || publication.vanishes ?? .max < wall + 1000
        }
    }
  }

  /// Checks, when everything is over, that nothing is left of what was to disappear.
  func judgeVanished() {
    for (name, channel) in ledger.channels where name.namespace == "clique.chat" {
      for publication in channel.kept {
        if publication.vanishes != nil { fail("\(name) \(publication.offset) should be gone, and is on the disk") }
        guard publication.tags["deleted"] != nil else { continue }
        if !album.wasRemoved(publication.offset, of: name) { coverage.vanished += 1 }
        if publication.data == Array("null".utf8) { continue }
        fail("\(name) \(publication.offset) was removed, and says something")
      }
    }
    let records = ledger.channels[AppOracle.name("clique.records:all")]?.entries.keys ?? [:].keys
    let left = records.filter { $0.hasPrefix("vanish/") }.sorted()
    if !left.isEmpty { fail("\(left) wait for ever") }
  }

  /// Counts what is to disappear, and checks that none of it can be read on the disk.
  func judgeVanishing() {
    for (name, channel) in ledger.channels where name.namespace == "clique.chat" {
      for publication in channel.kept where publication.vanishes != nil {
        coverage.vanishing += 1
        if AppOracle.object(publication.data)?["text"] == nil { continue }
        fail("\(name) \(publication.offset) is readable on disk")
      }
    }
  }
}
