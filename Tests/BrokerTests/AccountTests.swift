import Foundation
import TestSupport
import Testing
import Wire

@testable import Broker

@Suite("People and their own data, in the broker")
struct AccountTests {
  private static let rules = AccountRules(allowsExport: true, allowsDelete: true, exportsPerDay: 10)

  private static func scene(_ rules: AccountRules = rules) throws -> DeletionScene {
    let scene = try DeletionScene(accounts: rules)
    scene.gatewayComes(1)
    return scene
  }

  @Test("an export over a gateway holds what a service's holds, and its cursors name nobody")
  func export() throws {
    let scene = try Self.scene()
    for number in 0..<300 {
      try scene.publish("by ada \(number)", by: "ada", in: "room:hall")
      try scene.publish("by eve \(number)", by: "eve", in: "room:of#eve")
      try scene.set("key-of-eve-\(number)", "v", by: "ada", in: "map:colours")
    }
    for _ in 0..<50 { scene.step() }
    func items(_ page: (String) -> String) throws -> (items: [String], cursors: [String]) {
      var (items, cursors): ([String], [String]) = ([], [])
      var cursor = ""
      repeat {
        let json = try #require(
          try JSONSerialization.jsonObject(with: Data(page(cursor).utf8)) as? [String: Any])
        for case let item as [String: Any] in json["items"] as? [Any] ?? [] {
          items.append("\(item["channel"] ?? "") \(item["offset"] ?? "")")
        }
        cursor = json["cursor"] as? String ?? ""
        cursors.append(cursor)
      } while !cursor.isEmpty
      return (items, cursors)
    }
    let service = try items { scene.answer(to: .user(.export(user: "ada", cursor: $0))) }
    let own = try items { scene.answer(toGateway: .user(.export(user: "ada", cursor: $0)), from: 1) }
    #expect(service.items == own.items && own.items.count >= 600)
    #expect(own.cursors.count > 2 && own.cursors.dropLast().allSatisfy { Int($0) != nil }, "\(own.cursors)")
    #expect(scene.answer(toGateway: .user(.data(user: "ada")), from: 1).contains("\"publications\""))
  }

  @Test("a deletion over a gateway deletes the one who asks, once a day, and is told to the audit")
  func delete() throws {
    let scene = try Self.scene()
    let user = DeletionScene.marker + "-own"
    try scene.publish("words of \(user)", by: user, in: "room:hall")
    try scene.publish("keep this", by: "bob", in: "room:hall")
    scene.step()
    // What only a service may ask for with it is not done.
    let asked = scene.answer(
      toGateway: .user(.delete(.init(user: user, channels: ["room:hall"], isBanned: true))), from: 1)
    #expect(asked.contains("\"waiting\""), "\(asked)")
    scene.goOn { _ in true }
    #expect(scene.status(of: user).contains("\"done\""), "it is at \(scene.phase)")
    #expect(try scene.files(holding: DeletionScene.marker) == [])
    #expect(try !scene.files(holding: "keep this").isEmpty)
    let again = scene.answer(toGateway: .user(.delete(.init(user: user))), from: 1)
    #expect(again.contains("tomorrow"), "\(again)")
    #expect(scene.accountNotes == [.init(user: user, failed: nil), .init(user: user, failed: 111)])
    #expect(scene.accountNotes.isEmpty)
  }

  @Test("what is not allowed is refused with the setting's name, and nobody asks about others' pairs")
  func refusals() throws {
    let scene = try Self.scene(AccountRules())
    let delete = scene.answer(toGateway: .user(.delete(.init(user: "ada"))), from: 1)
    #expect(delete.contains("account.allow_delete"), "\(delete)")
    let export = scene.answer(toGateway: .user(.export(user: "ada", cursor: "")), from: 1)
    #expect(export.contains("account.allow_export"), "\(export)")
    for request in [
      UserRequest.pair(app: "clique", user: "ada", other: "bob"), .unblock(user: "ada", other: "bob"),
      .deletionStatus(user: "ada"), .groups(.of(user: "ada")),
    ] {
      let answer = scene.answer(toGateway: .user(request), from: 1)
      #expect(answer.contains("\(ClientError.methodNotFound.code)"), "\(answer)")
    }
    #expect(scene.answer(to: .user(.data(user: "ada"))).contains("kept"), "a service may all the same")
  }
}
