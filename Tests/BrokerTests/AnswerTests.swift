import Apps
import Log
import Testing
import Wire

@testable import Broker

/// In each of these somebody asks for what is done already, by something that is still on its way to the disk. A power
/// cut, or a disk that is full, would undo it: so whoever was answered before would have been told a lie.
@Suite("An answer that rests on something under way waits for it, and fails with it")
struct AnswerTests {
  // MARK: Map channels

  @Test("a key that is removed twice is acknowledged when its removal is on disk, and not before")
  func removedTwice() {
    let scene = removing()
    #expect(scene.answers[2] == nil && scene.answers[3] == nil)
    scene.finish()
    #expect(scene.answers[2] == .published(2) && scene.answers[3] == .published(2))
    #expect(scene.serve(4, removal) == .published(2), "the removal is on disk")
    #expect(scene.keys("p:1") == [])
  }

  @Test("a removal that the disk does not take is acknowledged to nobody, and the key stays")
  func removalFailed() {
    let scene = removing()
    scene.finish(error: .full("x"))
    #expect(scene.answers[2]?.errorCode == 100 && scene.answers[3]?.errorCode == 100)
    #expect(scene.keys("p:1") == ["a"])
    #expect(scene.serve(4, removal) == nil, "a new removal, which has its own way to the disk")
    scene.finish()
    #expect(scene.answers[4] == .published(2))
  }

  private var removal: BrokerRequest {
    .publish(.init(channel: "p:1", data: BrokerCore.noData, write: MapWrite(key: "a", removed: true)))
  }

  /// Requests 2 and 3 remove a key, and the disk has not answered.
  private func removing() -> BrokerScene {
    let scene = BrokerScene.maps()
    scene.write("p:1", "a", "1")
    scene.finish()
    for number in 2...3 as ClosedRange<UInt64> { _ = scene.serve(number, removal) }
    #expect(scene.disk.waiting.count == 1)
    return scene
  }

  @Test("a removal waits for the last change of its key, and for no other key's")
  func otherKeys() {
    let scene = BrokerScene.maps()
    scene.write("p:1", "b", "1")
    #expect(scene.serve(1, removal) == .published(0))
  }

