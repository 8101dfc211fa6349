import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("A walk over all channels in use")
struct ChannelWalkTests {
  private func open(_ names: some Sequence<String>, _ scene: BrokerScene) {
    for name in names {
      scene.lastID += 1
      scene.request(scene.lastID, .subscribe(ChannelName(stringLiteral: name), member: "c"), oldest: scene.lastID)
    }
  }

  @Test("a part is bounded, by channels and by what a look at them costs, and all are seen once")
  func bounded() {
    let scene = BrokerScene()
    scene.hello(1)
    let names = (0..<2500).map { "c\($0)" }
    open(names, scene)
    for cost in [0, 9] {
      var walk = scene.core.channels.beginWalk()
      var parts: [[String]] = []
      var isMore = true
      while isMore, parts.count < 10_000 {
        var part: [String] = []
        isMore = scene.core.channels.goOn(&walk) { state in
          part.append(state.name.string)
          return cost
        }
        parts.append(part)
      }
      #expect(parts.allSatisfy { $0.count <= ChannelWalk.costPerTurn / (cost + 1) })
      #expect(parts.flatMap { $0 }.sorted() == names.sorted())
    }
  }

  @Test("what is there all along is seen, whatever comes and goes meanwhile", arguments: 0..<20 as Range<UInt64>)
  func churn(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let scene = BrokerScene()
    scene.hello(1)
    open((0..<600).map { "c\($0)" }, scene)
    let channels = scene.core.channels
    var (staying, leaving) = (Set(channels.order.map(\.name)), [ChannelName]())
    for state in channels.order where Bool.random(using: &random) {
      staying.remove(state.name)
      leaving.append(state.name)
    }
    var walk = channels.beginWalk()
    var seen: Set<ChannelName> = []
    var (later, parts, isMore) = (0, 0, true)
    while isMore, parts < 10_000 {
      parts += 1
      isMore = channels.goOn(&walk) { state in
        seen.insert(state.name)
        return 49
      }
      for _ in 0..<Int.random(in: 0..<30, using: &random) {
        if Int.random(in: 0..<3, using: &random) == 0 {
          later += 1
          open(["later\(later)"], scene)
        } else if let index = leaving.indices.randomElement(using: &random),
          let state = channels[leaving.remove(at: index)]
        {
          channels.forget(state)
        }
      }
      let places = channels.order.enumerated().allSatisfy { $0.offset == $0.element.place }
      #expect(places && channels.order.count == channels.count)
    }
    #expect(staying.isSubset(of: seen))
  }
}
