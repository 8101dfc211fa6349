import SQLite
import Log
import Wire

/// Searches: asks the index, and then the log whether each message still is as the index says.
extension IndexWorker {
  /// Rows that one search looks at. The search of a user from whom nearly everything is hidden must not hold up the
  /// others.
  static let rowsPerSearch = 50_000

  func find(_ query: MessageSearch) throws -> [FoundMessage] {
    let words = SearchWords(query.text)
    guard let expression = words.expression, query.limit > 0 else { return [] }
    var budget = options.catchUpLimit
    var channels: [Int64: IndexedChannel] = [:]
    for name in Set(query.channels) {
      if let channel = try catchUp(name, budget: &budget) { channels[channel.id] = channel }
    }
    if channels.isEmpty { return [] }
    var search = RunningSearch(query: query, words: words, channels: channels)
    for _ in 0..<Self.passes {
      search.begin()
      // A long prefix has no index: the list of all its messages is put together once rather than for each channel.
      if words.hasLongPrefix {
        let first = channels.keys.min().map { MessagePlace.first(of: $0) } ?? 0
        let last = channels.keys.max().map { MessagePlace.last(of: $0) } ?? 0
        try look(for: expression, in: first...last, isOneChannel: false, &search)
      } else {
        for id in channels.keys {
          let rows = MessagePlace.first(of: id)...MessagePlace.last(of: id)
          try look(for: expression, in: rows, isOneChannel: true, &search)
        }
      }
      try change(search.outdated)
      // A message that was changed in the log meanwhile may hold the words now, or not any more: the second pass tells.
      guard search.outdated.contains(where: { $0.text != nil }) else { break }
    }
    return search.newest
  }

  /// How often a search looks through the index: once more after rows were brought up to date.
  private static let passes = 2

  private func look(
    for expression: String, in rows: ClosedRange<Int64>, isOneChannel: Bool, _ search: inout RunningSearch
  ) throws {
    try index().inDatabase { db in
      let statement = try db.statement(
        "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC")
      statement.bind(expression, at: 1)
      statement.bind(rows.lowerBound, at: 2)
      statement.bind(rows.upperBound, at: 3)
      defer { statement.reset() }
      while search.rowsLeft > 0, try statement.next() {
        if queue.isClosed { throw LogError.closed }
        let place = MessagePlace(row: statement.int(0))
        guard let channel = search.wants(place) else {
          if isOneChannel { return }
          continue
        }
        search.weigh(
          try reread(place.offset, of: channel), at: place, of: channel, indexed: try Self.text(at: place, db))
      }
    }
  }

  private static func text(at place: MessagePlace, _ db: Database) throws -> String {
    let statement = try db.statement("SELECT text FROM words WHERE rowid = ?1")
    statement.bind(place.row, at: 1)
    guard try statement.next() else { return "" }
    defer { statement.reset() }
    return statement.text(0)
  }
}

/// A search under way, with what it has found so far.
private struct RunningSearch {
  let query: MessageSearch
  let words: SearchWords
  let channels: [Int64: IndexedChannel]
  let limit: Int
  private(set) var rowsLeft = 0
  /// Changes for rows that do not say what the log says.
  private(set) var outdated: [IndexWrite] = []
  private var found: [FoundMessage] = []
  private var counts: [Int64: Int] = [:]

  private static let largestLimit = 1000

  init(query: MessageSearch, words: SearchWords, channels: [Int64: IndexedChannel]) {
    self.query = query
    self.words = words
    limit = min(query.limit, Self.largestLimit)
    self.channels = channels
  }

  mutating func begin() {
    rowsLeft = IndexWorker.rowsPerSearch
    outdated = []
    found = []
    counts = [:]
  }

  /// The channel of a row; nil where the search does not ask for it, or has enough of it: within a channel the newest
  /// messages come first.
  func wants(_ place: MessagePlace) -> IndexedChannel? {
    counts[place.channel, default: 0] < limit ? channels[place.channel] : nil
  }

  mutating func weigh(
    _ publication: Publication?, at place: MessagePlace, of channel: IndexedChannel, indexed: String
  ) {
    rowsLeft -= 1
    let text = publication.flatMap { MessageText.text(of: $0) }
    guard var publication, let text, text.hasSameBytes(as: indexed) else {
      outdated.append(IndexWrite(place: place, text: text, removes: true))
      return
    }
    if publication.tags[FormerVersions.tag] != nil, let reader = query.reader {
      publication = publication.shown(to: reader)
      guard let text = MessageText.text(of: publication), words.match(text) else { return }
    }
    if let publisher = query.publisher, publication.info?.user.hasSameBytes(as: publisher) != true { return }
    if let audience = query.audience, !audience.matches(publication) { return }
    if let audience = query.audiences[channel.name], !audience.matches(publication) { return }
    counts[place.channel, default: 0] += 1
    found.append(FoundMessage(channel: channel.name, publication: publication))
    if found.count >= Self.largestLimit + limit { found = newest }
  }

  var newest: [FoundMessage] {
    let sorted = found.sorted { a, b in
      if a.publication.time != b.publication.time { return a.publication.time > b.publication.time }
      return a.channel == b.channel ? a.publication.offset > b.publication.offset : a.channel < b.channel
    }
    return Array(sorted.prefix(limit))
  }
}
