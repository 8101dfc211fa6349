import Testing
import Wire

@testable import Apps

/// A gateway asks again for what it got no answer to. Without a key of the phone's, the command itself is what tells.
@Suite("Clique: commands without a key that are asked again")
struct CliqueRepeatTests {
  private let hello = #"{"to":"bob","text":"hello"}"#

  @Test("a message whose request was accepted meanwhile is not sent a second time, and its offset is told")
  func accepted() throws {
    let scene = CliqueScene()
    for (text, key) in [("one", "g-1"), ("two", "g-2")] {
      try scene.call("ann", "send", #"{"to":"bob","text":"\#(text)"}"#, key: key)
    }
    try scene.call("bob", "accept", #"{"person":"ann"}"#, key: "h-1")
    let id = scene.pair("ann", "bob")
    for (text, key, offset) in [("one", "g-1", 1), ("two", "g-2", 2)] {
      for field in [#""to":"bob""#, #""conversation":"\#(id)""#] {
        let reply = try scene.call("ann", "send", #"{\#(field),"text":"\#(text)"}"#, key: key)
        #expect(reply == #"{"conversation":"\#(id)","offset":\#(offset)}"#)
      }
    }
    #expect(try scene.chat("bob", id) == ["one", "two"])
    // A new one is sent, and so is one of the other's under a command of the same name.
    try scene.call("ann", "send", #"{"to":"bob","text":"three"}"#, key: "g-3")
    #expect(try scene.chat("bob", id) == ["one", "two", "three"])
  }

  @Test("nor where it was answered by a message, ended or blocked since")
  func afterwards() throws {
    for after in ["", "disconnect", "block"] {
      let scene = CliqueScene()
      let id = scene.pair("ann", "bob")
      try scene.call("ann", "send", hello, key: "g-1")
      try scene.call("bob", "send", #"{"to":"ann","text":"hi"}"#, key: "h-1")
      if !after.isEmpty { try scene.call("bob", after, #"{"person":"ann"}"#) }
      let states = (try scene.state("ann", id), try scene.state("bob", id))
      let reply = try scene.call("ann", "send", hello, key: "g-1")
      #expect(reply == #"{"conversation":"\#(id)","offset":1}"#, "\(after)")
      #expect(try scene.chat("ann", id) == ["hello", "hi"], "\(after)")
      #expect((try scene.state("ann", id), try scene.state("bob", id)) == states, "\(after)")
    }
  }

  @Test("what is remembered of it ends: after ten minutes, and with the next request")
  func ends() throws {
    let scene = CliqueScene()
    let id = scene.pair("ann", "bob")
    try scene.call("ann", "send", hello, key: "g-1")
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    try scene.pass(600_000)
    try scene.call("ann", "send", hello, key: "g-1")
    #expect(try scene.chat("bob", id) == ["hello", "hello"])
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"again","key":"k"}"#)
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    #expect(try scene.record(Clique.Pair.self, "pair/" + id)?.opened == nil)
  }

  @Test("a message that waited and was taken back does not wait again for a broker that was restarted")
  func takenBack() throws {
    let scene = CliqueScene()
    try scene.call("ann", "send", hello, key: "g-1")
    try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    scene.isAskedAgain = true
    let id = scene.pair("ann", "bob")
    #expect(try scene.call("ann", "send", hello, key: "g-1") == #"{"conversation":"\#(id)","waiting":0}"#)
    #expect(try scene.state("bob", id) == nil)
    scene.isAskedAgain = false
    try scene.call("ann", "send", hello, key: "g-2")
    #expect(try scene.state("bob", id) == "request_in")
  }
}
