import Wire

extension Clique {
  /// Two people, what stands between them, and how far each has read.
  struct Pair: AppRecord {
    var a: String
    var b: String
    var state = PairState.unblocked(.none)
    /// The request of ``PairState/asker``, as that person sees it.
    var waiting: [Waiting] = []
    /// When the request ends that nobody answers.
    var requestEnds: Int64 = 0
    /// When a decline stops to hold back.
    var coolUntil: Int64 = 0
    /// When the conversation was last opened; 0: never.
    var openedAt: Int64 = 0
    var endedAt: Int64 = 0
    /// Something was published for its author alone. From then on each reader needs an audience; until then none
    /// does. Whoever is not to get it is not admitted while it is published, so nobody reads on without.
    var hasUnseen = false
    var markA = Mark()
    var markB = Mark()

    /// - Parameters: in any order.
    init(_ one: String, _ two: String) {
      let isOrdered = one.utf8.lexicographicallyPrecedes(two.utf8)
      a = isOrdered ? one : two
      b = isOrdered ? two : one
    }

    var id: String { CliqueIdentifier.pair(a, b) }

    var due: Int64? {
      switch state.standing {
      case .requested: requestEnds
      case .declined(_, .asking): min(requestEnds, coolUntil)
      case .declined(_, .quiet): coolUntil
      case .declined(_, .lapsed): requestEnds
      case .none, .active, .ended: nil
      }
    }

    /// Nothing is left to remember.
    var isBlank: Bool { state == .unblocked(.none) && openedAt == 0 }

    func side(of user: String) -> PairState.Side? {
      user.hasSameBytes(as: a) ? .a : user.hasSameBytes(as: b) ? .b : nil
    }

    func user(_ side: PairState.Side) -> String { side == .a ? a : b }

    subscript(mark side: PairState.Side) -> Mark {
      get { side == .a ? markA : markB }
      set { if side == .a { markA = newValue } else { markB = newValue } }
    }

    /// What somebody may see of the request: who asks all of it, who is asked what is meant for them.
    func waiting(for side: PairState.Side) -> [Waiting] {
      state.asker == side ? waiting : waiting.filter(\.seen)
    }

    /// Sets what has followed from an event.
    mutating func take(_ next: PairState) {
      state = next
      if next.asker == nil {
        waiting = []
        requestEnds = 0
      }
    }

    /// With the timers that have passed, whether or not anybody was told of them.
    func settled(_ now: Int64) -> Pair {
      var pair = self
      while let due = pair.due, due <= now {
        let timer: PairState.Event =
          pair.state.asker != nil && pair.requestEnds <= due ? .requestTimeout : .cooldownOver
        let step = pair.state.after(timer, by: .a)
        // Each timer leaves a state that waits for less: two rounds at most. Were it not so, this would never end.
        guard step.outcome == .changed else { break }
        pair.take(step.state)
      }
      return pair
    }
  }

  /// A message of a request.
  struct Waiting: Codable, Sendable, Equatable {
    var text: String
    var time: Int64
    /// The client's, which tells a message that is sent again.
    var key: String
    /// By the one who is asked. Not seen: it was sent while that person did not want to hear.
    var seen: Bool
    /// The connection that sent it, and what its token says about it.
    var client: String
    var about: String?
  }

  /// How far one member of a conversation has come.
  struct Mark: Codable, Sendable, Equatable {
    /// As others are told.
    var read: UInt64 = 0
    var delivered: UInt64 = 0
    /// What is unread begins after it, or after ``read``: without telling anybody that something was read.
    var base: UInt64 = 0
    /// The last message that this member could see when the conversation was opened, or blocked by them.
    var last: Preview?
    /// When this member blocked the other.
    var blockedAt: Int64 = 0
    /// Something stood in their list when they did.
    var listed = false

    var unreadFrom: UInt64 { max(read, base) }
  }

  struct Preview: Codable, Sendable, Equatable {
    var text: String
    var from: String
    var time: Int64
    var offset: UInt64
  }

