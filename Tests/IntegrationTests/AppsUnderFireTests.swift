import Foundation
import TestSupport
import Testing

/// Clique and State, with their pictures, while processes are killed: the broker, a gateway, or all that there is.
@Suite("Apps under fire", .ownThread)
struct AppsUnderFireTests {
  @Test(
    """
    In Clique what was acknowledged is there once and in order on every device, nobody is sent what a block or a \
    decline keeps from them, and pictures are found by those who may and are gone with their messages; what disappears \
    is there until its time, and its text in no file and no table
    """, arguments: FirePlace.here + FirePlace.shared)
  func clique(at place: FirePlace) async throws {
    try await place.with(["state.enabled=false"]) { deployment in
      let couples = (0..<5).map { number in
        { @Sendable (watch: FireWatch, random: SeededGenerator) async throws in
          let couple = FireCouple(
            "c\(number)", deployment, watch, random, isShared: place.partitions > 1, isFleeting: number % 3 == 0)
          try await couple.begin()
          while !watch.isOver { try await couple.step() }
          try await couple.check()
          try await couple.checkPictures()
          return (ledger: couple.ledger, faults: couple.faults)
        }
      }
      let outcomes = try await deployment.burn(
        "Clique under fire, \(place.testDescription)", Fire.rounds(usually: 16), couples)
      let faults = outcomes.flatMap(\.faults)
      #expect(faults.isEmpty, "\(faults.prefix(10))")
      let holders = try deployment.holders(of: ByteSearch.forms(of: FireCouple.mark))
      #expect(holders.isEmpty, "what disappears is kept: \(holders)")
      #expect(try !deployment.holders(of: [" asks "]).isEmpty, "what stays is not found either")
      var left = ["nobody has looked yet"]
      _ = try await eventually(within: .seconds(60)) {
        let now = FireClock.now
        var album = PictureLedger()
        for outcome in outcomes { album.kept.formUnion(outcome.ledger.pictures(of: [], at: now).kept) }
        left = album.faults(inFiles: try deployment.pictures())
        return left.isEmpty
      }
      #expect(left.isEmpty, "\(left.prefix(10))")
    }
  }

  @Test(
    """
    In State every device hears each phase once and in order, nobody is sent or finds anything before they have sent \
    theirs or across a block, and at the end files and keys are gone
    """, arguments: FirePlace.here + FirePlace.shared)
  func state(at place: FirePlace) async throws {
    let lifetime = "\(FireExchange.lifetime)s"
    let settings = [
      "clique.enabled=false", "state.lifetime=\(lifetime)", "state.reveal_lifetime=\(lifetime)",
      "state.record_limit=10m", "state.upload_grace=1h",
    ]
    try await place.with(settings) { deployment in
      let pairs = (0..<6).map { number in
        { @Sendable (watch: FireWatch, random: SeededGenerator) async throws in
          let pair = FireExchange(
            "s\(number)", deployment, watch, random,
            log: place.engine == .sqlite ? deployment.directory.appendingPathComponent("broker") : nil)
          try await pair.begin()
          while !watch.isOver { try await pair.step() }
          try await pair.check()
          return (boxes: pair.boxes, faults: pair.faults)
        }
      }
      let outcomes = try await deployment.burn(
        "State under fire, \(place.testDescription)", Fire.rounds(usually: 8), pairs)
      let faults = outcomes.flatMap(\.faults)
      #expect(faults.isEmpty, "\(faults.prefix(10))")
      var files: Set<String> = []
      let isEmpty = try await eventually(within: .seconds(60)) {
        files = try deployment.pictures()
        return files.isEmpty
      }
      #expect(isEmpty, "pictures are left: \(files)")
      let boxes = outcomes.reduce(into: Set<String>()) { $0.formUnion($1.boxes) }
      #expect(boxes.isEmpty == (place.engine != .sqlite))
      let folder = deployment.directory.appendingPathComponent("broker")
      let isErased = try await eventually(within: .seconds(60)) {
        try ByteSearch.files(in: folder, holding: Array(boxes)).isEmpty
      }
      let holding = try ByteSearch.files(in: folder, holding: Array(boxes)).values
      #expect(isErased, "keys are left in \(holding)")
    }
  }
}
