import TestSupport
import Testing
import Wire

@testable import Apps

/// Reports about people of conversations elsewhere: what home keeps with the evidence of another partition is what one
/// partition keeps that has all of it.
@Suite("Clique: evidence for reports")
struct CliqueEvidenceTests {
  private static let picture = CliqueScene.picture

  /// The answer to a report, or the error, as a gateway asks for it.
  private func report(_ two: CliqueTwo, _ user: String, _ json: String) throws -> String {
    guard case .clique(.report(var report)) = try AppCommand("clique.report", Array(json.utf8), by: user) else {
      throw ClientError.methodNotFound
    }
    do {
      let id = Clique.conversation(of: report, by: user)
      if two.home.app.elsewhere(ofConversation: id) != nil {
        report.evidence = try two.chat.decide(user, .evidence(report), source: .gateway)
      }
      return String(decoding: try two.home.decide(user, .report(report), source: .client), as: UTF8.self)
    } catch let error as ClientError {
      return "\(error.code) \(error.description)"
    }
  }

  private func ask(_ two: CliqueTwo, _ request: ReportRequest) throws -> String {
    let decision = try two.home.app.moderate(request, two.home)
    try two.home.apply(decision.effects)
    guard case .reply(let bytes) = decision.answer else { return "no reply" }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What moderators, reporters and the disk see of all reports.
  private func kept(_ two: CliqueTwo) throws -> [String] {
    let count = (try two.home.record(Clique.Reports.self, Clique.Reports.key)?.next ?? 1) - 1
    var seen = [try ask(two, .list(.init(.all)))]
    for number in 0..<count { seen.append(try ask(two, .look(number + 1))) }
    for user in [two.ann, two.bob] {
      seen += try two.home.entries(user, "reports").sorted { $0.key < $1.key }
        .map { String(decoding: $0.value.data, as: UTF8.self) }
    }
    let records = two.home.records.filter { key, _ in ["report", "kept/"].contains { key.hasPrefix($0) } }
    seen += records.keys.sorted()
    for number in 0..<5 {
      let key = Clique.KeptPictures.key(CliqueScene.picture(number))
      seen.append("\(try two.home.record(Clique.KeptPictures.self, key).map { "\($0)" } ?? "-")")
    }
    return seen
  }

  /// Does the same in one partition and in two, and returns what was said and kept, which has to be the same.
  private func both(
    _ rules: CliqueRules = .init(), _ body: (CliqueTwo, (String, String) throws -> Void) throws -> Void
  ) throws -> [String] {
    var results: [[String]] = []
    for isShared in [false, true] {
      let two = try CliqueTwo(rules, isShared: isShared)
      var said: [String] = []
      try body(two) { user, json in
        said.append(try report(two, user, json))
        try two.deliver()
      }
      results.append(said + (try kept(two)))
    }
    #expect(results[0] == results[1])
    return results[1]
  }

  @Test("messages, their pictures and the profile are kept as in one partition, by person, conversation and message")
  func contents() throws {
    let said = try both { two, report in
      for text in ["one", "two", "three"] {
        try two.chat.call(two.bob, "send", #"{"conversation":"\#(two.id)","text":"\#(text)"}"#)
      }
      try two.chat.call(two.ann, "send", #"{"conversation":"\#(two.id)","text":"mine"}"#)
      for number in 0..<2 { try two.sendNew(two.bob, CliqueScene.picture(number)) }
      try two.deliver()
      try two.home.upload(two.bob, CliqueScene.picture(2))
      try two.home.call(
        two.bob, "profile.set", #"{"name":"Bob","picture":{"id":"\#(CliqueScene.picture(2))"}}"#)
      try report(two.ann, #"{"person":"\#(two.bob)","reason":"threat","text":"see there"}"#)
      try report(two.ann, #"{"person":"\#(two.bob)","reason":"threat"}"#)
      try report(two.ann, #"{"conversation":"\#(two.id)","offset":3,"reason":"spam"}"#)
      try report(two.ann, #"{"person":"\#(two.bob)","conversation":"\#(two.id)","offset":6,"reason":"nudity"}"#)
      try report(two.bob, #"{"person":"\#(two.ann)","reason":"other"}"#)
    }
    #expect(said[0] == said[1] && said.contains { $0.contains(#""text":"three""#) })
    #expect(said.contains { $0.contains(CliqueScene.picture(0)) && $0.contains(CliqueScene.picture(2)) })
    #expect(said.contains { $0.contains(#""report":4"#) } && !said.contains { $0.contains(#""report":5"#) })
  }

  @Test("as many messages and bytes are kept as in one partition")
  func sizes() throws {
    let said = try both { two, report in
      let text = String(repeating: "é", count: 3000)
      for number in 0..<15 {
        try two.chat.call(two.bob, "send", #"{"conversation":"\#(two.id)","text":"\#(number) \#(text)"}"#)
      }
      for number in 0..<12 {
        try two.chat.call(two.cy, "send", #"{"conversation":"\#(two.other)","text":"short \#(number)"}"#)
      }
      for user in [two.bob, two.cy] { try report(two.ann, #"{"person":"\#(user)","reason":"spam"}"#) }
    }
    #expect(said.contains { $0.contains("short 11") && $0.contains("short 2") && !$0.contains("short 1\"") })
    #expect(said.contains { $0.contains("14 é") && $0.contains("12 é") && !$0.contains("11 é") })
  }

  @Test("what is refused is refused as in one partition, and nothing is kept of it")
  func refused() throws {
    var rules = CliqueRules()
    (rules.reportsPerDay, rules.reportCharacters) = (8, 5)
    let said = try both(rules) { two, report in
      let (person, chat) = (#""person":"\#(two.bob)""#, #""conversation":"\#(two.id)""#)
      for about in [
        "\(person),\"text\":\"longer\"", "\(person),\"offset\":9", "\(person),\"offset\":1", "\(chat),\"offset\":1",
        "\(person),\"conversation\":\"\(two.other)\"",
      ] { try report(two.ann, "{\(about),\"reason\":\"spam\"}") }
      try report("eve", "{\(chat),\"reason\":\"spam\"}")
      try two.chat.call(two.bob, "block", #"{"person":"\#(two.ann)"}"#)
      try two.deliver()
      // Who is blocked reports as before; who blocks has left what was said.
      try report(two.ann, "{\(person),\"reason\":\"spam\"}")
      try report(two.bob, #"{"person":"\#(two.ann)","offset":1,"reason":"spam"}"#)
      try report(two.bob, #"{"person":"\#(two.ann)","reason":"spam"}"#)
      for offset in [1, 2] { try report(two.bob, "{\(chat),\"offset\":\(offset),\"reason\":\"spam\"}") }
      try report(two.ann, #"{"person":"\#(two.cy)","reason":"spam"}"#)
      try report(two.ann, #"{"person":"\#(two.cy)","offset":1,"reason":"spam"}"#)
    }
    #expect(said[0].hasPrefix("106 ") && said[1].hasPrefix("107 ") && said[5].hasPrefix("103 "))
    #expect(said.count { $0.hasPrefix("{\"report\":\"") } >= 3)
  }

  @Test("messages that wait in a request are evidence, and of a stranger there is none")
  func requests() throws {
    let said = try both { two, report in
      try two.chat.call(two.ann, "disconnect", #"{"person":"\#(two.bob)"}"#)
      try two.chat.call(two.bob, "send", #"{"to":"\#(two.ann)","text":"let me in"}"#)
      try two.deliver()
      try report(two.ann, #"{"person":"\#(two.bob)","reason":"spam"}"#)
      try report(two.bob, #"{"person":"\#(two.ann)","reason":"spam"}"#)
      let dan = Partitioning.user("dan") { Partitioning.four.place(ofConversation: two.home.pair("eve", $0)) == 2 }
      try report("eve", #"{"person":"\#(dan)","reason":"other"}"#)
      try report("eve", #"{"person":"\#(dan)","offset":1,"reason":"other"}"#)
    }
    #expect(said.contains { $0.contains("let me in") } && said[3].hasPrefix("107 "))
    #expect(said.contains { $0.contains(#""messages":[]"#) })
  }

  @Test("the same report again is the same one, also when the message was removed meanwhile")
  func again() throws {
    let said = try both { two, report in
      try two.sendNew(two.bob, Self.picture)
      try two.deliver()
      let json = #"{"conversation":"\#(two.id)","offset":2,"reason":"nudity"}"#
      try report(two.ann, json)
      try two.chat.change(two.bob, two.id, 2, nil)
      try two.deliver()
      try report(two.ann, json)
      _ = try ask(two, .settle(.init(number: 1, outcome: .warned)))
      try report(two.ann, json)
    }
    #expect(said[0] == said[1] && said[2].hasPrefix("107 "), "settled, it would be another one")
  }

  @Test("a picture of which home has not heard yet that it was sent is kept with the report")
  func unheard() throws {
    let two = try CliqueTwo()
    try two.sendNew(two.bob, Self.picture)
    #expect(try report(two, two.ann, #"{"person":"\#(two.bob)","offset":2,"reason":"nudity"}"#).contains("report"))
    try two.deliver()
    try two.chat.change(two.bob, two.id, 2, nil)
    try two.deliver()
    #expect(two.home.keptAlone == [Self.picture])
    let shown = try two.home.app.reportedPicture(.init(number: 1, id: Self.picture), two.home)
    #expect(shown.key == CliqueScene.key && shown.owner == two.bob)
  }

  @Test("evidence is gathered by gateways alone, in the right partition, and no report is taken in without it")
  func misplaced() throws {
    let two = try CliqueTwo()
    let json = Array(#"{"person":"\#(two.bob)","reason":"spam"}"#.utf8)
    guard case .clique(.report(var report)) = try AppCommand("clique.report", json, by: two.ann) else {
      throw ClientError.methodNotFound
    }
    for source in [AppCall.Source.client, .service] {
      #expect(throws: ClientError.methodNotFound) { try two.chat.decide(two.ann, .evidence(report), source: source) }
    }
    #expect(throws: Clique.misplaced) { try two.home.decide(two.ann, .evidence(report), source: .gateway) }
    #expect(throws: Clique.misplaced) { try two.chat.decide(two.ann, .report(report), source: .client) }
    #expect(throws: Clique.misplaced) { try two.home.decide(two.ann, .report(report), source: .client) }
    let evidence = try two.chat.decide(two.ann, .evidence(report), source: .gateway)
    report.person = two.cy
    for wrong in [Array("{}".utf8), evidence] {
      report.evidence = wrong
      let error = #expect(throws: ClientError.self) { try two.home.decide(two.ann, .report(report), source: .client) }
      #expect(error?.code == 107)
    }
    #expect(!two.home.records.keys.contains { $0.hasPrefix("report") })
    // Another conversation that is named besides is refused where the person is met, as the plan asks.
    (report.evidence, report.conversation) = ([], two.id)
    #expect(throws: Clique.noConversation) { try two.chat.decide(two.ann, .evidence(report), source: .gateway) }
    let far = Partitioning.user("far") { Partitioning.four.place(ofConversation: two.home.pair(two.ann, $0)) == 0 }
    report.person = far
    #expect(throws: Clique.noConversation) { try two.home.decide(two.ann, .report(report), source: .client) }
  }
}
