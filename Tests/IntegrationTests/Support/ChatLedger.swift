/// What two people have done in a chat and were acknowledged, and what each of them is therefore to see.
struct ChatLedger {
  struct Message: Equatable {
    var author: String
    var text: String
    var picture: String?
    /// Who is never to see it: whoever blocked the author when it was sent.
    var hiddenFrom: String?
    var isRemoved = false
    /// When it disappears, in milliseconds since 1970; nil: it stays.
    var expires: Int?
    /// What it said before it was changed.
    var former: [String] = []

    func isThere(at time: Int) -> Bool { !isRemoved && (expires ?? .max) > time }
    func isFor(_ reader: String, at time: Int) -> Bool { isThere(at: time) && hiddenFrom != reader }
  }

  /// By offset.
  private(set) var messages: [Int: Message] = [:]
  /// By offset and user, as in the channel: `12/bob`.
  private(set) var reactions: [String: String] = [:]
  private(set) var faults: [String] = []

  /// Notes what was acknowledged under an offset.
  mutating func add(_ message: Message, at offset: Int) {
    if let other = messages.updateValue(message, forKey: offset) {
      faults.append("\(offset) was acknowledged for \(other.text) and for \(message.text)")
    }
  }

  mutating func edit(_ offset: Int, _ text: String) {
    guard let former = messages[offset]?.text else { return }
    messages[offset]?.former.append(former)
    messages[offset]?.text = text
  }

  mutating func remove(_ offset: Int) {
    messages[offset]?.isRemoved = true
    reactions = reactions.filter { !$0.key.hasPrefix("\(offset)/") }
  }

  mutating func expire(_ offset: Int, at time: Int) { messages[offset]?.expires = time }

  mutating func react(_ user: String, to offset: Int, _ reaction: String?) { reactions["\(offset)/\(user)"] = reaction }

  /// Those to messages that are there at a time.
  func reactions(at time: Int) -> [String: String] {
    reactions.filter { reaction in
      let offset = reaction.key.split(separator: "/").first.flatMap { Int($0) } ?? 0
      return messages[offset]?.isThere(at: time) ?? true
    }
  }

  /// What is wrong with what a device shows at a time.
  ///
  /// - Parameter open: offsets of messages of which nobody can say whether they are there.
  func faults(
    in view: ChatView, of reader: String, at time: Int, sparing open: Set<Int> = []
  ) -> [String] {
    var faults = faults + view.faults
    let expected = messages.filter { $0.value.isFor(reader, at: time) && !open.contains($0.key) }
    for (offset, message) in expected.sorted(by: { $0.key < $1.key }) {
      let wanted = ChatView.Line(author: message.author, text: message.text, picture: message.picture)
      if let line = view.lines[offset] {
        if line != wanted { faults.append("\(reader) sees \(line) at \(offset) in place of \(wanted)") }
      } else {
        faults.append("\(reader) misses \(message.text) at \(offset)")
      }
    }
    for (offset, line) in view.lines.sorted(by: { $0.key < $1.key })
    where expected[offset] == nil && !open.contains(offset) {
      let why = messages[offset].map { $0.isThere(at: time) ? "is hidden" : "is gone" } ?? "nobody was answered"
      faults.append("\(reader) sees \(line.text) at \(offset), which \(why)")
    }
    // Who is told of a message when it has gone is told that something was there.
    for (offset, message) in messages.sorted(by: { $0.key < $1.key })
    where expected[offset] == nil && message.hiddenFrom != reader && !view.offsets.contains(offset) {
      faults.append("\(reader) was never told of \(offset)")
    }
    return faults
  }

  /// What is wrong with a chat as somebody reads it who has not followed it.
  func faults(in reading: ChatReading, of reader: String) -> [String] {
    // What goes while it is read may be there or not.
    let open = messages.filter {
      ($0.value.expires ?? .max) > reading.began && ($0.value.expires ?? .max) <= reading.ended
    }
    let given = reading.publications.map(\.description)
    return faults(in: ChatView(reading.publications), of: reader, at: reading.began, sparing: Set(open.keys))
      + leaks(in: given, to: reader, since: reading.began)
  }