  @Test(
    "a receipt that is said twice is acknowledged when it is on disk, or fails like the first",
    arguments: [true, false])
  func receiptTwice(isWritten: Bool) {
    let scene = BrokerScene.maps()
    _ = scene.ask(.publish(.init(channel: "talk", data: [0x31])))
    let reader = ClientInfo(user: "ann", client: "c")
    let receipt = BrokerRequest.receipt(.init(channel: "kept:talk", read: 1, reader: reader))
    for number in 1...2 as ClosedRange<UInt64> { #expect(scene.serve(number, receipt) == nil) }
    scene.finish(error: isWritten ? nil : .full("x"))
    #expect(scene.answers[1]?.errorCode == (isWritten ? nil : 100))
    #expect(scene.answers[2] == .done || !isWritten && scene.answers[2]?.errorCode == 100)
    if isWritten { #expect(scene.serve(3, receipt) == .done) }
  }

  // MARK: Publications

  @Test("a key that stands for other data is in conflict when those are on disk, and free where they failed")
  func conflict() {
    for error in [nil, LogError.full("x")] {
      let scene = BrokerScene()
      let publish = { (text: String) in
        BrokerRequest.publish(.init(channel: "d:1", data: Array(text.utf8), idempotencyKey: "k"))
      }
      _ = scene.serve(1, publish("1"))
      #expect(scene.serve(2, publish("2")) == nil)
      scene.finish(error: error)
      #expect(scene.answers[2]?.errorCode == (error == nil ? ClientError.idempotencyConflict.code : 100))
    }
  }

  @Test("what is removed and then changed before the disk has either stays removed", arguments: [true, false])
  func removedThenChanged(isWritten: Bool) {
    let scene = BrokerScene()
    _ = scene.ask(.publish(.init(channel: "d:1", data: Array("1".utf8))))
    scene.finish()
    _ = scene.serve(1, .edit(.init(channel: "d:1", offset: 1, data: nil, editor: nil)))
    _ = scene.serve(2, .edit(.init(channel: "d:1", offset: 1, data: Array("2".utf8), editor: nil)))
    #expect(scene.answers[1] == nil && scene.answers[2] == nil)
    scene.finish(.max, error: isWritten ? nil : .full("x"))
    #expect(scene.answers[2]?.errorCode == (isWritten ? 107 : 100))
    let kept = scene.disk.written("d:1").first
    #expect(kept?.data == Array((isWritten ? "null" : "1").utf8))
    #expect((kept?.tags["deleted"] != nil) == isWritten)
  }

  @Test("a change is made upon the change before it that is under way, and fails with it")
  func changedTwice() {
    let scene = BrokerScene()
    _ = scene.ask(.publish(.init(channel: "d:1", data: Array("1".utf8))))
    scene.finish()
    for (number, text) in [(1, "2"), (2, "3")] as [(UInt64, String)] {
      _ = scene.serve(number, .edit(.init(channel: "d:1", offset: 1, data: Array(text.utf8), editor: nil)))
    }
    scene.finish(error: .full("x"))
    scene.finish()
    #expect(scene.answers[1]?.errorCode == 100 && scene.answers[2]?.errorCode == 100)
    _ = scene.serve(3, .edit(.init(channel: "d:1", offset: 1, data: Array("4".utf8), editor: nil)))
    scene.finish()
    #expect(scene.answers[3] == .published(2))
    #expect(scene.disk.written("d:1").first?.data == Array("4".utf8))
  }

  // MARK: Apps

  private func app() -> BrokerScene {
    let scene = BrokerScene(TinyApp())
    scene.hello(1)
    _ = scene.hears()
    return scene
  }

  @Test(
    "a refusal that rests on a record under way comes with it, or is that record's error", arguments: [true, false])
  func refusal(isWritten: Bool) {
    let scene = app()
    scene.call(1, "bar bob")
    scene.request(2, .history(.init(channel: "tiny.chat:1", limit: 1, viewer: "bob")))
    scene.call(3, "nothing")
    #expect(scene.hears() == [])
    scene.finish(error: isWritten ? nil : .full("x"))
    let codes = scene.hears().compactMap { heard -> UInt32? in
      guard case .reply(let id, let response) = heard, id > 1 else { return nil }
      return response.errorCode
    }
    #expect(codes == (isWritten ? [103, 104] : [100, 100]))
  }

  @Test("a search begins when the records that it rests on are on disk", arguments: [true, false])
  func search(isWritten: Bool) {
    let scene = app()
    scene.call(1, "set a 1")
    scene.call(2, "search x")
    #expect(scene.searches.isEmpty)
    scene.finish(error: isWritten ? nil : .full("x"))
    #expect(scene.searches.count == (isWritten ? 1 : 0))
    scene.call(3, "search x")
    #expect(scene.searches.count == (isWritten ? 2 : 1))
  }

  @Test("an answer fails with whatever was under way when it was asked for, though the last of it got to the disk")
  func earlierFailure() {
    let scene = app()
    scene.call(1, "say 1 x")
    scene.call(2, "set a 1")
    scene.call(3, "get a")
    scene.finish(error: .full("x"))
    scene.finish()
    #expect(scene.hears().map(\.internalError) == [1, nil, 3])
    scene.call(4, "get a")
    #expect(scene.hears() == [.result(4, "\"1\"")])
  }

  @Test("a service's calls have keys that no other broker's calls have")
  func serviceKeys() {
    let service = Requester.service(ServiceTag(number: 0))
    #expect(service.key(of: 1) == service.key(of: 1))
    #expect(service.key(of: 1) != service.key(of: 2))
    #expect(service.key(of: 1) != Requester.service(ServiceTag(number: 1)).key(of: 1))
  }
}
