import Testing
import Wire

@testable import Broker

/// The ordered tables against the plainest thing that does the same.
@Suite("Ordered tables of the broker")
struct OrderTests {
  @Test("a due index gives out its keys by their latest times")
  func dueIndex() {
    var random = FixedEpochs()
    for _ in 0..<50 {
      var index = DueIndex<Int>()
      var model: [Int: Int64] = [:]
      for _ in 0..<400 {
        let key = Int.random(in: 0..<60, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          index.remove(key)
          model[key] = nil
        case 1:
          let limit = Int64.random(in: 0..<100, using: &random)
          let least = model.values.min()
          let found = index.next(upTo: limit)
          #expect((found == nil) == (least.map { $0 > limit } ?? true))
          if let found {
            #expect(model[found] == least)
            model[found] = nil
          }
        default:
          let time = Int64.random(in: 0..<100, using: &random)
          index.set(key, at: time)
          model[key] = time
        }
        #expect(index.count == model.count)
        #expect(index.nextTime == model.values.min())
        #expect(index[key] == model[key])
      }
    }
  }

  @Test("a place list is read in order from any place, up and down")
  func placeList() {
    var random = FixedEpochs()
    func place() -> PlaceList.Place {
      .init(score: .random(in: 0..<40, using: &random), key: "k\(Int.random(in: 0..<50, using: &random))")
    }
    for _ in 0..<4 {
      var list = PlaceList()
      var model: [PlaceList.Place] = []
      for step in 0..<3000 {
        let one = place()
        if let index = model.firstIndex(of: one) {
          list.remove(one)
          model.remove(at: index)
        } else if step % 3 != 0 {
          list.insert(one)
          model.append(one)
        } else {
          list.remove(one)
        }
        guard step % 50 == 0 else { continue }
        let start = place()
        for isDescending in [false, true] {
          var read: [PlaceList.Place] = []
          list.forEach(after: start, isDescending: isDescending) { place in
            read.append(place)
            return read.count < 700
          }
          let expected =
            isDescending ? model.sorted().reversed().filter { $0 < start } : model.sorted().filter { start < $0 }
          #expect(read == Array(expected.prefix(700)))
          var whole: [PlaceList.Place] = []
          list.forEach(after: nil, isDescending: isDescending) { place in
            whole.append(place)
            return true
          }
          #expect(whole == (isDescending ? model.sorted().reversed() : model.sorted()))
        }
        #expect(list.count == model.count)
      }
    }
  }

  @Test("presence counts clients and users as they come and go, through gateways that vanish")
  func presence() {
    var random = FixedEpochs()
    var presence = Presence()
    var model: [String: (user: Int, gateway: UInt64)] = [:]
    for step in 0..<5000 {
      let client = "c\(Int.random(in: 0..<80, using: &random))"
      if step % 500 == 499 {
        let gone = presence.removeMembers(of: 1)
        #expect(Set(gone.map(\.client)) == Set(model.filter { $0.value.gateway == 1 }.keys))
        model = model.filter { $0.value.gateway != 1 }
      } else if Bool.random(using: &random) {
        let (user, gateway) = (Int.random(in: 0..<9, using: &random), UInt64.random(in: 1...3, using: &random))
        let isNew = presence.enter(
          .init(info: ClientInfo(user: "u\(user)", client: client), gateway: gateway, session: 1))
        #expect(isNew == (model.updateValue((user, gateway), forKey: client) == nil))
      } else {
        let wasThere = presence.leave(client: client) != nil
        #expect(wasThere == (model.removeValue(forKey: client) != nil))
      }
      #expect(presence.count == model.count)
      #expect(presence.userCount == Set(model.values.map(\.user)).count)
      #expect(presence[client]?.gateway == model[client]?.gateway)
    }
    #expect(Set(presence.infos.map(\.client)) == Set(model.keys))
  }

  @Test("presence is answered with as many members as one answer may hold; the stats count all of them")
  func presencePage() {
    let scene = BrokerScene { $0.maximumPageSize = 10 }
    scene.hello(1)
    for id in 1...40 as ClosedRange<UInt64> {
      let info = ClientInfo(user: "u\(id % 4)", client: "c\(id)")
      scene.request(id, .subscribe(.init(channel: "m", member: info)))
    }
    guard case .presence(let members, _)? = scene.ask(.presence("m")) else {
      Issue.record("no members")
      return
    }
    #expect(members.count == 10)
    #expect(scene.ask(.presenceStats("m")) == .presenceStats(clients: 40, users: 4))
  }
}
