import Wire

/// How much is unread: the number on the icon of a phone's app.
///
/// The numbers are the sum over the entries of the person's list, which know their own. So they tell nothing that the list
/// does not show, and no conversation is looked at for them. A change of the list costs them one pass over its
/// entries, at most every ``RefreshQueue/interval`` and only while a device of the person has the channel open.
extension Clique {
  struct Totals: Equatable {
    /// Conversations and groups with unread messages.
    var conversations = 0
    /// Their unread messages, of each up to ``maximumUnread``.
    var messages = 0
    /// Requests that wait for this person's answer.
    var requests = 0

    /// Adds an entry of the list. Muted conversations do not count, and neither do archived ones: what comes in one that is
    /// archived and not muted brings it back first.
    mutating func add(_ entry: [UInt8]) {
      let unread = Self.number(after: Self.unread, in: entry)
      if unread == 0 { return }
      if Self.holds(Self.request, entry) { return requests += 1 }
      if Self.holds(Self.muted, entry) || Self.holds(Self.archived, entry) { return }
      conversations += 1
      messages += unread
    }

    var json: [UInt8] {
      var writer = JSONWriter()
      writer.object { writer in
        writer.write("conversations", conversations)
        writer.write("messages", messages)
        writer.write("requests", requests)
      }
      return writer.bytes
    }

    // The entry is the app's own JSON, without spaces. Within its texts each quote has a backslash before it, so none of
    // these stands in a text: `"unread":` would be `\"unread\":` there.
    private static let unread = Array(#""unread":"#.utf8)
    private static let request = Array(#""state":"request_in""#.utf8)
    private static let muted = Array(#""muted":true"#.utf8)
    private static let archived = Array(#""archived":true"#.utf8)

    private static func holds(_ field: [UInt8], _ entry: [UInt8]) -> Bool { end(of: field, in: entry) != nil }

    /// Where a field that stands in the entry ends. The standard library's search takes any collection, and ten times as
    /// long for each byte; all entries of a list are looked through.
    private static func end(of field: [UInt8], in entry: [UInt8]) -> Int? {
      let (field, entry) = (field.span, entry.span)
      guard entry.count >= field.count else { return nil }
      next: for start in 0...(entry.count - field.count) where entry[start] == field[0] {
        for index in 1..<field.count where entry[start + index] != field[index] { continue next }
        return start + field.count
      }
      return nil
    }

    private static func number(after field: [UInt8], in entry: [UInt8]) -> Int {
      guard let end = end(of: field, in: entry) else { return 0 }
      var number = 0
      for byte in entry[end...] {
        guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte, number < Clique.maximumUnread else { break }
        number = number * 10 + Int(byte - UInt8(ascii: "0"))
      }
      return number
    }
  }

  /// The only key of the channel.
  static let totalsKey = "all"

  public func source(of channel: ChannelName) -> ChannelName? {
    let (namespace, user) = Self.parts(of: channel)
    return namespace == "clique.totals" ? try? Channels.list(user) : nil
  }

  func totals(of user: String, _ view: any AppView) throws(ClientError) -> Totals {
    var totals = Totals()
    for entry in try view.entries(of: Channels.list(user)) { totals.add(entry.data) }
    return totals
  }

  func totalsEntry(_ user: String, _ key: String, _ view: any AppView) throws(ClientError) -> AppEntry? {
    guard key == Self.totalsKey else { return nil }
    return AppEntry(data: try totals(of: user, view).json, score: 0)
  }
}
