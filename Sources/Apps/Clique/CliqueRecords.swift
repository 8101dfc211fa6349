import Wire

extension Clique {
  /// Two people, what stands between them, and how far each has read.
  struct Pair: AppRecord {
    /// The two users; empty: one whose data was deleted.
    var a: String
    var b: String
    var state = PairState.unblocked(.none)
    /// The messages of the request that ``PairState/asker`` has made, as that person sees it.
    var waiting: [Waiting] = []
    /// When the request ends if nobody answers it, in milliseconds since 1970, as all times here.
    var requestEnds: Int64 = 0
    /// When the cooldown after a decline is over.
    var coolUntil: Int64 = 0
    /// When the last block between the two ended. Crossings before it do not count.
    var crossedFrom: Int64?
    /// When the conversation was last opened; 0: never.
    var openedAt: Int64 = 0
    var endedAt: Int64 = 0
    /// True once something was published in the chat for its author alone. From then on each reader gets a filter;
    /// until then none needs one. While such a message is published, the one who must not get it is refused or has the
    /// filter already.
    var hasUnseen = false
    /// The messages without keys of the last request that was accepted, for their commands that are repeated.
    var opened: [Opened]?
    /// Whether messages disappear, and what one of the two has proposed; nil: neither.
    var vanishing: CliqueVanishing?
    var markA = Mark()
    var markB = Mark()
    /// Of a copy at home of what stands elsewhere: how many messages wait in the request; nil: none.
    var copied: Int?

    /// A pair between whom nothing stands yet. The two users may come in any order.
    init(_ one: String, _ two: String) {
      let isOrdered = one.utf8.lexicographicallyPrecedes(two.utf8)
      a = isOrdered ? one : two
      b = isOrdered ? two : one
    }

    var id: String { CliqueIdentifier.pair(a, b) }

    var due: Int64? {
      let crossings = crossedFrom.map { $0 + Self.crossingMemory }
      let marks = [markA, markB].flatMap { [$0.lastSeenDue, $0.takenBack?.ends] }
      return ([timer, crossings, vanishing?.proposal?.ends] + marks).compactMap(\.self).min()
    }

    /// Milliseconds for which ``opened`` is looked at: a gateway repeats a command within seconds.
    static let openedMemory: Int64 = 600_000

    /// Milliseconds for which ``crossedFrom`` is kept: longer than any meeting is remembered, whatever the
    /// configuration says.
    private static let crossingMemory = 40 * CliqueRules.day

    private var timer: Int64? {
      switch state.standing {
      case .requested: requestEnds
      case .declined(_, .asking): min(requestEnds, coolUntil)
      case .declined(_, .quiet): coolUntil
      case .declined(_, .lapsed): requestEnds
      case .none, .active, .ended: nil
      }
    }

    /// Whether the record holds nothing to remember.
    var isBlank: Bool {
      state == .unblocked(.none) && openedAt == 0 && crossedFrom == nil
        && [markA, markB].allSatisfy { $0.lastSeen == nil && $0.takenBack == nil && $0.frozen == nil }
    }

    func side(of user: String) -> PairState.Side? {
      if user.isEmpty { return nil }  // One who was forgotten is nobody's side.
      return user.hasSameBytes(as: a) ? .a : user.hasSameBytes(as: b) ? .b : nil
    }

    func user(_ side: PairState.Side) -> String { side == .a ? a : b }

    subscript(mark side: PairState.Side) -> Mark {
      get { side == .a ? markA : markB }
      set { if side == .a { markA = newValue } else { markB = newValue } }
    }

    /// The messages of the request that a side may see: the side that asks sees all, the other those that are meant for
    /// it.
    func waiting(for side: PairState.Side) -> [Waiting] {
      state.asker == side ? waiting : waiting.filter(\.seen)
    }

    /// Takes over the state that followed from an event, and drops the request if there is none any more.
    mutating func adopt(_ next: PairState) {
      state = next
      if next.asker == nil {
        waiting = []
        requestEnds = 0
      }
      for side in PairState.Side.allCases where next.asker != side && !next.isBlocked(by: side) {
        self[mark: side].named = nil
      }
      if next.standing != .active { vanishing = nil }
    }

