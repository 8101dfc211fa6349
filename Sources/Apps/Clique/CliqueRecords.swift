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
    /// When the last block between the two ended: they have not crossed before.
    var crossedFrom: Int64?
    /// When the conversation was last opened; 0: never.
    var openedAt: Int64 = 0
    var endedAt: Int64 = 0
    /// Something was published for its author alone. From then on each reader needs an audience; until then none
    /// does. Whoever is not to get it is not admitted while it is published, so nobody reads on without.
    var hasUnseen = false
    /// What the last request that was accepted had without keys, for those of its commands that are asked again.
    var opened: [Opened]?
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
      guard let crossedFrom else { return timer }
      return min(timer ?? .max, crossedFrom + Self.crossingMemory)
    }

    /// How long ``opened`` means something, in milliseconds: a gateway asks again within seconds.
    static let openedMemory: Int64 = 600_000

    /// Longer than any meeting is remembered, whatever the configuration says.
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

    /// Nothing is left to remember.
    var isBlank: Bool { state == .unblocked(.none) && openedAt == 0 && crossedFrom == nil }

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
      if let from = crossedFrom, from + Self.crossingMemory <= now { pair.crossedFrom = nil }
      while let due = pair.timer, due <= now {
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
    /// The command that sent it (``AppCall/key``): what is asked again after a crash waits once, with a key or without.
    var origin: String?

    /// Whether it is the message of a command, asked again.
    func isSame(as key: String, from origin: String) -> Bool {
      key.isEmpty ? !origin.isEmpty && self.origin == origin : self.key.hasSameBytes(as: key)
    }
  }

  /// A message of a request that was accepted, by the command that sent it.
  struct Opened: Codable, Sendable, Equatable {
    var origin: String
    var offset: UInt64
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
  ///
  /// The marks are those of ``CliqueRate``; missing in records of older data folders.
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
    var groupsFounded = 0
    var requestMark: Int64?
    var foundingMark: Int64?
    /// Of groups that others have founded with this person.
    var drawnMark: Int64?
    var blockMark: Int64?

    private static let marks = [\Person.requestMark, \Person.foundingMark, \Person.drawnMark, \Person.blockMark]

    /// Of a person of whom only marks are left: when they mean nothing any more.
    var due: Int64? {
      if groupsFounded > 0 || withoutMarks != Person() { return nil }
      return Self.marks.compactMap { self[keyPath: $0] }.max()
    }

    private var withoutMarks: Person {
      var person = self
      for mark in Self.marks { person[keyPath: mark] = nil }
      return person
    }

    /// Without the marks that mean nothing any more.
    func settled(_ now: Int64) -> Person {
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
      /// Was added by somebody whom they have blocked: looks like a member who never comes.
      var absent = false
    }

    struct Block: Codable, Sendable, Equatable {
      var by: String
      var of: String
      /// How far the one who blocks had come then: the other is shown no more of it.
      var read: UInt64?
      var delivered: UInt64?
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

    func blocked(by user: String) -> [String] {
      blocks.compactMap { $0.by.hasSameBytes(as: user) ? $0.of : nil }
    }

    /// Members whose messages somebody does not get, nor they theirs.
    func hidden(from user: String) -> [String] {
      blocks.compactMap { block in
        if block.by.hasSameBytes(as: user) { return block.of }
        return block.of.hasSameBytes(as: user) ? block.by : nil
      }
    }
  }

  /// What a member's key has founded, so that the same is not founded twice.
  struct Founding: AppRecord {
    var group: String
    /// Of the members and the name: the same key with others is a mistake of the phone.
    var digest: String
    var ends: Int64

    var due: Int64? { ends }
  }
}

extension Clique {
  /// Record keys: their kind, then an id, or a name whose bytes beyond letters and digits are written as `%41`. So no
  /// two names share a key, in whatever way keys are compared.
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
