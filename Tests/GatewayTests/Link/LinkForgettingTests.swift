import Testing
import Wire

@testable import Gateway

@Suite("A gateway forgets users by order")
struct LinkForgettingTests {
  @Test("An order to forget users is confirmed when they are forgotten, and not in a session that did not give it")
  func confirmed() throws {
    let scene = LinkScene()
    scene.welcome()
    _ = (scene.tells(), scene.sends())
    scene.receive(.order(LinkOrder(id: 7, order: .forget(["ada"]))))
    var orders: [(id: UInt64, users: [String], session: UInt64)] = []
    for case .forget(let id, let users, let session) in scene.tells() { orders.append((id, users, session)) }
    let order = try #require(orders.first)
    #expect(orders.count == 1 && order.id == 7 && order.users == ["ada"])
    #expect(!scene.sends().contains(.obeyed), "nothing is confirmed before it is done")
    scene.perform { scene.link.forgot(order.id, session: order.session + 1, at: scene.now, into: &$0) }
    #expect(!scene.sends().contains(.obeyed))
    scene.perform { scene.link.forgot(order.id, session: order.session, at: scene.now, into: &$0) }
    #expect(scene.sends().contains(.obeyed))
  }
}