    /// The pair after the timers that have passed, whether or not the record shows it yet.
    func advanced(to now: Int64) -> Pair {
      var pair = self
      if let from = crossedFrom, from + Self.crossingMemory <= now { pair.crossedFrom = nil }
      if pair.vanishing?.proposal != nil {
        let advanced = pair.vanishing?.advanced(to: now)
        pair.vanishing = advanced == CliqueVanishing() ? nil : advanced
      }
      for side in PairState.Side.allCases {
        pair[mark: side].advanceLastSeen(to: now)
        pair[mark: side].advanceTakenBack(to: now)
      }
      while let due = pair.timer, due <= now {
        let timer: PairState.Event =
          pair.state.asker != nil && pair.requestEnds <= due ? .requestTimeout : .cooldownOver
        let step = pair.state.after(timer, by: .a)
        // Each timer leaves a state with fewer timers, so there are two rounds at most. The guard keeps the loop from
        // running for ever should a change of the table break that.
        guard step.outcome == .changed else { break }
        pair.adopt(step.state)
      }
      return pair
    }
  }

  /// A message of a request.
  struct Waiting: Codable, Sendable, Equatable {
    var text: String
    var time: Int64
    /// The key that the client gave the message, by which a message that is sent again is recognised; empty: none.
    var key: String
    /// Whether the one who is asked sees the message. False: it was sent while that person declined or blocked.
    var seen: Bool
    /// The client id of the connection that sent the message; `about` is what its token says about it.
    var client: String
    var about: String?
    /// The command that sent the message (``AppCall/key``), so that one that is repeated after a crash waits once, even
    /// without a key.
    var origin: String?

    /// The message has reached a device of the one who is asked, or was read there; nil: not yet. The one who asks is
    /// not told.
    var hasArrived: Bool?
    var isRead: Bool?

    /// Whether this is the message of a command that is repeated.
    func isSame(as key: String, from origin: String) -> Bool {
      key.isEmpty ? !origin.isEmpty && self.origin == origin : self.key.hasSameBytes(as: key)
    }
  }

  /// A message without a key from a request that was accepted: the command that sent it, and its offset in the chat.
  struct Opened: Codable, Sendable, Equatable {
    var origin: String
    var offset: UInt64
  }

  /// How far one member of a conversation has come.
  struct Mark: Codable, Sendable, Equatable {
    /// How far the member has read, as others are told.
    var read: UInt64 = 0
    var delivered: UInt64 = 0
    /// Messages up to this offset do not count as unread, without others being told that they were read.
    var base: UInt64 = 0
    /// The last message that this member could see when the conversation was opened, or when they blocked the other.
    var last: Preview?
    /// When this member blocked the other; 0: they do not.
    var blockedAt: Int64 = 0
    /// The conversation stood in their list when they blocked the other.
    var listed = false
    /// The member has a draft in the conversation (``Unsent``); nil: no.
    var hasDraft: Bool?
    /// The member has reacted to something in the conversation (``Reactions``); nil: no.
    var hasReacted: Bool?
    /// How this member keeps the conversation in their list; nil: as it comes.
    var keeping: CliqueKeeping?
    /// What this member has asked and taken back; nil: nothing that still counts.
    var takenBack: CliqueTakenBack?
    /// Where this member was when they blocked the other, who goes on seeing the crossings of that (``LastSeen``); nil:
    /// nothing of it is within the window.
    var lastSeen: [LastSeen]?
    /// The version of this member's profile that the other goes on seeing (``ProfileSight``); nil: the present one.
    var frozen: ProfileContent?
    /// The name of the other as this member saw it when they asked or blocked them; nil: they saw none, or have done
    /// neither.
    var named: String?

    var unreadFrom: UInt64 { max(read, base) }
  }

  struct Preview: Codable, Sendable, Equatable {
    var text: String
    var from: String
    var time: Int64
    var offset: UInt64
    /// When the message disappears: its text stands nowhere but in the chat then, and not here. Nil: it stays.
    var expires: Int64?
    /// The message has a picture; nil: it has none.
    var hasPicture: Bool?
  }

  /// What is known of one person.
  ///
  /// The fields named `…Mark` are marks of ``CliqueRate``. Records of older data folders have none.
  struct Person: AppRecord {
    var invisible = false
    /// Conversations with one other person that are in this person's list and that they may read.
    var open: [String] = []
    var groups: [String] = []
    /// Groups that show this person as a member who never comes, because they have blocked the one who added them. They
    /// count towards ``CliqueRules/maximumGroups`` for whoever is or was blocked alone, who must meet the limit where
    /// somebody silent would meet it.
    var away: [String]?
    /// Of the groups that this person joined after they were founded: the term from which on the person reads
    /// (``Group/term``).
    var terms: [String: Int]?
    /// Conversations that this person has pinned. Each says so itself, too (``Mark/keeping``); here they are counted.
    var pinned: [String]?
    var blocked: [String] = []
    /// How many requests of this person wait for an answer, or seem to.
    var asking = 0
    /// How many requests wait for this person's answer.
    var asked = 0
    var groupsFounded = 0
    var requestMark: Int64?
    /// The mark for messages in requests.
    var requestMessageMark: Int64?
    var foundingMark: Int64?
    /// The mark for groups that others have founded with this person.
    var drawnMark: Int64?
    var blockMark: Int64?
    var reportMark: Int64?
    var profileMark: Int64?
    /// People whom this person does not block and who see an older version of this person's profile (``ProfileSight``).
    var behind: [String]?
    /// Pairs in which the other sees this person, and that are not among ``open``: by a request of this person's, or
    /// because this person has left.
    var seenIn: [String]?
    /// Where Clique is shared among partitions, at home: pairs that this person's list shows, up to
    /// ``Clique/maximumPeople``, those that have changed last at the end.
    var lists: [String]?

