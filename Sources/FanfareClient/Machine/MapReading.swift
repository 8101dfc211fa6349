internal import Wire

/// How a map is to be read.
struct MapReadOptions: Equatable, Sendable {
  /// Entries of a page; 0: as many as the server likes.
  var pageSize: Int32 = 0
  /// The pages come in the reverse of the namespace's order.
  var isReversed = false
  /// A map of more ends its subscription.
  var maximumEntries = 100_000
}

/// A map that is being read, page by page, until the server says that the subscription is live.
struct MapReading: Equatable {
  enum Part: Equatable {
    /// Pages of entries. Can transition to: `changes`, live.
    case state
    /// What changed since a position. Can transition to: live.
    case changes
  }

  var part: Part
  /// From where the changes are wanted: that of the first page, or the one that the client had.
  var position: StreamPosition?
  /// The client had the map at that position: no state is read.
  let recovers: Bool
  var cursor = ""
  var state: [Publication] = []
  var changes: [Publication] = []

  init(since position: StreamPosition?) {
    part = position == nil ? .state : .changes
    self.position = position
    recovers = position != nil
  }

  var count: Int { state.count + changes.count }

  /// Takes one answer in. True where the map is live: there are no more.
  mutating func take(_ result: ClientReply.SubscribeResult) -> Bool {
    switch part {
    case .state: state += result.state
    case .changes: changes += result.publications
    }
    guard result.phase != 0 else { return true }
    let position = StreamPosition(epoch: result.epoch, offset: result.offset)
    switch part {
    case .state:
      // All pages are of the position of the first: what changed since comes with the changes.
      self.position = self.position ?? position
      cursor = result.cursor
      if cursor.isEmpty { part = .changes }
    case .changes: self.position = position
    }
    return false
  }

  func ask(_ options: MapReadOptions, in command: inout ClientCommand.Subscribe) {
    command.type = 1
    command.phase = part == .state ? 2 : 1
    command.limit = options.pageSize
    command.asc = options.isReversed
    command.cursor = cursor
    command.recover = recovers
    if let position {
      command.epoch = position.epoch
      command.offset = position.offset
    }
  }
}

/// What a map holds when it is live.
struct MapContents: Equatable, Sendable {
  /// The state replaces what was there; else there are changes to it alone.
  var isWhole: Bool
  var state: [Publication]
  var changes: [Publication]
}
