import Apps
import Testing

/// The table of `StateShape`, cell by cell, as literal text.
///
/// A row is what stands, from my side: my phase / the other's, `~` who has looked at what was revealed, `+` who blocks.
/// A cell is what my event does, and what stands then where it is another.
@Suite("State: the table of phases and events")
struct StateTableTests {
  static let table = """
    row                     | begin    | cancel | send                      | sendUnshown               | seen                          | react       | block                        | unblock                  | time
    idle/idle               | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/idle+me           | stays                    | stays
    idle/idle+me            | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/idle          | stays
    idle/idle+they          | stays    | stays  | seals sent/idle+they      | seals sent/idle+they      | stays                         | notRevealed | stays idle/idle+both         | stays                    | stays
    idle/idle+both          | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/idle+they     | stays
    sent/received           | sealed   | stays  | sealed                    | sealed                    | stays                         | notRevealed | leaves idle/received+me      | stays                    | expires expired/expired
    received/sent           | stays    | stays  | reveals revealed/revealed | reveals revealed/revealed | stays                         | notRevealed | leaves idle/sent+me          | stays                    | expires expired/expired
    sent/idle               | sealed   | stays  | sealed                    | sealed                    | stays                         | notRevealed | ends idle/idle+me            | stays                    | expires expired/idle
    sent/idle+they          | sealed   | stays  | sealed                    | sealed                    | stays                         | notRevealed | ends idle/idle+both          | stays                    | expires expired/idle+they
    idle/sent               | stays    | stays  | reveals revealed/revealed | reveals revealed/revealed | stays                         | notRevealed | stays idle/sent+me           | stays                    | expires idle/expired
    idle/sent+me            | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/sent          | expires idle/expired+me
    received/idle           | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | ends idle/idle+me            | stays                    | expires expired/idle
    received/idle+they      | stays    | stays  | seals sent/idle+they      | seals sent/idle+they      | stays                         | notRevealed | ends idle/idle+both          | stays                    | expires expired/idle+they
    idle/received           | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/received+me       | stays                    | expires idle/expired
    idle/received+me        | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/received      | expires idle/expired+me
    revealed/revealed       | unseen   | stays  | unseen                    | unseen                    | stays revealed/revealed~me    | stays       | leaves idle/revealed+me      | stays                    | ends idle/idle
    revealed/revealed~me    | unseen   | stays  | unseen                    | unseen                    | stays                         | stays       | leaves idle/revealed~me+me   | stays                    | ends idle/idle
    revealed/revealed~they  | stays    | stays  | seals sent/received       | seals sent/idle           | stays revealed/revealed~both  | stays       | leaves idle/revealed~they+me | stays                    | ends idle/idle
    revealed/revealed~both  | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | stays       | leaves idle/revealed~both+me | stays                    | ends idle/idle
    revealed/idle           | unseen   | stays  | unseen                    | unseen                    | stays revealed/idle~me        | stays       | ends idle/idle+me            | stays                    | ends idle/idle
    revealed/idle~me        | unseen   | stays  | unseen                    | unseen                    | stays                         | stays       | ends idle/idle+me            | stays                    | ends idle/idle
    revealed/idle~they      | stays    | stays  | seals sent/received       | seals sent/idle           | stays revealed/idle~both      | stays       | ends idle/idle+me            | stays                    | ends idle/idle
    revealed/idle~both      | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | stays       | ends idle/idle+me            | stays                    | ends idle/idle
    revealed/idle+they      | unseen   | stays  | unseen                    | unseen                    | stays revealed/idle~me+they   | stays       | ends idle/idle+both          | stays                    | ends idle/idle+they
    revealed/idle~me+they   | unseen   | stays  | unseen                    | unseen                    | stays                         | stays       | ends idle/idle+both          | stays                    | ends idle/idle+they
    revealed/idle~they+they | stays    | stays  | seals sent/idle+they      | seals sent/idle+they      | stays revealed/idle~both+they | stays       | ends idle/idle+both          | stays                    | ends idle/idle+they
    revealed/idle~both+they | stays    | stays  | seals sent/idle+they      | seals sent/idle+they      | stays                         | stays       | ends idle/idle+both          | stays                    | ends idle/idle+they
    idle/revealed           | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/revealed+me       | stays                    | ends idle/idle
    idle/revealed~me        | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/revealed~me+me    | stays                    | ends idle/idle
    idle/revealed~they      | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/revealed~they+me  | stays                    | ends idle/idle
    idle/revealed~both      | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/revealed~both+me  | stays                    | ends idle/idle
    idle/revealed+me        | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/revealed      | ends idle/idle+me
    idle/revealed~me+me     | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/revealed~me   | ends idle/idle+me
    idle/revealed~they+me   | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/revealed~they | ends idle/idle+me
    idle/revealed~both+me   | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/revealed~both | ends idle/idle+me
    expired/expired         | stays    | stays  | seals sent/received       | seals sent/idle           | leaves idle/expired           | notRevealed | leaves idle/expired+me       | stays                    | ends idle/idle
    expired/idle            | stays    | stays  | seals sent/received       | seals sent/idle           | ends idle/idle                | notRevealed | ends idle/idle+me            | stays                    | ends idle/idle
    expired/idle+they       | stays    | stays  | seals sent/idle+they      | seals sent/idle+they      | ends idle/idle+they           | notRevealed | ends idle/idle+both          | stays                    | ends idle/idle+they
    idle/expired            | stays    | stays  | seals sent/received       | seals sent/idle           | stays                         | notRevealed | stays idle/expired+me        | stays                    | ends idle/idle
    idle/expired+me         | blocking | stays  | blocking                  | blocking                  | stays                         | blocking    | stays                        | stays idle/expired       | ends idle/idle+me
    """

