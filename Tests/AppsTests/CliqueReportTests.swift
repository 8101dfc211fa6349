import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: reports of people and messages")
struct CliqueReportTests {
  private func ask(_ scene: CliqueScene, _ request: ReportRequest) throws -> String {
    let decision = try scene.app.moderate(request, scene)
    try scene.apply(decision.effects)
    guard case .reply(let bytes) = decision.answer else { return "no reply" }
    try #require(JSONSyntax.isValid(bytes))
    return String(decoding: bytes, as: UTF8.self)
  }

  private func refusal(_ scene: CliqueScene, _ user: String, _ json: String) -> ClientError? {
    do {
      try scene.call(user, "report", json)
      return nil
    } catch { return error as? ClientError }
  }

  private func isForgotten(_ scene: CliqueScene) -> Bool {
    !scene.records.keys.contains { $0.hasPrefix("report/") || $0.hasPrefix("reported/") }
  }

  @Test("a report keeps the messages as they were, and is settled, listed and forgotten in its time")
  func life() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for text in ["one", "two", "three"] { try scene.call("bob", "send", #"{"to":"ann","text":"\#(text)"}"#) }
    try scene.call("ann", "send", #"{"to":"bob","text":"mine"}"#)
    let json = #"{"person":"bob","offset":3,"reason":"threat","text":"see there"}"#
    let answer = try scene.call("ann", "report", json)
    #expect(try scene.call("ann", "report", json) == answer, "the same report again is the same one")
    try scene.change("bob", id, 3, #"{"text":"nothing"}"#)
    let shown = try ask(scene, .look(1))
    let head = #"{"report":1,"user":"bob","by":"ann","conversation":"\#(id)","offset":3,"reason":"threat""#
    #expect(shown.hasPrefix(head))
    #expect(shown.contains(#""state":"open","text":"see there","messages":[{"offset":2"#))
    #expect(shown.contains(#""text":"two""#) && !shown.contains("three") && !shown.contains("nothing"))
    #expect(try scene.entries("ann", "reports").count == 1)
    #expect(try scene.entries("bob", "reports").isEmpty)
    #expect(try ask(scene, .list(.init())).contains(#""open":1"#))
    #expect(try ask(scene, .settle(.init(number: 1, outcome: .warned, note: "twice"))) == "{}")
    #expect(try ask(scene, .list(.init())) == #"{"reports":[],"open":0}"#)
    #expect(try ask(scene, .list(.init(.settled))).contains(#""outcome":"warned""#))
    let told = try #require(try scene.entries("ann", "reports").values.first)
    let entry = String(decoding: told.data, as: UTF8.self)
    #expect(entry.contains(#""state":"settled""#) && !entry.contains("warned") && !entry.contains("twice"))
    #expect(try scene.call("ann", "report", json) == answer)
    #expect(try ask(scene, .list(.init())).contains(#""report":2"#), "after it was settled, another one")
    try scene.pass(31 * 24 * 3_600_000)
    #expect(throws: ClientError.self) { try ask(scene, .look(1)) }
    #expect(try ask(scene, .list(.init(.all, user: "bob"))).contains(#""report":2"#))
    try scene.pass(60 * 24 * 3_600_000)
    #expect(isForgotten(scene))
    #expect(try scene.entries("ann", "reports").isEmpty)
  }

  @Test("what a report keeps is what the one who reports could read, and of nobody else")
  func contents() throws {
    let scene = CliqueScene()
    try scene.call("bob", "send", #"{"to":"ann","text":"let me in"}"#)
    try scene.call("ann", "report", #"{"person":"bob","reason":"spam"}"#)
    #expect(try ask(scene, .look(1)).contains(#""text":"let me in""#))
    #expect(refusal(scene, "ann", #"{"person":"bob","offset":1,"reason":"spam"}"#)?.code == 107)
    try scene.call("ann", "report", #"{"person":"stranger","reason":"other"}"#)
    #expect(try ask(scene, .look(2)).contains(#""messages":[]"#))
    for (a, b) in [("ann", "eve"), ("ann", "joe"), ("eve", "joe")] { _ = try scene.befriend(a, b) }
    let reply = try scene.call("ann", "group.create", #"{"members":["eve","joe"]}"#)
    let id = String(reply.split(separator: "\"")[3])
    for user in ["joe", "eve"] {
      try scene.call(user, "send", #"{"conversation":"\#(id)","text":"by \#(user)"}"#)
    }
    try scene.call("ann", "block", #"{"person":"eve"}"#)
    try scene.call("eve", "send", #"{"conversation":"\#(id)","text":"unseen"}"#)
    try scene.call("ann", "report", #"{"conversation":"\#(id)","offset":2,"reason":"nudity"}"#)
    let shown = try ask(scene, .look(3))
    #expect(shown.contains(#""user":"eve""#) && shown.contains("by eve"))
    #expect(!shown.contains("by joe") && !shown.contains("unseen"))
    for offset in [3, 9] {
      let json = #"{"conversation":"\#(id)","offset":\#(offset),"reason":"spam"}"#
      #expect(refusal(scene, "ann", json)?.code == 107, "what one cannot read, like what there is not")
    }
    #expect(refusal(scene, "eve", #"{"conversation":"\#(id)","offset":2,"reason":"spam"}"#)?.code == 107, "one's own")
    #expect(refusal(scene, "bob", #"{"conversation":"\#(id)","offset":2,"reason":"spam"}"#)?.code == 103)
    try scene.call("ann", "report", #"{"person":"eve","reason":"spam"}"#)
    #expect(try ask(scene, .look(4)).contains(#""text":"hello""#) == false, "what ann wrote is not eve's")
  }

  @Test("reports are limited in number, size and by the day")
  func limits() throws {
    var rules = CliqueRules()
    (rules.reportsPerDay, rules.maximumReports, rules.reportCharacters) = (8, 3, 5)
    let scene = CliqueScene(rules)
    let about = { (user: String) in #"{"person":"\#(user)","reason":"spam"}"# }
    #expect(refusal(scene, "ann", #"{"person":"bob","reason":"spam","text":"longer"}"#)?.limit == .cliqueReportText)
    for user in ["a", "b"] { try scene.call("ann", "report", about(user)) }
    #expect(refusal(scene, "ann", about("c"))?.limit == .cliqueReportsPerDay)
    try scene.call("eve", "report", about("c"))
    #expect(refusal(scene, "joe", about("c"))?.limit == .cliqueReports)
    let texts = (0..<30).map { Clique.Report.Message(offset: $0, time: 0, text: String(repeating: "é", count: 5000)) }
    let kept = Clique.Report.kept(texts)
    #expect(kept.map(\.offset) == [2, 1, 0])
    #expect(kept.allSatisfy { $0.text.unicodeScalars.count == Clique.Report.mostCharacters })
    #expect(Clique.Report.kept(texts.map { .init(offset: $0.offset, time: 0, text: "x") }).count == 10)
  }

  @Test("a deletion takes a report about somebody away, and of one by them the name and the words")
  func deletion() throws {
    let scene = CliqueScene()
    try scene.call("bob", "send", #"{"to":"ann","text":"let me in"}"#)
    try scene.call("ann", "report", #"{"person":"bob","reason":"spam","text":"words of ann"}"#)
    try scene.call("eve", "report", #"{"person":"bob","reason":"other"}"#)
    func forget(_ user: String) throws {
      let users = SoughtUsers([user])
      for key in scene.records.keys.sorted() {
        if let decision = try scene.app.forget(users, in: key, scene) { try scene.apply(decision.effects) }
      }
      for key in scene.records.keys.sorted() { #expect(try scene.app.forget(users, in: key, scene) == nil) }
    }
    try forget("ann")
    let shown = try ask(scene, .look(1))
    #expect(shown.contains("let me in") && !shown.contains("ann") && !shown.contains("conversation"))
    #expect(try ask(scene, .settle(.init(number: 1, outcome: .dismissed))) == "{}")
    #expect(scene.app.channels(of: "ann").map(\.string).contains("clique.reports:ann"))
    try forget("bob")
    #expect(isForgotten(scene))
    #expect(try scene.entries("eve", "reports").isEmpty)
    #expect(try ask(scene, .list(.init(.all))) == #"{"reports":[],"open":0}"#)
  }

  @Test("pages of reports hold each report once, in their order, whatever was forgotten between", arguments: 0..<20)
  func pages(seed: Int) throws {
    var random = CliqueRandom(seed: UInt64(seed) + 9000)
    var rules = CliqueRules()
    (rules.reportsPerDay, rules.maximumReports) = (4000, 500)
    let scene = CliqueScene(rules)
    var states: [UInt64: Bool] = [:]
    for number in 1...UInt64(Int.random(in: 1...150, using: &random)) {
      try scene.call("u\(number % 7)", "report", #"{"person":"p\#(number)","reason":"spam"}"#)
      states[number] = true
      if Int.random(in: 0..<3, using: &random) == 0 { try scene.pass(24 * 3_600_000) }
      let settled = UInt64.random(in: 1...number, using: &random)
      if Bool.random(using: &random), scene.records["report/\(settled)"] != nil {
        _ = try ask(scene, .settle(.init(number: settled, outcome: .other)))
        states[settled] = false
      }
    }
    states = states.filter { scene.records["report/\($0.key)"] != nil }
    for (filter, wanted) in [(ReportRequest.Query.Filter.all, states), (.open, states.filter(\.value))] {
      var (found, cursor): ([UInt64], UInt64?) = ([], 0)
      while let from = cursor {
        let limit = Int.random(in: 1...60, using: &random)
        let page = try JSONValue(parsing: Array(try ask(scene, .list(.init(filter, from: from, limit: limit))).utf8))
        let numbers = page.object?["reports"]?.array?.compactMap { $0.object?["report"].flatMap { UInt64($0.text) } }
        #expect(numbers?.count ?? 0 <= min(limit, ReportRequest.Query.most))
        #expect(page.object?["open"]?.text == "\(states.filter(\.value).count)")
        found += numbers ?? []
        cursor = page.object?["cursor"]?.string.flatMap { UInt64($0) }
      }
      #expect(found == wanted.keys.sorted())
    }
  }
}
