import Apps
import Testing

/// Words of the tables below, from the side of the one who acts.
private enum Words {
  static func standing(_ words: Substring, me: PairState.Side) -> PairState.Standing? {
    let parts = words.split(separator: " ")
    let side = parts.count > 1 && parts[1] == "me" ? me : me.other
    switch parts.first {
    case "none": return PairState.Standing.none
    case "active": return .active
    case "requested": return .requested(by: side)
    case "ended": return .ended(by: side)
    case "declined": return PairState.Silence(rawValue: String(parts.last ?? "")).map { .declined(by: side, $0) }
    default: return nil
    }
  }

  static func outcome(_ word: Substring) -> PairState.Outcome? {
    switch word {
    case "waits": .waits(seen: true)
    case "waits-unseen": .waits(seen: false)
    case "delivered": .delivered(seen: true)
    case "delivered-unseen": .delivered(seen: false)
    case "opened": .opened
    case "opened+delivered": .openedAndDelivered(seen: true)
    case "opened+delivered-unseen": .openedAndDelivered(seen: false)
    case "changed": .changed
    case "takenBack": .takenBack
    case "same": .unchanged
    default: PairState.Refusal(rawValue: String(word)).map { .refused($0) }
    }
  }

  static func blockers(_ sides: [PairState.Side]) -> PairState.Blockers? {
    switch (sides.contains(.a), sides.contains(.b)) {
    case (true, true): .both
    case (true, false): .a
    case (false, true): .b
    case (false, false): nil
    }
  }

  static func state(_ standing: PairState.Standing, blockedBy sides: [PairState.Side]) -> PairState {
    blockers(sides).map { .blocked(by: $0, over: standing) } ?? .unblocked(standing)
  }
}

@Suite("Clique: what stands between two people")
struct CliquePairTableTests {
  private static let columns: [PairState.Event] = [
    .message, .accept, .decline, .disconnect, .requestTimeout, .cooldownOver,
  ]

  private static let standings = [
    "none", "requested me", "requested them", "active", "declined me asking", "declined me quiet",
    "declined me lapsed", "declined them asking", "declined them quiet", "declined them lapsed", "ended me",
    "ended them",
  ]

  /// Each cell: what stands then, and what is done. In the order of `columns`.
  private static let open: [[String]] = [
    // none
    [
      "requested me: waits", "none: nothingAsked", "none: nothingAsked", "none: same", "none: same", "none: same",
    ],
    // requested me
    [
      "requested me: waits", "requested me: ownRequest", "requested me: ownRequest", "none: takenBack", "none: changed",
      "requested me: same",
    ],
    // requested them
    [
      "active: opened+delivered", "active: opened", "declined me asking: changed", "requested them: awaitsAnswer",
      "none: changed", "requested them: same",
    ],
    // active
    [
      "active: delivered", "active: same", "active: alreadyActive", "ended me: changed", "active: same", "active: same",
    ],
    // declined me asking
    [
      "active: opened+delivered", "declined me asking: nothingAsked", "declined me asking: same",
      "declined me asking: same", "declined me quiet: changed", "declined me lapsed: changed",
    ],
    // declined me quiet
    [
      "requested me: waits", "declined me quiet: nothingAsked", "declined me quiet: same", "declined me quiet: same",
      "declined me quiet: same", "none: changed",
    ],
    // declined me lapsed
    [
      "active: opened+delivered", "declined me lapsed: nothingAsked", "declined me lapsed: nothingAsked",
      "declined me lapsed: same", "none: changed", "declined me lapsed: same",
    ],
    // declined them asking
    [
      "declined them asking: waits-unseen", "declined them asking: ownRequest", "declined them asking: ownRequest",
      "declined them quiet: takenBack", "declined them quiet: changed", "declined them lapsed: changed",
    ],
    // declined them quiet
    [
      "declined them asking: waits-unseen", "declined them quiet: nothingAsked", "declined them quiet: nothingAsked",
      "declined them quiet: same", "declined them quiet: same", "none: changed",
    ],
    // declined them lapsed
    [
      "requested me: waits", "declined them lapsed: ownRequest", "declined them lapsed: ownRequest", "none: takenBack",
      "none: changed", "declined them lapsed: same",
    ],
    // ended me
    [
      "requested me: waits", "ended me: nothingAsked", "ended me: nothingAsked", "ended me: same", "ended me: same",
      "ended me: same",
    ],
    // ended them
    [
      "requested me: waits", "ended them: nothingAsked", "ended them: nothingAsked", "none: changed",
      "ended them: same", "ended them: same",
    ],
  ]

