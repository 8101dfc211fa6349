import Apps
import Log
import Testing
import Wire

@testable import Broker

/// One call of the store goes wrong, each in its turn: a question, a batch or a completion.
@Suite("A store that fails at each of its calls")
struct StoreTroubleTests {
  /// What happened in one run.
  private struct Outcome {
    var calls = 0
    var complaints: [String] = []
  }

  private static let errors: [LogError] = [.failed("x"), .fenced, .full("x"), .readOnly("x")]

  @Test(
    "everybody is answered once, what was acknowledged is there, and all works afterwards", arguments: [false, true])
  func everyCall(delays: Bool) {
    let whole = Self.run(failing: nil, delays: delays)
    #expect(whole.complaints == [] && whole.calls > 40)
    for error in Self.errors {
      for call in 1...whole.calls {
        let complaints = Self.run(failing: (call, error), delays: delays).complaints
        #expect(complaints == [], "call \(call), \(error)")
      }
    }
  }

  private static func run(failing: (call: Int, error: LogError)?, delays: Bool) -> Outcome {
    let app = TinyApp()
    let disk = ScriptedStore()
    disk.failing = failing
    let scene = BrokerScene(app, disk: disk)
    disk.delays = delays
    scene.hello(1)
    var replies: [UInt64: [BrokerResponse]] = [:]
    func runUntilQuiet() {
      for _ in 0..<6 {
        scene.answer()
        scene.finish(.max)
        for case .reply(let id, let response) in scene.hears() { replies[id, default: []].append(response) }
      }
    }
    let requests = Self.requests
    for (index, request) in requests.enumerated() {
      scene.request(UInt64(index + 1), request)
      // Some requests wait beside one another, others find what those before them left.
      if index % 3 == 2 { runUntilQuiet() }
      if index % 5 == 4 { scene.pass(300) }
    }
    runUntilQuiet()
    // The disk is well again.
    disk.failing = nil
    for _ in 0..<4 {
      scene.pass(1500)
      runUntilQuiet()
    }
    scene.request(1001, .publish(.init(channel: "d:1", data: Array("last".utf8))))
    scene.call(1002, "set z last")
    runUntilQuiet()
    var outcome = Outcome(calls: disk.calls)
    for id in Array(1...UInt64(requests.count)) + [1001, 1002] where replies[id]?.count != 1 {
      outcome.complaints.append("\(id) was answered \(replies[id]?.count ?? 0) times")
    }
    for id in [1001, 1002] as [UInt64] where replies[id]?.first?.errorCode != nil {
      outcome.complaints.append("\(id) does not work afterwards: \(String(describing: replies[id]))")
    }
    for (id, request) in zip(UInt64(1)..., requests) {
      guard case .publish(let publish) = request, case .published(let at)? = replies[id]?.first else { continue }
      if !disk.written(publish.channel).contains(where: { $0.offset == at.offset }) {
        outcome.complaints.append("\(id) was acknowledged at \(at.offset), and is not there")
      }
    }
    if !scene.core.stores.room.isEmpty || scene.core.stores.room.count > 0 || scene.core.stores.room.bytes > 0 {
      outcome.complaints.append("\(scene.core.stores.room.count) inputs wait for ever")
    }
    if !scene.core.appends.isEmpty {
      outcome.complaints.append("an entry is forgotten")
    }
    disk.delays = false
    if scene.shown()["z"] != "\"last\"" { outcome.complaints.append("the list does not show what was written last") }
    return outcome
  }

  private static var requests: [BrokerRequest] {
    let ann = ClientInfo(user: "ann", client: "c-ann")
    func call(_ method: String, _ data: String) -> BrokerRequest {
      .call(.init(.other(.init(method: "tiny." + method, data: Array(data.utf8))), caller: ann))
    }
    func publish(_ channel: ChannelName, _ text: String, key: String? = nil) -> BrokerRequest {
      .publish(.init(channel: channel, data: Array(text.utf8), idempotencyKey: key))
    }
    return [
      publish("d:1", "a"), .subscribe(.init(channel: "d:1", member: ann)), publish("d:1", "b", key: "k"),
      call("set", "a 1"), call("say", "1 x"), publish("d:1", "b", key: "k"),
      .history(.init(channel: "d:1", limit: 9)), call("soon", "a 2"), call("get", "b"),
      .edit(.init(channel: "d:1", offset: 1, data: Array("A".utf8), editor: nil)), publish("d:2", "c"),
      .readMap(.init(channel: TinyApp.list, key: "a", read: .init(phase: .state), viewer: "ann")),
      call("touch", "b 3"), .subscribe(.init(channel: TinyApp.chat, recoveryLimit: 9, member: ann)), call("erase", "a"),
      .historyRemove("d:3"), publish("d:1", "d"),
      .unsubscribe(.init(channel: "d:1", member: ann, keepsInterest: false)),
      call("set", "c 1 5"), call("bar", "bob"), publish("d:3", "e"), publish("d:2", "f"),
    ]
  }
}
