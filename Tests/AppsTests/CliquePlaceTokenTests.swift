import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: places that a backend attests")
struct CliquePlaceTokenTests {
  private func scene(requires: Bool = true) -> CliqueScene {
    var rules = CliqueRules()
    rules.requiresPlaceToken = requires
    return CliqueScene(rules)
  }

  private func enter(
    _ scene: CliqueScene, _ json: String = #"{"place":"park"}"#, attested: String? = nil,
    source: AppCall.Source = .client
  ) -> String {
    do {
      return try scene.call("ann", "enter", json, source: source, attestedPlace: attested)
    } catch {
      return (error as? ClientError).map { "\($0.code) \($0.message)" } ?? "\(error)"
    }
  }

  private let token = #"{"place":"park","token":"x"}"#

  @Test("where a token is required, nobody enters or stays without one, and nothing is looked up or kept of it")
  func required() throws {
    let scene = scene()
    let refused = enter(scene)
    #expect(refused.hasPrefix("103 ") && refused.contains("place token"), "\(refused)")
    #expect(scene.records.isEmpty && scene.lookups == 0)
    #expect(enter(scene, token, attested: "park") == #"{"visible":true}"#)
    let visits = try #require(scene.records["visits/ann"]).data
    // To say again that one is still there needs one, too.
    try scene.pass(60 * 60_000)
    #expect(enter(scene).hasPrefix("103 "))
    #expect(scene.records["visits/ann"]?.data == visits)
    #expect(enter(scene, token, attested: "park") == #"{"visible":true}"#)
    #expect(scene.records["visits/ann"]?.data != visits)
    // To leave, to look and to be invisible needs none; the invisible are asked for one like all others.
    try scene.call("ann", "invisible", #"{"on":true}"#)
    #expect(enter(scene).hasPrefix("103 "))
    #expect(enter(scene, token, attested: "park") == #"{"visible":false}"#)
    try scene.call("ann", "leave", #"{"place":"park"}"#)
    try scene.call("ann", "crossings")
  }

  @Test("a visit that nobody renews with a token ends when its time is over")
  func ends() throws {
    let scene = scene()
    #expect(enter(scene, token, attested: "park") == #"{"visible":true}"#)
    for _ in 0..<5 {
      try scene.pass(60 * 60_000)
      #expect(enter(scene).hasPrefix("103 "))
    }
    let visits = try #require(try scene.record(Clique.Visits.self, "visits/ann")).visits
    #expect(visits.map { $0.end - $0.since } == [3 * 60 * 60_000])
  }

  @Test("a token for one place opens no other, whether or not tokens are required", arguments: [true, false])
  func otherPlace(_ requires: Bool) {
    let scene = scene(requires: requires)
    for other in ["cafe", "Park", "park ", "cafe\u{301}", ""] {
      #expect(enter(scene, token, attested: other).hasPrefix("103 "), "\(other)")
    }
    // The same to a reader, but not the same bytes.
    #expect(enter(scene, #"{"place":"café","token":"x"}"#, attested: "cafe\u{301}").hasPrefix("103 "))
    #expect(scene.records.isEmpty)
  }

  @Test("a token that nobody has checked counts for nothing, also where none is required", arguments: [true, false])
  func unchecked(_ requires: Bool) {
    let scene = scene(requires: requires)
    for json in [token, #"{"place":"park","token":7}"#, #"{"place":"park","token":{"sub":"ann"}}"#] {
      #expect(enter(scene, json).hasPrefix("103 "), "\(json)")
      // A gateway speaks for itself about other things.
      #expect(enter(scene, json, source: .gateway).hasPrefix("103 "), "\(json)")
    }
    #expect(scene.records.isEmpty)
    #expect(enter(scene, #"{"place":"park","token":null}"#).hasPrefix("103 ") == requires)
  }

  @Test("a service attests by itself: it needs no token, and is told so where it sends one")
  func service() {
    let scene = scene()
    #expect(enter(scene, source: .service) == #"{"visible":true}"#)
    #expect(enter(scene, token, source: .service).hasPrefix("107 "))
  }

  @Test("where none is required, all is as without")
  func off() {
    let scene = scene(requires: false)
    #expect(enter(scene) == #"{"visible":true}"#)
    #expect(enter(scene, token, attested: "park") == #"{"visible":true}"#)
  }
}