  /// What I write while they have blocked me; all else is as above.
  private static let messageUnderTheirBlock = [
    "declined them lapsed: waits-unseen", "requested me: waits-unseen", "active: opened+delivered-unseen",
    "active: delivered-unseen", "active: opened+delivered-unseen", "declined them lapsed: waits-unseen",
    "active: opened+delivered-unseen", "declined them asking: waits-unseen", "declined them asking: waits-unseen",
    "declined them lapsed: waits-unseen", "declined them lapsed: waits-unseen", "declined them lapsed: waits-unseen",
  ]

  /// What somebody is answered and sees, as the phone gets it.
  private static let sights: [String: (me: PairState.Sight, them: PairState.Sight)] = [
    "none": (.nothing, .nothing), "requested me": (.asking, .asked), "requested them": (.asked, .asking),
    "active": (.active, .active), "declined me asking": (.nothing, .asking), "declined me quiet": (.nothing, .nothing),
    "declined me lapsed": (.nothing, .asking), "declined them asking": (.asking, .nothing),
    "declined them quiet": (.nothing, .nothing), "declined them lapsed": (.asking, .nothing),
    "ended me": (.nothing, .ended), "ended them": (.ended, .nothing),
  ]

  private func expect(
    _ cell: String, _ event: PairState.Event, _ before: PairState, blockedBy: [PairState.Side], me: PairState.Side
  ) throws {
    let parts = cell.split(separator: ": ")
    let standing = try #require(Words.standing(parts[0], me: me))
    let outcome = try #require(Words.outcome(parts[1]))
    let expected = PairState.Step(state: Words.state(standing, blockedBy: blockedBy), outcome: outcome)
    #expect(before.after(event, by: me) == expected, "\(event) by \(me) in \(before)")
  }

