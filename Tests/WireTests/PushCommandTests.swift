import Testing
import Wire

@Suite("Commands of people about notifications")
struct PushCommandTests {
  private func refusal(_ method: String, _ data: String) -> ClientError? {
    do {
      _ = try AppCommand(method, Array(data.utf8), by: "ann")
      return nil
    } catch { return error }
  }

  @Test("what is wrong is refused with a sentence that names the field")
  func refusals() {
    let quiet = { (from: String, to: String, zone: String) in
      #"{"quiet":{"from":"\#(from)","to":"\#(to)","zone":\#(zone)}}"#
    }
    let cases: [(String, String, String)] = [
      ("push.register", "{}", "`device`"), ("push.register", #"{"device":"x"}"#, "`device`"),
      ("push.register", #"{"device":{"a":"\#(String(repeating: "x", count: 4096))"}}"#, "4096"),
      ("push.register", #"{"device":{},"language":"de_AT"}"#, "`language`"),
      ("push.register", #"{"device":{},"preview":"all"}"#, "`preview`"),
      ("push.register", #"{"device":{},"topics":["a b"]}"#, "`topics`"),
      ("push.register", #"{"device":{},"topics":"a"}"#, "`topics`"),
      ("push.register", #"{"device":{},"device":{}}"#, "once"),
      ("push.unregister", "{}", "`device`"), ("push.delivered", "{}", "`subject`"),
      ("push.seen", #"{"subject":"x","offset":-1}"#, "`offset`"),
      ("push.delivered", #"{"subject":"\#(String(repeating: "s", count: 256))"}"#, "`subject`"),
      ("push.settings", quiet("22:00", "22:00", "0"), "quiet hours"),
      ("push.settings", quiet("24:00", "7:00", "0"), "`from`"),
      ("push.settings", quiet("22:00", "07:60", "0"), "`to`"),
      ("push.settings", quiet("22:00", "07:00", "1081"), "`zone`"),
      ("push.settings", quiet("22:00", "07:00", #""../x""#), "`zone`"),
      ("push.settings", #"{"quiet":{"from":"22:00","to":"07:00"}}"#, "`zone`"), ("push.settings", "[]", "object"),
    ]
    for (method, data, words) in cases {
      let error = refusal(method, data)
      #expect(error?.code == 107 && error?.message.contains(words) == true, "\(method) \(data): \(error as Any)")
    }
    #expect(refusal("push.send", "{}")?.code == 104)
  }

  @Test("a topic with a star stands for all that begin so")
  func topics() {
    #expect(PushTopics.areMet(["clique.*"], by: "clique.message") && PushTopics.areMet(["*"], by: "x"))
    #expect(!PushTopics.areMet(["clique.message"], by: "clique.messages") && !PushTopics.areMet([], by: "x"))
  }
}
