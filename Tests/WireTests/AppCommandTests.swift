import TestSupport
import Testing
import Wire

@Suite("Commands of apps, read where they come in")
struct AppCommandTests {
  private func refusal(_ method: String, _ data: String, by user: String = "ann") -> ClientError? {
    do {
      _ = try AppCommand(method, Array(data.utf8), by: user)
      return nil
    } catch {
      return error
    }
  }

  private func message(_ data: String) throws -> CliqueMessage {
    guard case .clique(.send(let send)) = try AppCommand("clique.send", Array(data.utf8), by: "ann") else {
      throw ClientError.internalError
    }
    return send.message
  }

  @Test("every method has a command, an example that names it, and a way through the link")
  func methods() throws {
    let clique = Set(AppCommandExample.all.map(\.method))
    for method in CliqueCommand.Method.allCases { #expect(clique.contains(method.name)) }
    for method in StateCommand.Method.allCases { #expect(clique.contains(method.name)) }
    for method in PushCommand.Method.allCases { #expect(clique.contains(method.name)) }
    for (method, data) in AppCommandExample.json {
      #expect(try AppCommand(method, Array(data.utf8), by: "ann").method == method)
    }
    for command in AppCommandExample.all {
      let request = LinkRequest(
        id: 1, oldestPending: 1, request: .call(.init(command, caller: ClientInfo(user: "ann", client: "c"))))
      #expect(try LinkRequest(bytes: request.bytes) == request)
    }
  }

  @Test("a message is put together when it is read: as it came where nothing is escaped, else escaped as we do")
  func messages() throws {
    let plain = try message(#"{"to":"bob","text":"caf\#u{E9} \#u{1F600}","key":"k"}"#)
    #expect(String(decoding: plain.payload, as: UTF8.self) == "{\"text\":\"caf\u{E9} \u{1F600}\",\"key\":\"k\"}")
    #expect(plain.text == "caf\u{E9} \u{1F600}" && plain.characters == 6)
    #expect(plain.key.own == "k" && plain.key.published == "3:ann:k")
    let escaped = try message(#"{"to":"bob","text":"\u0061\"\\\n\u00e9\ud83d\ude00"}"#)
    #expect(String(decoding: escaped.payload, as: UTF8.self) == "{\"text\":\"a\\\"\\\\\\n\u{E9}\u{1F600}\"}")
    #expect(escaped.text == "a\"\\\n\u{E9}\u{1F600}" && escaped.characters == 6)
    #expect(escaped.key.own.isEmpty && escaped.key.published == nil)
    #expect(try message(#"{"to":"bob","text":"x\\"}"#).text == "x\\")
  }

  @Test("the key by which a channel knows a message is never longer than a channel keeps")
  func longestKey() throws {
    let data = #"{"to":"bob","text":"x","key":"\#(String(repeating: "k", count: 64))"}"#
    let user = String(repeating: "u", count: 180)
    guard case .clique(.send(let send)) = try AppCommand("clique.send", Array(data.utf8), by: user) else { return }
    #expect(send.message.key.published?.utf8.count ?? 0 <= 255)
  }

  @Test("whole numbers are whole however they are written, and nothing else is")
  func numbers() {
    for limit in ["5000", "5e3", "5000.0", "-1", "0"] {
      #expect(refusal("state.settings", #"{"limit":\#(limit)}"#) == nil)
    }
    for limit in ["5000.5", "1e30", "\"5000\"", "true", "1.2.3", "9223372036854775808"] {
      #expect(refusal("state.settings", #"{"limit":\#(limit)}"#)?.code == 107, "\(limit)")
    }
  }

  @Test("nobody is refused first; then the form of the caller, the data, and the method")
  func order() {
    #expect(refusal("clique.send", "nul", by: "")?.code == 103)
    #expect(refusal("clique.nothing", "nul", by: "a\n")?.code == 107)
    #expect(refusal("clique.nothing", "nul")?.code == 107)
    #expect(refusal("clique.nothing", "{}")?.code == 104)
    #expect(refusal("state.nothing", "{}")?.code == 104)
    for method in StateCommand.Method.allCases.map(\.name).filter({ $0.contains("picture") }) {
      #expect(refusal(method, #"{"id":"\#(AppCommandExample.front)"}"#) == .methodNotFound)
    }
    for method in CliqueCommand.Method.allCases.map(\.name).filter({ $0.contains("picture") }) {
      #expect(refusal(method, #"{"id":"\#(AppCommandExample.front)"}"#) == .methodNotFound)
    }
    #expect(refusal("state.send", #"{"to":"bob","front":"x","rear":"y"}"#)?.code == 435)
    #expect(refusal("state.discard", "{}")?.message.contains("\"pictures\" is missing") == true)
    #expect(refusal("state.discard", #"{"pictures":["x"]}"#)?.code == 435)
    let many = (0..<17).map { "\"\(String(repeating: "p", count: 22))\($0)\"" }.joined(separator: ",")
    #expect(refusal("state.cancel", "{\"to\":\"bob\",\"pictures\":[\(many)]}")?.message.contains("at most 16") == true)
    #expect(refusal("state.begin", "{}")?.message.contains("\"to\" is missing") == true)
  }

  @Test("a picture is named by an id of its form, with a hash of few printable characters, and stands for a text")
  func pictures() {
    let id = AppCommandExample.front
    #expect(refusal("clique.send", #"{"to":"bob","picture":{"id":"\#(id)"}}"#) == nil)
    #expect(refusal("clique.send", #"{"to":"bob","text":null,"picture":{"id":"\#(id)","hash":"a/+=~"}}"#) == nil)
    #expect(refusal("clique.send", #"{"to":"bob","picture":null}"#)?.message.contains("`text` is missing") == true)
    #expect(refusal("clique.send", #"{"to":"bob","picture":{}}"#)?.message.contains("has no `id`") == true)
    #expect(refusal("clique.send", #"{"to":"bob","picture":"\#(id)"}"#)?.message.contains("an object") == true)
    #expect(refusal("clique.send", #"{"to":"bob","picture":{"id":"../../etc"}}"#)?.code == 435)
    #expect(refusal("clique.send", #"{"to":"bob","picture":{"id":7}}"#)?.code == 107)
    for hash in ["a b", "\\n", "é", String(repeating: "x", count: 101)] {
      let command = "{\"to\":\"bob\",\"picture\":{\"id\":\"\(id)\",\"hash\":\"\(hash)\"}}"
      #expect(refusal("clique.send", command)?.message.contains("`hash` of a picture") == true, "\(hash)")
    }
  }

  @Test("a reaction is one character that can be seen, in whatever bytes; everything else is refused with a sentence")
  func reactions() {
    let england = "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"
    for text in ["👍", "❤️", "👩‍👩‍👧‍👦", england, "🇩🇪", "é", "e\u{301}", "字", "!", "5"] {
      #expect(StateReaction.isValid(text), "\(text)")
      #expect(refusal("state.react", "{\"with\":\"bob\",\"reaction\":\"\(text)\"}") == nil)
    }
    let stacked = "a" + String(repeating: "\u{301}", count: 32)
    for text in [
      "", " ", "👍👍", "ok", "\n", "\r\n", "\u{0}", "\u{7F}", "\u{A0}", "\u{200D}", "\u{202E}", "\u{2066}", "\u{FEFF}",
      "\u{301}", "\u{FE0F}", "\u{E000}", "\u{2028}", "a ", " a", stacked,
    ] {
      #expect(!StateReaction.isValid(text), "\(text.debugDescription)")
    }
    #expect(refusal("state.react", #"{"with":"bob","reaction":"no"}"#)?.message.contains("one character") == true)
    #expect(refusal("state.react", #"{"with":"bob","reaction":7}"#)?.code == 107)
    #expect(refusal("state.react", #"{"reaction":"!"}"#)?.code == 107)
    #expect(refusal("state.react", #"{"with":"ann","reaction":"!"}"#)?.code == 107)
  }

  @Test("whatever is changed in a command, it is read or refused, and what is read goes through the link as it is")
  func damage() throws {
    var random = LinkDamage(seed: 11)
    var accepted = 0
    for round in 0..<20_000 {
      let (method, data) = AppCommandExample.json[round % AppCommandExample.json.count]
      let bytes = random.damaged(Array(data.utf8))
      guard let command = try? AppCommand(method, bytes, by: "ann") else { continue }
      accepted += 1
      if case .clique(.send(let send)) = command { _ = send.message.text }
      let request = LinkRequest(
        id: 1, oldestPending: 1, request: .call(.init(command, caller: ClientInfo(user: "ann", client: "c"))))
      // A command whose bytes are no UTF-8 is refused by the link, or read as the same command.
      if let read = try? LinkRequest(bytes: request.bytes) { #expect(read == request) }
    }
    #expect(accepted > 200, "hardly a change is accepted, so this shows little")
  }
}