  @Test("every event in every state without a block leads where the table says", arguments: PairState.Side.allCases)
  func unblocked(me: PairState.Side) throws {
    #expect(Self.open.count == Self.standings.count)
    for (row, words) in zip(Self.open, Self.standings) {
      let state = PairState.unblocked(try #require(Words.standing(words[...], me: me)))
      for (cell, event) in zip(row, Self.columns) { try expect(cell, event, state, blockedBy: [], me: me) }
      #expect(row.count == Self.columns.count)
    }
  }

  @Test("whom they block lives on as before, and their messages reach nobody", arguments: PairState.Side.allCases)
  func blockedByThem(me: PairState.Side) throws {
    for (index, words) in Self.standings.enumerated() {
      let standing = try #require(Words.standing(words[...], me: me))
      let state = Words.state(standing, blockedBy: [me.other])
      let row = [Self.messageUnderTheirBlock[index]] + Self.open[index].dropFirst()
      for (cell, event) in zip(row, Self.columns) { try expect(cell, event, state, blockedBy: [me.other], me: me) }
    }
  }

  @Test("who blocks is refused all but unblocking, and timers go on", arguments: PairState.Side.allCases)
  func blockedByMe(me: PairState.Side) throws {
    for blockers in [[me], [me, me.other]] {
      for (index, words) in Self.standings.enumerated() {
        let standing = try #require(Words.standing(words[...], me: me))
        let state = Words.state(standing, blockedBy: blockers)
        for (column, event) in Self.columns.enumerated() {
          // Time causes these two, and nobody acts.
          let isTimer = event == .requestTimeout || event == .cooldownOver
          let cell = isTimer ? Self.open[index][column] : "\(words): blockedByYou"
          try expect(cell, event, state, blockedBy: blockers, me: me)
        }
      }
    }
  }

  @Test("a block and its end touch nothing but one's own block", arguments: PairState.Side.allCases)
  func blocks(me: PairState.Side) throws {
    let them = me.other
    for words in Self.standings {
      let standing = try #require(Words.standing(words[...], me: me))
      for (before, block, unblock) in [
        ([], [me], []), ([me], [me], []), ([them], [me, them], [them]), ([me, them], [me, them], [them]),
      ] as [([PairState.Side], [PairState.Side], [PairState.Side])] {
        let state = Words.state(standing, blockedBy: before)
        let isMine = before.contains(me)
        #expect(
          state.after(.block, by: me)
            == .init(state: Words.state(standing, blockedBy: block), outcome: isMine ? .unchanged : .changed))
        #expect(
          state.after(.unblock, by: me)
            == .init(state: Words.state(standing, blockedBy: unblock), outcome: isMine ? .changed : .unchanged))
      }
    }
  }

  @Test("each side sees what it may see of each state", arguments: PairState.Side.allCases)
  func sights(me: PairState.Side) throws {
    for words in Self.standings {
      let standing = try #require(Words.standing(words[...], me: me))
      let sight = try #require(Self.sights[words])
      #expect(PairState.unblocked(standing).sight(of: me) == sight.me)
      #expect(PairState.unblocked(standing).sight(of: me.other) == sight.them)
      #expect(Words.state(standing, blockedBy: [me.other]).sight(of: me) == sight.me)
      #expect(Words.state(standing, blockedBy: [me]).sight(of: me) == .blocked)
      #expect(Words.state(standing, blockedBy: [me, me.other]).sight(of: me) == .blocked)
    }
  }

  /// What the state is as far as somebody can know to whom nobody tells of declines and blocks.
  private func believed(_ state: PairState, by me: PairState.Side) -> PairState {
    if state.isBlocked(by: me) { return .blocked(by: me == .a ? .a : .b, over: believedStanding(state, by: me)) }
    return .unblocked(believedStanding(state, by: me))
  }

  private func believedStanding(_ state: PairState, by me: PairState.Side) -> PairState.Standing {
    guard case .declined(me.other, let silence) = state.standing else { return state.standing }
    return silence == .quiet ? .none : .requested(by: me)
  }

  private func told(_ outcome: PairState.Outcome) -> PairState.Outcome {
    switch outcome {
    case .waits: .waits(seen: true)
    case .delivered: .delivered(seen: true)
    case .openedAndDelivered: .openedAndDelivered(seen: true)
    case .refused, .unchanged, .changed, .takenBack, .opened: outcome
    }
  }

  @Test("who is declined or blocked is answered as one who is not answered yet", arguments: PairState.Side.allCases)
  func twins(me: PairState.Side) throws {
    var compared = 0
    for words in Self.standings {
      let standing = try #require(Words.standing(words[...], me: me))
      for blockers in [[], [me.other]] as [[PairState.Side]] {
        let state = Words.state(standing, blockedBy: blockers)
        let twin = believed(state, by: me)
        for event in PairState.Event.allCases where event != .cooldownOver || twin == state {
          let (step, other) = (state.after(event, by: me), twin.after(event, by: me))
          // Ended, a request of one's own begins anew: what stood before is not asked for.
          let (mine, theirs) = (believed(step.state, by: me), believed(other.state, by: me))
          #expect(mine.sight(of: me) == theirs.sight(of: me), "\(event) in \(state)")
          #expect(told(step.outcome) == told(other.outcome), "\(event) in \(state)")
          #expect(mine == theirs, "\(event) in \(state)")
          compared += 1
        }
      }
    }
    #expect(compared > 150)
  }

  @Test("a request that cannot be shown reaches nobody, and looks like any other to its sender")
  func unheard() {
    let step = PairState.unblocked(.none).after(.message, by: .a, heard: false)
    #expect(step == .init(state: .unblocked(.declined(by: .b, .lapsed)), outcome: .waits(seen: false)))
    #expect(step.state.sight(of: .a) == .asking)
    #expect(step.state.sight(of: .b) == .nothing)
  }
}
