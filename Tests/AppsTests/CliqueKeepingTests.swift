import TestSupport
import Testing
import Wire

@testable import Apps

@Suite("Clique: muted, archived and pinned conversations")
struct CliqueKeepingTests {
  private static let shelves: [String: CliqueKeeping.Shelf] = [
    "open": .open, "pinned": .pinned(since: 5), "archived": .archived(through: 7),
  ]
  private static let columns: [CliqueKeeping.Event] = [.mute, .unmute, .archive, .unarchive, .pin, .unpin]

  /// Each cell, in the order of `columns`: the shelf after it. At the moment 9, with the newest offset 8.
  private static let table = """
    open      =  =  archived  =     pinned  =
    pinned    =  =  archived  =     =       open
    archived  =  *  archived  open  pinned  =
    """

  @Test("each cell of the table, muted and not")
  func cells() throws {
    for line in Self.table.split(separator: "\n") {
      let cells = line.split(separator: " ").map(String.init)
      let shelf = try #require(Self.shelves[cells[0]])
      try #require(cells.count == Self.columns.count + 1)
      for isMuted in [false, true] {
        let state = CliqueKeeping(isMuted: isMuted, shelf: shelf)
        for (event, cell) in zip(Self.columns, cells.dropFirst()) {
          let next = state.after(event, top: 8, now: 9)
          #expect(next.isMuted == (event == .mute || isMuted && event != .unmute), "\(state) \(event)")
          let expected: CliqueKeeping.Shelf =
            switch cell {
            case "=": shelf
            case "*": isMuted ? .archived(through: 8) : shelf
            case "archived": .archived(through: 8)
            case "pinned": .pinned(since: 9)
            default: .open
            }
          #expect(next.shelf == expected, "\(state) \(event)")
        }
        #expect(state.isArchived(newest: 7) == (cells[0] == "archived"))
        #expect(state.isArchived(newest: 8) == (cells[0] == "archived" && isMuted), "a message comes")
      }
    }
  }

  private func keep(_ scene: CliqueScene, _ user: String, _ id: String, _ what: String) throws -> String {
    try scene.said(user, "keep", #"{"conversation":"\#(id)",\#(what)}"#)
  }

  private func marks(_ scene: CliqueScene, _ user: String, _ id: String) throws -> [String] {
    try ["muted", "archived", "pinned"].filter { try scene.field($0, user, id) != nil }
  }

  private func say(_ scene: CliqueScene, _ user: String, _ id: String) throws {
    try scene.call(user, "send", #"{"conversation":"\#(id)","text":"news"}"#)
  }

  /// A group of ann and bob.
  private func found(_ scene: CliqueScene) throws -> String {
    _ = try scene.befriend("ann", "bob")
    return String(try scene.call("ann", "group.create", #"{"members":["bob"]}"#).split(separator: "\"")[3])
  }

  @Test("an archived conversation comes back with a message, a muted one does not; nobody else sees any of it")
  func archived() throws {
    for isGroup in [false, true] {
      let scene = CliqueScene()
      let id = isGroup ? try found(scene) : try scene.befriend("ann", "bob")
      #expect(try keep(scene, "ann", id, #""archived":true"#) == "{}")
      #expect(try marks(scene, "ann", id) == ["archived"])
      #expect(try marks(scene, "bob", id) == [])
      try say(scene, "bob", id)
      #expect(try marks(scene, "ann", id) == [])
      #expect(try keep(scene, "ann", id, #""archived":true,"muted":true"#) == "{}")
      try say(scene, "bob", id)
      #expect(try marks(scene, "ann", id) == ["muted", "archived"])
      #expect(try keep(scene, "ann", id, #""muted":false"#) == "{}")
      #expect(try marks(scene, "ann", id) == ["archived"], "what came meanwhile brings it back no more")
      #expect(try keep(scene, "ann", id, #""pinned":true"#) == "{}")
      #expect(try marks(scene, "ann", id) == ["pinned"])
      #expect(try scene.field("pinned", "ann", id) == "\(scene.now)")
      #expect(try keep(scene, "ann", id, #""pinned":false"#) == "{}")
      #expect(try marks(scene, "ann", id) == [])
    }
  }

  @Test("a message that is kept from somebody brings nothing back")
  func unseen() throws {
    let scene = CliqueScene()
    let id = try scene.befriend("ann", "bob")
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    #expect(try keep(scene, "ann", id, #""archived":true"#).contains("blocked this person"))
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try keep(scene, "ann", id, #""archived":true"#) == "{}")
    try scene.call("ann", "block", #"{"person":"bob"}"#)
    try say(scene, "bob", id)
    try scene.call("ann", "unblock", #"{"person":"bob"}"#)
    #expect(try marks(scene, "ann", id) == ["archived"])
    #expect(try keep(scene, "bob", id, #""muted":true"#) == "{}")
    #expect(try marks(scene, "bob", id) == ["muted"])
  }

  @Test("only conversations that one may read are kept so, and with the conversation it is forgotten")
  func ends() throws {
    let scene = CliqueScene()
    try scene.call("ann", "send", #"{"to":"bob","text":"hi"}"#)
    let id = scene.pair("ann", "bob")
    for user in ["ann", "bob"] { #expect(try keep(scene, user, id, #""muted":true"#).contains("this is a request")) }
    #expect(try keep(scene, "eve", id, #""muted":true"#).contains("no such conversation"))
    #expect(try scene.said("ann", "keep", #"{"person":"eve","muted":true}"#).contains("no such conversation"))
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    for user in ["ann", "bob"] { #expect(try keep(scene, user, id, #""pinned":true"#) == "{}") }
    try scene.call("ann", "disconnect", #"{"person":"bob"}"#)
    #expect(try marks(scene, "bob", id) == ["pinned"], "who stays keeps it as before")
    try scene.call("ann", "send", #"{"to":"bob","text":"again"}"#)
    try scene.call("bob", "accept", #"{"person":"ann"}"#)
    for user in ["ann", "bob"] { #expect(try marks(scene, user, id) == []) }
    for user in ["ann", "bob"] {
      #expect(try scene.record(Clique.Person.self, "person/\(user)")?.pinned == nil)
    }
    #expect(try keep(scene, "ann", id, #""archived":true,"pinned":true"#).contains("not both"))
    #expect(try scene.said("ann", "keep", #"{"conversation":"\#(id)"}"#).contains("say `muted`"))
  }

  @Test("so many conversations are pinned, groups among them, and who leaves or is removed has room again")
  func pinned() throws {
    let scene = CliqueScene()
    let group = try found(scene)
    #expect(try keep(scene, "bob", group, #""pinned":true"#) == "{}")
    for number in 1..<Clique.maximumPinned {
      #expect(try keep(scene, "bob", scene.befriend("bob", "friend\(number)"), #""pinned":true"#) == "{}")
    }
    let last = try scene.befriend("bob", "last")
    do {
      try scene.call("bob", "keep", #"{"conversation":"\#(last)","pinned":true}"#)
      Issue.record("it was pinned")
    } catch let error as ClientError {
      #expect(error.limit == .cliquePinned)
    }
    #expect(try keep(scene, "bob", group, #""pinned":true"#) == "{}", "pinned already")
    try scene.call("ann", "group.remove", #"{"conversation":"\#(group)","person":"bob"}"#)
    #expect(try keep(scene, "bob", last, #""pinned":true"#) == "{}")
    #expect(try keep(scene, "bob", group, #""pinned":true"#).contains("no such conversation"))
  }
}
