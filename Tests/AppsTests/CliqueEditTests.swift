import Foundation
import Testing
import Wire

@testable import Apps

@Suite("Clique: changed and removed messages")
struct CliqueEditTests {
  private func said(_ body: () throws -> Void) throws -> UInt32? {
    do { try body() } catch let error as ClientError { return error.code }
    return nil
  }

  @Test("the lists of both show a message as it stands; changes are no messages, and what was removed counts no more")
  func lists() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "send", #"{"to":"bob","text":"tpyo","key":"k"}"#)
    try scene.call("ann", "send", #"{"to":"bob","text":"secret"}"#)
    try scene.change("ann", id, 2, #"{"text":"typo","from":"eve","event":"left"}"#)
    #expect(try scene.field("unread", "bob", id) == "2")
    try scene.change("ann", id, 3, nil)
    for user in ["ann", "bob"] { #expect(try scene.field("last", user, id) == "typo") }
    #expect(try scene.field("unread", "bob", id) == "1")
    let changed = try #require(scene.streams[try ChannelName("clique.chat:\(id)")]?[1].data)
    #expect(String(decoding: changed, as: UTF8.self) == #"{"text":"typo","key":"k"}"#, "only the text is new")
  }

  @Test("what waited in a request, and was removed once it was accepted, is nobody's last message")
  func removedRequest() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    #expect(try scene.field("last", "bob", id) == "hello")
    try scene.change("ann", id, 1, nil)
    for user in ["ann", "bob"] { #expect(try scene.field("last", user, id) == nil) }
  }

  @Test("a message is changed only into a message that could have been sent, while the conversation is open")
  func rules() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    for wrong in [#"{"event":"left","user":"bob"}"#, "{}", #"{"text":""}"#, "7", #"{"text":7}"#] {
      #expect(try said { try scene.change("ann", id, 1, wrong) } == 107, "\(wrong)")
    }
    let long = String(repeating: "x", count: 4001)
    #expect(try said { try scene.change("ann", id, 1, "{\"text\":\"\(long)\"}") } == 106)
    try scene.call("bob", "disconnect", #"{"person":"ann"}"#)
    #expect(try said { try scene.change("ann", id, 1, #"{"text":"x"}"#) } == 103)
    try scene.change("ann", id, 1, nil)
    #expect(try scene.chat("ann", id)?.first == "null")
  }

  @Test("what is changed under a block reaches nobody but its author, ever; what is removed is gone")
  func block() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "send", #"{"to":"bob","text":"two"}"#)
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.change("ann", id, 1, #"{"text":"read me"}"#)
    #expect(try scene.chat("ann", id) == ["read me", "two", "read me"])
    try scene.change("ann", id, 2, nil)
    try scene.call("ann", "send", #"{"to":"bob","text":"void"}"#)
    try scene.change("ann", id, 5, #"{"text":"void too"}"#)
    #expect(try scene.chat("ann", id) == ["read me", "null", "read me", "null", "void too", "void too"])
    for (text, offsets) in [("read me", ["1"]), ("hello", []), ("void", ["5"])] {
      #expect(try scene.found("ann", text).map { String($0.suffix(1)) } == offsets, "\(text)")
    }
    #expect(try said { try scene.change("bob", id, 1, #"{"text":"x"}"#) } == 103, "whoever blocks")
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    #expect(try scene.chat("bob", id) == ["hello", "null", "null"])
    #expect(try scene.field("last", "bob", id) == "hello")
    #expect(try scene.found("bob", "hello").count == 1)
    #expect(try scene.found("bob", "read me").isEmpty)
    try scene.change("ann", id, 1, #"{"text":"for both"}"#)
    #expect(try scene.chat("bob", id)?.first == "for both")
    #expect(try scene.field("last", "bob", id) == "for both")
  }

  @Test("in a group, whoever a block hides a message from does not hear of its change")
  func group() throws {
    let scene = CliqueScene()
    for friend in ["bob", "eve"] { _ = try scene.befriend("ann", friend) }
    let reply = try scene.call("ann", "group.create", #"{"members":["bob","eve"]}"#)
    let id = String(reply.split(separator: "\"")[3])
    try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"before"}"#)
    try scene.call("bob", "block", #"{"person":"ann"}"#)
    try scene.call("ann", "send", #"{"conversation":"\#(id)","text":"after"}"#)
    try scene.change("ann", id, 1, #"{"text":"before, changed"}"#)
    try scene.change("ann", id, 2, #"{"text":"after, changed"}"#)
    #expect(try scene.chat("bob", id) == ["before"])
    #expect(try scene.chat("eve", id) == ["before, changed", "after, changed", "before, changed", "after, changed"])
    try scene.call("eve", "block", #"{"person":"ann"}"#)
    try scene.change("ann", id, 1, #"{"text":"third"}"#)
    #expect(try ["ann", "bob", "eve"].map { try scene.chat($0, id)?.first } == ["third", "before", "before, changed"])
    try scene.call("bob", "unblock", #"{"person":"ann"}"#)
    try scene.change("ann", id, 2, #"{"text":"again"}"#)
    #expect(try scene.chat("bob", id) == ["before"], "what was hidden from somebody stays so, and its changes too")
    try scene.change("ann", id, 1, nil)
    #expect(try scene.chat("bob", id)?.first == "null")
  }
}