  /// Row name to the cells, in the order of the columns.
  static let cells: [String: [String]] = {
    var cells: [String: [String]] = [:]
    for line in table.split(separator: "\n").dropFirst() {
      let columns = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
      cells[columns[0]] = Array(columns.dropFirst())
    }
    return cells
  }()

  /// A shape in the table's words, as one side sees it.
  static func name(_ shape: StateShape, from me: StateSide) -> String {
    func who(_ both: Both<Bool>) -> String? {
      switch (both[me], both[me.other]) {
      case (false, false): nil
      case (true, false): "me"
      case (false, true): "they"
      case (true, true): "both"
      }
    }
    return "\(shape.phase(of: me).rawValue)/\(shape.phase(of: me.other).rawValue)"
      + (who(shape.seen).map { "~" + $0 } ?? "") + (who(shape.blocks).map { "+" + $0 } ?? "")
  }

  static func name(_ move: StateMove) -> String {
    switch move {
    case .refused(let refusal): "\(refusal)"
    default: "\(move)"
    }
  }

  /// Everything that can come to be, by any events of both and by time, from nothing.
  static let reachable: Set<StateShape> = {
    var found: Set<StateShape> = [StateShape()]
    var waiting = [StateShape()]
    while let shape = waiting.popLast() {
      for next in successors(of: shape) where found.insert(next).inserted { waiting.append(next) }
    }
    return found
  }()

  static func successors(of shape: StateShape) -> [StateShape] {
    var all: [StateShape] = []
    for side in StateSide.allCases {
      for event in StateEvent.allCases {
        var next = shape
        _ = next.apply(event, by: side)
        all.append(next)
      }
    }
    var later = shape
    _ = later.applyTime()
    return all + [later]
  }

  @Test("every cell does what the table says, for either side")
  func everyCell() {
    var walked = 0
    for shape in Self.reachable {
      for side in StateSide.allCases {
        let row = Self.name(shape, from: side)
        guard let cells = Self.cells[row] else {
          Issue.record("\(row) can come to be, and the table does not decide it")
          continue
        }
        #expect(cells.count == StateEvent.allCases.count + 1)
        for (index, cell) in cells.enumerated() {
          var next = shape
          let move =
            index < StateEvent.allCases.count ? next.apply(StateEvent.allCases[index], by: side) : next.applyTime()
          let result = Self.name(next, from: side)
          #expect(Self.name(move) + (result == row ? "" : " " + result) == cell, "\(row), column \(index)")
          walked += 1
        }
      }
    }
    #expect(walked == Self.reachable.count * 2 * (StateEvent.allCases.count + 1))
  }