  /// What is known of one person.
  struct Person: AppRecord {
    var invisible = false
    /// Conversations with one other person that this one has in their list and may read.
    var open: [String] = []
    var groups: [String] = []
    var blocked: [String] = []
    /// Requests of one's own that wait, or seem to.
    var asking = 0
    /// Requests that wait for an answer.
    var asked = 0
    var places: [String] = []
    var groupsFounded = 0

    var due: Int64? { nil }
  }

  /// A conversation of up to ``CliqueRules/groupSize`` people.
  struct Group: AppRecord {
    struct Member: Codable, Sendable, Equatable {
      var user: String
      var mark = Mark()
      /// Was added by somebody whom they have blocked: looks like a member who never comes.
      var absent = false
    }

    struct Block: Codable, Sendable, Equatable {
      var by: String
      var of: String
    }

    var founder: String
    var name: String
    var members: [Member]
    var createdAt: Int64
    /// Those of its members against one another.
    var blocks: [Block] = []
    /// There was one, ever: what was sent then stays hidden.
    var hadBlocks = false

    var due: Int64? { nil }

    func index(of user: String) -> Int? {
      members.firstIndex { !$0.absent && $0.user.hasSameBytes(as: user) }
    }

    /// Members whose messages somebody does not get, nor they theirs.
    func hidden(from user: String) -> [String] {
      blocks.compactMap { block in
        if block.by.hasSameBytes(as: user) { return block.of }
        return block.of.hasSameBytes(as: user) ? block.by : nil
      }
    }
  }

  /// Who is in a place.
  struct Place: AppRecord {
    struct Visit: Codable, Sendable, Equatable {
      var user: String
      var since: Int64
      var until: Int64
    }

    var name: String
    /// In the order in which they came.
    var visits: [Visit] = []

    var due: Int64? { visits.map(\.until).min() }
  }

  /// When and where two people were together.
  struct Crossing: AppRecord {
    struct Meeting: Codable, Sendable, Equatable {
      var place: String
      var start: Int64
      /// 0: they are together now.
      var end: Int64 = 0
    }

    var a: String
    var b: String
    var meetings: [Meeting] = []
    var window: Int64

    /// Kept of one pair, the latest.
    static let maximumMeetings = 64

    var due: Int64? { meetings.filter { $0.end > 0 }.map { $0.end.addingReportingOverflow(window).partialValue }.min() }

    var areTogether: Bool { meetings.contains { $0.end == 0 } }

    func lastSeen(_ now: Int64) -> Int64 { areTogether ? now : meetings.map(\.end).max() ?? 0 }

    /// Milliseconds together; time in two places at once counts once.
    func total(_ now: Int64) -> Int64 {
      var total: Int64 = 0
      var reached = Int64.min
      for meeting in meetings.sorted(by: { $0.start < $1.start }) {
        let end = meeting.end == 0 ? now : meeting.end
        let start = max(meeting.start, reached)
        if end > start { total += end - start }
        reached = max(reached, end)
      }
      return total
    }
  }

  /// Whom one has crossed within the window, the one crossed longest ago first.
  struct Crossed: AppRecord {
    var users: [String] = []

    var due: Int64? { nil }
  }
}

extension Clique {
  /// Record keys: their kind, then an id, or a name whose bytes beyond letters and digits are written as `%41`. So no
  /// two names share a key, in whatever way keys are compared.
  enum Key {
    static func pair(_ id: String) -> String { String(joining: "pair/", id) }
    static func group(_ id: String) -> String { "group/" + id }
    static func crossing(_ pair: String) -> String { "crossing/" + pair }
    static func person(_ user: String) -> String { "person/" + plain(user) }
    static func crossed(_ user: String) -> String { "crossed/" + plain(user) }
    static func place(_ name: String) -> String { "place/" + plain(name) }

    static func plain(_ name: String) -> String {
      let hex = Array("0123456789ABCDEF".utf8)
      var bytes: [UInt8] = []
      for byte in name.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          bytes.append(byte)
        default:
          bytes.append(UInt8(ascii: "%"))
          bytes.append(hex[Int(byte >> 4)])
          bytes.append(hex[Int(byte & 15)])
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
