/// Everything that stands between two people. Both sides are in one record, so that no crash can leave one side without
/// the other.
public struct StateThread: AppRecord {
  public var people: StatePair
  var standing: Standing?
  /// When the standing began, in milliseconds since 1970.
  var since: Int64 = 0
  /// When the standing ends, in milliseconds since 1970. At this millisecond it has ended.
  var until: Int64 = 0
  var over = Both(false)
  var seen = Both(false)
  var blocks = Both(false)
  var sent = Both<Sent?>(nil)
  /// What each of the two is to be told; nil: nothing, or nobody is notified. Records of earlier versions have none.
  var told: Both<StateNews?>?
  public var due: Int64?

  /// What stands between the two, with its contents. The type has no place for contents that can be read before the
  /// answer, nor for any that outlive the deadline.
  enum Standing: Sendable, Codable, Equatable {
    /// The contents are nil where their sender has blocked the other since.
    case sealed(by: StateSide, SealedContents?, answerLimit: Int64)
    case revealed(Both<ReleasedContents>)
    case expired
  }

  /// What a side sent last, so that a repeated send is recognised, and how it was answered.
  struct Sent: Sendable, Codable, Equatable {
    var key: String
    var front: String
    var rear: String
    var reply: StateSendReply
  }

  init(people: StatePair) { self.people = people }

  public func phase(of side: StateSide) -> StatePhase { shape.phase(of: side) }

  /// The part of the thread that the table decides about.
  public var shape: StateShape {
    var shape = StateShape()
    shape.standing =
      switch standing {
      case nil: .nothing
      case .sealed(let sender, _, _): .sealed(by: sender)
      case .revealed: .revealed
      case .expired: .expired
      }
    shape.over = over
    shape.seen = seen
    shape.blocks = blocks
    return shape
  }

  /// Whether the record holds nothing worth keeping.
  var isEmpty: Bool { standing == nil && !blocks.low && !blocks.high }

  /// An expired thread holds no contents whose end could be late, so it is only tidied up.
  public var lane: AppLane { standing == .expired ? .upkeep : .endings }

  /// Whether a side waits for the other's answer.
  func isWaiting(_ side: StateSide) -> Bool {
    if case .sealed(let sender, _, _) = standing { sender == side } else { false }
  }

  /// 1: a side is shown something that awaits its answer; else 0.
  func received(_ side: StateSide) -> Int { phase(of: side) == .received ? 1 : 0 }

  /// The ids of the pictures whose keys the thread holds.
  var pictures: [String] {
    switch standing {
    case .sealed(_, let contents?, _): [contents.front.id, contents.rear.id]
    case .revealed(let both): [both.low, both.high].flatMap { [$0.front.id, $0.rear.id] }
    case .sealed, .expired, nil: []
    }
  }
}

/// What one of the two sent, while it awaits the answer.
struct SealedContents: Sendable, Codable, Equatable {
  struct Picture: Sendable, Codable, Equatable {
    var id: String
    var type: String
    var key: SealedKey
  }

  var front: Picture
  var rear: Picture
  var caption: SealedText?

  /// Releases all of the contents, or throws.
  func released(by vault: any KeyVault) throws(KeyVaultError) -> ReleasedContents {
    ReleasedContents(
      front: .init(id: front.id, type: front.type, key: try vault.release(front.key)),
      rear: .init(id: rear.id, type: rear.type, key: try vault.release(rear.key)),
      caption: try released(caption, by: vault))
  }

  private func released(
    _ text: SealedText?, by vault: any KeyVault
  ) throws(KeyVaultError) -> ReleasedContents.Caption? {
    guard let text else { return nil }
    return .init(key: try vault.release(text.key), box: text.box)
  }
}

/// What one of the two sent, after the answer.
struct ReleasedContents: Sendable, Codable, Equatable {
  struct Picture: Sendable, Codable, Equatable {
    var id: String
    var type: String
    var key: ReleasedKey
  }
  struct Caption: Sendable, Codable, Equatable {
    var key: ReleasedKey
    var box: Bytes64
  }

  var front: Picture
  var rear: Picture
  var caption: Caption?
  /// What the sender of these contents says to the other's. Here, so that it ends with them.
  var reaction: Caption?
}

extension StateThread {
  /// Takes over what the table decided. Contents that do not belong to the new standing are dropped.
  mutating func adopt(_ shape: StateShape) {
    over = shape.over
    seen = shape.seen
    blocks = shape.blocks
    switch shape.standing {
    case .nothing: standing = nil
    case .expired: standing = .expired
    case .sealed(let sender):
      // The exchange is over for its sender, who has blocked the other since: the other must never get the contents.
      if over[sender], case .sealed(_, _, let limit) = standing {
        standing = .sealed(by: sender, nil, answerLimit: limit)
      }
    case .revealed: break
    }
  }

  /// Lets time pass until now.
  mutating func advance(to now: Int64, _ rules: StateRules) { self = ends(until: now, rules).last ?? self }

  /// What becomes of the thread as one standing after another ends, oldest first; empty where none has ended yet. Two at
  /// most: what has expired may be over as well by the time at which somebody looks.
  func ends(until now: Int64, _ rules: StateRules) -> [StateThread] {
    var thread = self
    var passed: [StateThread] = []
    while thread.standing != nil, thread.until <= now {
      var shape = thread.shape
      let move = shape.applyTime()
      thread.adopt(shape)
      if move == .expires {
        thread.since = thread.until
        thread.until = thread.since.saturatingAdd(rules.expiredLifetime)
      }
      passed.append(thread)
    }
    return passed
  }

  /// When the standing changes by itself, or its end is to be told, in milliseconds since 1970; nil: never.
  var nextDue: Int64? { standing == nil ? nil : min(until, warningDue ?? until) }
}

extension Int64 {
  func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflowed) = addingReportingOverflow(other)
    return overflowed ? .max : sum
  }
}