  @Test("the table has no row that cannot come to be")
  func noRowTooMany() {
    let rows = Set(Self.reachable.flatMap { shape in StateSide.allCases.map { Self.name(shape, from: $0) } })
    #expect(rows == Set(Self.cells.keys))
    #expect(Self.cells.count == 39)
  }

  @Test("two things that stand differently never look alike in the table")
  func namesAreUnique() {
    let names = Self.reachable.map { Self.name($0, from: .low) }
    #expect(Set(names).count == names.count)
  }

  @Test("a refused event changes nothing")
  func refusalsChangeNothing() {
    for shape in Self.reachable {
      for event in StateEvent.allCases {
        var next = shape
        if case .refused = next.apply(event, by: .low) { #expect(next == shape) }
      }
    }
  }

  @Test("who blocks is idle, and no event of the blocked one changes that")
  func blockerIsIdle() {
    for shape in Self.reachable where shape.blocks.low {
      #expect(shape.phase(of: .low) == .idle)
      for event in StateEvent.allCases {
        var next = shape
        _ = next.apply(event, by: .high)
        #expect(next.phase(of: .low) == .idle)
      }
    }
  }

  /// The two runs differ in nothing but that the other blocks; the one who is blocked must be answered alike, and look
  /// alike, whatever they do while the other says nothing.
  @Test("a block looks like silence to the blocked one, from nothing, and from what they sent")
  func blockLooksLikeSilence() {
    for start in Self.reachable
    where !start.blocks.low && !start.blocks.high && start.over == Both(false)
      && start.phase(of: .low) != .received
    {
      var blocked = start
      _ = blocked.apply(.block, by: .high)
      #expect(Self.alike(start, blocked) > 0)
    }
  }

  /// Expects that the one on the low side is answered alike and looks alike in two runs, whatever they do from here.
  ///
  /// - Returns: the pairs of shapes that were come to.
  private static func alike(_ one: StateShape, _ other: StateShape) -> Int {
    var seen: Set<[StateShape]> = []
    var waiting = [[one, other]]
    while let pair = waiting.popLast() {
      #expect(pair[0].phase(of: .low) == pair[1].phase(of: .low))
      for event in StateEvent.allCases + [nil] {
        var (a, b) = (pair[0], pair[1])
        let moveA = event.map { a.apply($0, by: .low) } ?? a.applyTime()
        let moveB = event.map { b.apply($0, by: .low) } ?? b.applyTime()
        if case .refused = moveA { #expect(moveA == moveB) }
        if case .refused = moveB { #expect(moveA == moveB) }
        if seen.insert([a, b]).inserted { waiting.append([a, b]) }
      }
    }
    return seen.count
  }

  @Test("what is sent beyond the other's limit looks like what is sent and not answered")
  func limitLooksLikeSilence() {
    for start in Self.reachable {
      var (shown, unshown) = (start, start)
      let moves = (shown.apply(.send, by: .low), unshown.apply(.sendUnshown, by: .low))
      #expect(moves.0 == moves.1)
      if moves.0 == .reveals { #expect(shown == unshown, "an answer reaches everybody") }
      guard moves.0 == .seals else { continue }
      #expect(unshown.phase(of: .high) == .idle)
      #expect(Self.alike(shown, unshown) > 0)
    }
  }

  @Test("each phase has a name and a colour of its own")
  func names() {
    #expect(StatePhase.allCases.map(\.rawValue) == ["idle", "sent", "received", "revealed", "expired"])
    #expect(Set(StatePhase.allCases.map(\.colour)).count == 5)
  }
}