    private static let marks = [
      \Person.requestMark, \Person.requestMessageMark, \Person.foundingMark, \Person.drawnMark, \Person.blockMark,
      \Person.reportMark, \Person.profileMark,
    ]

    /// When the last mark has passed, if only marks are left of the person; nil: something else is.
    var due: Int64? {
      if groupsFounded > 0 || withoutMarks != Person() { return nil }
      return Self.marks.compactMap { self[keyPath: $0] }.max()
    }

    private var withoutMarks: Person {
      var person = self
      for mark in Self.marks { person[keyPath: mark] = nil }
      return person
    }

    /// The person without the marks that have passed.
    func advanced(to now: Int64) -> Person {
      var person = self
      for mark in Self.marks where person[keyPath: mark] ?? .max <= now { person[keyPath: mark] = nil }
      return person
    }
  }

  /// A conversation of up to ``CliqueRules/groupSize`` people.
  struct Group: AppRecord {
    struct Member: Codable, Sendable, Equatable {
      var user: String
      var mark = Mark()
      /// The user was added by somebody whom they have blocked. To the others they look like a member who never comes.
      var absent = false
      var administrator: Bool?
    }

    struct Block: Codable, Sendable, Equatable {
      var by: String
      var of: String
      /// How far the one who blocks had read when the block began. The other is shown nothing newer.
      var read: UInt64?
      var delivered: UInt64?
    }

    /// Empty: the founder's data was deleted.
    var founder: String
    var name: String
    var members: [Member]
    var createdAt: Int64
    /// Blocks of members against one another.
    var blocks: [Block] = []
    /// True once there was a block in the group. Messages sent during it stay hidden.
    var hadBlocks = false
    /// Who gave the group its name; nil: the founder.
    var namedBy: String?
    /// How often somebody has come into the group since it was founded; nil: never. What is published has the number as
    /// a tag, so that members read only what was said since they came.
    var term: Int?
    /// Milliseconds after which messages disappear; nil: they stay.
    var vanishesAfter: Int64?
    var links: [Link]?
    /// Who was removed, and does not come back by a link.
    var removed: [String]?

    /// When the next link ends. Until the record is tidied up, links are looked at with their ends.
    var due: Int64? { links?.map(\.ends).min() }
    var lane: AppLane { .upkeep }

    func index(of user: String) -> Int? {
      members.firstIndex { !$0.absent && $0.user.hasSameBytes(as: user) }
    }

    func blocked(by user: String) -> [String] {
      blocks.compactMap { $0.by.hasSameBytes(as: user) ? $0.of : nil }
    }

    /// The members whose messages the user does not get, and who do not get the user's.
    func hidden(from user: String) -> [String] {
      blocks.compactMap { block in
        if block.by.hasSameBytes(as: user) { return block.of }
        return block.of.hasSameBytes(as: user) ? block.by : nil
      }
    }
  }

  /// The group that was founded with a user's key, so that it is not founded twice.
  struct Founding: AppRecord {
    var group: String
    /// A digest of the name and the members: the same key with others is refused.
    var digest: String
    var ends: Int64

    var due: Int64? { ends }
  }
}

extension Clique {
  /// Keys of records: the kind of record, then an id, or a name whose bytes other than letters, digits, `-` and `_` are
  /// written as `%41`. So no two names share a key, in whatever way keys are compared.
  enum Key {
    static func pair(_ id: String) -> String { String(joining: "pair/", id) }
    static func group(_ id: String) -> String { "group/" + id }
    static func person(_ user: String) -> String { "person/" + plain(user) }
    static func founding(by user: String, _ key: String) -> String {
      "founding/" + CliqueIdentifier.hex(["founding", user, key])
    }
    static func visits(of user: String) -> String { "visits/" + plain(user) }
    static func place(_ name: String) -> String { "places/" + plain(name) }
    static func visitor(_ place: String, _ number: UInt64) -> String { "visitor/\(plain(place))/\(number)" }

    static func plain(_ name: String) -> String { PlainName.encode(name) }
  }
}
