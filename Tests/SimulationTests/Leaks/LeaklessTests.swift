import TestSupport
import Testing

/// Whoever is blocked, declined or writes to nobody must not be able to tell it from silence: neither by what is
/// answered and shown, nor by when.
///
/// `FANFARE_PROBES=100000` looks for longer.
@Suite("Who is blocked, declined or alone cannot tell it from silence", .ownThread)
struct LeaklessTests {
  /// Of all questions, in both worlds.
  private static let probes =
    SimulationTests.environment["FANFARE_PROBES"].flatMap { Int($0) } ?? 10_000
  private static let probesPerWorld = 20
  /// Above it a classifier is taken to have found something.
  private static let limit = 0.55

  /// Two worlds of each seed, with what was observed in each.
  private struct Pairs {
    var silent: [[Probe]] = []
    var other: [[Probe]] = []

    init(_ secret: LeakWorld.Secret, seeds: Int, isAway: Bool) {
      for seed in 1...UInt64(seeds) {
        let worlds = [false, true].map { LeakWorld(seed: seed, secret, isOther: $0, isAway: isAway) }
        silent.append(worlds[0].run(LeaklessTests.probesPerWorld))
        other.append(worlds[1].run(LeaklessTests.probesPerWorld))
      }
    }

    /// How many probes differ from those of the other world in anything that can be observed.
    var different: Int {
      zip(silent.joined(), other.joined()).count { $0.features != $1.features }
    }

    /// Probe by probe: learns on the odd seeds, and is measured on the even ones.
    func verdict(_ features: (Probe) -> [String: Double] = \.features) -> Verdict {
      compared { probes in probes.map(features) }
    }

    /// Of whole sessions, with what was observed in each added up: a rare sign adds up, too.
    func sessionVerdict(_ features: (Probe) -> [String: Double] = \.features) -> Verdict {
      compared { probes in [probes.reduce(into: [:]) { $0.merge(features($1), uniquingKeysWith: +) }] }
    }

    private func compared(_ features: ([Probe]) -> [[String: Double]]) -> Verdict {
      func samples(_ parity: Int) -> [Sample] {
        [(silent, false), (other, true)].flatMap { worlds, isOther in
          worlds.enumerated().filter { $0.offset % 2 == parity }.flatMap { features($0.element) }
            .map { Sample(features: $0, isOther: isOther) }
        }
      }
      return Verdict(training: samples(0), test: samples(1))
    }
  }

  /// Of each of the five sets of pairs.
  private static let seeds = max(probes / (5 * 2 * probesPerWorld), 20)
  private static let blocked = Pairs(.block, seeds: seeds, isAway: false)

  @Test("No classifier tells the other world from silence", arguments: LeakWorld.Secret.kept)
  func indistinguishable(_ secret: LeakWorld.Secret) {
    // Who was never here is compared with somebody who is away.
    let pairs =
      secret == .block ? Self.blocked : Pairs(secret, seeds: Self.seeds, isAway: secret == .absence)
    let (probes, sessions) = (pairs.verdict(), pairs.sessionVerdict())
    print(
      "\(secret): \(pairs.different) of \(pairs.other.joined().count) pairs differ; probes: \(probes); sessions: "
        + "\(sessions); with all work: \(pairs.verdict(\.featuresWithWork))")
    #expect(probes.worst <= Self.limit, "\(secret): \(probes)")
    #expect(sessions.worst <= Self.limit, "\(secret): \(sessions)")
    check(pairs)
  }

  /// What concerns somebody who has no channel open has to be read from the disk first, as much under a block as without.
  @Test(
    "Nor where the other is away, and is read from the disk",
    arguments: [LeakWorld.Secret.block, .decline])
  func away(_ secret: LeakWorld.Secret) {
    let pairs = Pairs(secret, seeds: Self.seeds, isAway: true)
    let (probes, sessions) = (pairs.verdict(), pairs.sessionVerdict())
    print(
      "\(secret), away: \(pairs.different) of \(pairs.other.joined().count) pairs differ; probes: \(probes); sessions: "
        + "\(sessions); without time: \(pairs.verdict(\.featuresWithoutTime)), sessions: "
        + "\(pairs.sessionVerdict(\.featuresWithoutTime))")
    #expect(probes.worst <= Self.limit, "\(secret): \(probes)")
    #expect(sessions.worst <= Self.limit, "\(secret): \(sessions)")
    check(pairs)
  }

  /// The probes were of many kinds, and came to something.
  private func check(_ pairs: Pairs) {
    let probes = Array(pairs.other.joined())
    #expect(Set(probes.map(\.action)).count > 30)
    #expect(probes.count { !$0.pushes.isEmpty } > probes.count / 5)
    #expect(probes.allSatisfy { $0.rounds > 0 && $0.rounds < 500 })
  }

  @Test("What is told is found: the other has left")
  func told() {
    let pairs = Pairs(.leaving, seeds: 12, isAway: false)
    let verdict = pairs.verdict()
    print("leaving: \(verdict)")
    #expect(verdict.worst > Self.limit, "\(verdict)")
  }

  /// Something that could give a block away, each time in one of five of the other world's probes.
  enum Leak: CaseIterable {
    case error, byte, round, read, push, delay

    func show(in probe: inout Probe) {
      switch self {
      case .error: probe.errors.append(103)
      case .byte: probe.answerBytes += 1
      case .round: probe.rounds += 1
      case .read: probe.reads += 1
      case .push: probe.pushes["clique.list", default: .init()].count += 1
      case .delay: for namespace in probe.pushes.keys { probe.pushes[namespace]?.last += 1 }
      }
    }
  }

  @Test("A leak in one of five probes is found, whatever it is")
  func leaks() {
    let honest = Self.blocked
    for leak in Leak.allCases {
      var pairs = honest
      // What comes later is in three of five of those probes to which anything comes: a third of all.
      var random = SeededRandom(seed: 5)
      for world in pairs.other.indices {
        for index in pairs.other[world].indices where random.chance(leak == .delay ? 60 : 20) {
          leak.show(in: &pairs.other[world][index])
        }
      }
      let verdict = pairs.verdict()
      print("leak \(leak): \(verdict)")
      #expect(verdict.worst > Self.limit, "\(leak): \(verdict)")
    }
  }

  @Test("The area under the curve is that of the definition, with ties")
  func area() {
    #expect(Verdict.area([1, 2, 3, 4], [false, false, true, true]) == 1)
    #expect(Verdict.area([4, 3, 2, 1], [false, false, true, true]) == 0)
    #expect(Verdict.area([1, 1, 1, 1], [false, true, false, true]) == 0.5)
    #expect(Verdict.area([1, 2, 2, 3], [false, true, false, true]) == 0.875)
    #expect(Verdict.area([1, 2], [true, true]) == 0.5)
  }
}