  /// What somebody was given since a time of messages that had disappeared by then, in whatever place.
  func leaks(in given: [String], to reader: String, since time: Int) -> [String] {
    messages.filter { ($0.value.expires ?? .max) <= time }.sorted { $0.key < $1.key }.flatMap { offset, message in
      (message.former + [message.text]).filter { text in given.contains { $0.contains(text) } }
        .map { "\(reader) was given \($0), which had gone from \(offset)" }
    }
  }

  /// What is wrong with the entry of a list, when its owner has read everything.
  func faults(inEntry entry: JSON?, of reader: String, at time: Int) -> [String] {
    guard let entry, entry["state"].string == "active" else {
      return ["\(reader)'s list says \(entry?.description ?? "nothing")"]
    }
    let last = messages.filter { $0.value.isFor(reader, at: time) }.max { $0.key < $1.key }?.value
    // The text of a message that disappears stands in the chat alone.
    let text = last?.expires == nil ? last?.text : nil
    let isRight =
      entry["last"].string == text && entry["expires"].int == last?.expires && entry["from"].string == last?.author
      && entry["unread"].int == 0
    return isRight ? [] : ["\(reader)'s list says \(entry) after \(last?.text ?? "nothing")"]
  }

  /// Who may open each picture of the chat once nobody blocks anybody. Of the others nothing is kept.
  func pictures(of people: [String], at time: Int) -> PictureLedger {
    var ledger = PictureLedger()
    for message in messages.values {
      guard let picture = message.picture else { continue }
      ledger.openTo[picture] = Set(people.filter { message.isFor($0, at: time) })
      if message.isThere(at: time) { ledger.kept.insert(picture) }
    }
    return ledger
  }
}

/// What a device shows of a chat, by all that it was sent: changes and removals are publications too.
struct ChatView {
  struct Line: Equatable {
    var author: String
    var text: String
    var picture: String?
  }

  /// By offset.
  private(set) var lines: [Int: Line] = [:]
  /// Of all that came, messages or not.
  private(set) var offsets: Set<Int> = []
  /// What came twice, or out of order.
  private(set) var faults: [String] = []

  init(_ publications: [JSON]) {
    var newest = 0
    for publication in publications {
      let offset = publication["offset"].int ?? 0
      if offset <= newest { faults.append("\(offset) came after \(newest)") }
      newest = max(newest, offset)
      offsets.insert(offset)
      apply(publication, at: offset)
    }
  }

  private mutating func apply(_ publication: JSON, at offset: Int) {
    let (data, tags) = (publication["data"], publication["tags"])
    if let changed = tags["deletes"].string.flatMap({ Int($0) }) {
      lines[changed] = nil
    } else if let changed = tags["edits"].string.flatMap({ Int($0) }) {
      lines[changed]?.text = data["text"].string ?? ""
    } else if let text = data["text"].string {
      // What waited in a request says by itself who wrote it.
      let author = data["from"].string ?? publication["info"]["user"].string ?? ""
      lines[offset] = Line(author: author, text: text, picture: data["picture"]["id"].string)
    }
  }
}

/// A chat as somebody has read it at once.
struct ChatReading: Sendable {
  var publications: [JSON]
  /// Before it was asked for, in milliseconds since 1970.
  var began: Int
  /// When all of it was here.
  var ended: Int
}

/// Who is to find which pictures, and which files are to be there.
struct PictureLedger {
  /// By picture. Everybody else is told that there is none.
  var openTo: [String: Set<String>] = [:]
  /// Pictures whose files are there.
  var kept: Set<String> = []

  /// What is wrong with what somebody has found.
  func faults(in look: PictureLook) -> [String] {
    let mayOpen = openTo[look.picture]?.contains(look.viewer) ?? false
    if look.isOpen && !mayOpen { return ["\(look.viewer) opens \(look.picture)"] }
    if !look.isOpen && mayOpen { return ["\(look.viewer) does not find \(look.picture)"] }
    return look.isOpen && !look.isWhole ? ["\(look.viewer) finds other bytes than those of \(look.picture)"] : []
  }

  /// What is wrong with the files that are there.
  func faults(inFiles files: Set<String>) -> [String] {
    kept.subtracting(files).sorted().map { "the file of \($0) is missing" }
      + files.subtracting(kept).sorted().map { "\($0) is still there" }
  }
}
