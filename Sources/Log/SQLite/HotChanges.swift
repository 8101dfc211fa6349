import Wire

/// What the writer has of a channel and the disk has not, except publications, which the tail holds: edits, keys and
/// origins.
enum HotChanges {
  /// An earlier publication changes: the entry at `offset` brings its replacement.
  struct Change {
    var offset: UInt64
    var replacement: Publication
  }

  /// Changes of a durable channel, in order. Each shows when it is on disk.
  case durable([Change])
  /// The last change of each publication of a relaxed channel, by the publication's offset. It shows at once, also in
  /// what is read from disk. Keys and origins are known here alone until they are on disk.
  case relaxed([UInt64: Change], RequestTraces)

  init(of durability: Durability) { self = durability == .durable ? .durable([]) : .relaxed([:], RequestTraces()) }

  /// Notes an entry that went to the writer.
  ///
  /// - Returns: the replacement of a publication that shows otherwise from here on.
  mutating func add(_ entry: LogEntry) -> Publication? {
    let offset = entry.publication.offset
    let change = entry.edit.map { Change(offset: offset, replacement: $0.replacement) }
    switch consume self {
    case .durable(var changes):
      if let change { changes.append(change) }
      self = .durable(changes)
      return nil
    case .relaxed(var changes, var traces):
      if let change { changes[change.replacement.offset] = change }
      traces.add(entry)
      self = .relaxed(changes, traces)
      return change?.replacement
    }
  }

  /// Forgets what is on disk now: everything through an offset.
  ///
  /// - Returns: publications that were changed on disk, or may have been, and those of them that show otherwise from
  ///   here on.
  mutating func takeWritten(through top: UInt64) -> (changed: [Publication], shown: ArraySlice<Publication>) {
    switch consume self {
    case .durable(var changes):
      let written = changes.prefix { $0.offset <= top }.map(\.replacement)
      if !written.isEmpty { changes.removeFirst(written.count) }
      self = .durable(changes)
      return (written, written[...])
    case .relaxed(var changes, var traces):
      traces.drop(through: top)
      let former = changes.isEmpty ? [] : changes.values.map(\.replacement)
      if !changes.isEmpty { changes = changes.filter { $0.value.offset > top } }
      self = .relaxed(changes, traces)
      return (former, [])
    }
  }

  /// Forgets the change of an entry of a durable channel that did not get to the disk.
  mutating func fail(offset: UInt64) {
    guard case .durable(var changes) = self, !changes.isEmpty else { return }
    changes.removeAll { $0.offset == offset }
    self = .durable(changes)
  }

  /// The replacement of a publication that shows already and is not on disk yet; nil: there is none.
  func shown(_ offset: UInt64) -> Publication? {
    guard case .relaxed(let changes, _) = self, !changes.isEmpty else { return nil }
    return changes[offset]?.replacement
  }

  /// Keys and origins that are not on disk yet.
  func traces(at now: Int64) -> (keys: [IdempotencyRecord], origins: [RequestOrigin: UInt64]) {
    guard case .relaxed(_, let traces) = self else { return ([], [:]) }
    return (traces.keys(at: now), traces.origins(at: now))
  }
}

/// Pages of a channel that are being read from disk.
enum PagesUnderWay {
  case none
  /// - changed: replacements of publications since the oldest of those reads began, by their offsets: the readers may
  ///   not have seen them.
  case some(count: Int, changed: [UInt64: Publication])

  mutating func began() {
    switch consume self {
    case .none: self = .some(count: 1, changed: [:])
    case .some(let count, let changed): self = .some(count: count + 1, changed: changed)
    }
  }

  mutating func ended() {
    switch consume self {
    case .none: preconditionFailure("a page that has been read was begun")
    case .some(let count, let changed): self = count > 1 ? .some(count: count - 1, changed: changed) : .none
    }
  }

  /// Notes replacements, if pages are being read that may not show them.
  mutating func note(_ replacements: [Publication]) {
    switch consume self {
    case .none: self = .none
    case .some(let count, var changed):
      for replacement in replacements { changed[replacement.offset] = replacement }
      self = .some(count: count, changed: changed)
    }
  }

  subscript(offset: UInt64) -> Publication? {
    if case .some(_, let changed) = self { changed[offset] } else { nil }
  }
}
