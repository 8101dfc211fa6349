import Apps
import Foundation
import TestSupport
import Testing
import Wire

/// Somebody who uses Clique, where it is shared among partitions: a phone and a tablet at different gateways, which follow
/// all of the person's lists, and pictures.
struct PlacedFriend {
  private static let lists = ["list", "drafts", "totals", "people", "crossings", "blocked"]

  let user: String
  let phone: Phone
  let tablet: Phone
  let http: PictureClient

  init(_ user: String, of machines: Machines) async throws {
    let url = try machines.url(of: "a")
    self.user = user
    (phone, tablet) = (try Phone(url), try Phone(machines.url(of: "b")))
    http = PictureClient(port: URL(string: url)?.port ?? 0, token: try machines.pass(of: user), app: "clique")
    for device in [phone, tablet] {
      try await device.connect(machines.pass(of: user))
      for list in Self.lists { try await device.subscribeMap("clique.\(list):\(user)") }
    }
  }

  var devices: [Phone] { [phone, tablet] }
  /// The name in the person's profile, if they have told it.
  var name: String { "Name of \(user)" }

  func cut() { for device in devices { device.cut() } }

  // MARK: Asking

  /// Says something in a conversation, with the text as its key.
  ///
  /// - Returns: the offset.
  @discardableResult
  func say(_ text: String, in id: String, from device: Phone? = nil, _ more: String = "") async throws -> Int {
    let data = #"{"conversation":"\#(id)","text":"\#(text)","key":"\#(text)"\#(more)}"#
    let sent = try await (device ?? phone).call("clique.send", data)
    return try #require(sent["offset"].int)
  }

  func tell(name: String) async throws { try await phone.call("clique.profile.set", #"{"name":"\#(name)"}"#) }

  /// Writes to somebody for the first time, who accepts.
  ///
  /// - Returns: the conversation.
  @discardableResult
  func befriend(_ other: PlacedFriend, saying text: String = "hello") async throws -> String {
    try await phone.call("clique.send", #"{"to":"\#(other.user)","text":"\#(text)"}"#)
    let accepted = try await other.phone.call("clique.accept", #"{"person":"\#(user)"}"#)
    return try #require(accepted["conversation"].string)
  }

  /// Founds a group.
  ///
  /// - Returns: the conversation.
  func found(_ members: [String]) async throws -> String {
    let named = members.map { JSON.quoted($0) }.joined(separator: ",")
    var id: String?
    // Home hears a moment after the answer that two people talk.
    let isFounded = try await eventually {
      do {
        id = try await phone.call("clique.group.create", #"{"members":[\#(named)],"name":"Sunday"}"#)["conversation"]
          .string
      } catch let fault as Phone.Fault where fault.code == 103 {}
      return id != nil
    }
    try #require(isFounded, "\(user) talks with \(members) and founds no group")
    return try #require(id)
  }

  /// The code with which something is refused; nil: it is not.
  func refusal(_ body: (PlacedFriend) async throws -> Void) async throws -> Int? {
    do {
      try await body(self)
      return nil
    } catch let fault as Phone.Fault { return fault.code }
  }

  func refusal(of method: String, _ data: String) async throws -> Int? {
    try await refusal { try await $0.phone.call(method, data) }
  }

  // MARK: Looking

  /// What the phone shows under a key of one of the lists; null: nothing.
  func shown(_ list: String, _ key: String) -> JSON { phone.entry("clique.\(list):\(user)", key)["data"] }

  /// Whether both devices come to show what is wanted under a key of one of the lists.
  func shows(_ list: String, _ key: String, _ isWanted: (JSON) -> Bool) async -> Bool {
    await eventually { devices.allSatisfy { isWanted($0.entry("clique.\(list):\(user)", key)["data"]) } }
  }

  func shows(state: String, of id: String) async -> Bool { await shows("list", id) { $0["state"].string == state } }

  /// Follows a chat on both devices, from its beginning.
  func follow(_ id: String) async throws {
    for device in devices {
      try await device.subscribe("clique.chat:\(id)", #","recover":true,"epoch":"","offset":0"#)
    }
  }

  /// The texts that a device was sent of a chat, in the order in which they came.
  func heard(_ id: String, on device: Phone) -> [String] {
    device.publications("clique.chat:\(id)").compactMap { $0["data"]["text"].string }
  }

  /// Whether both devices come to have heard all texts of a chat, once and in order, and no others.
  func hears(_ texts: [String], in id: String) async -> Bool {
    for device in devices {
      _ = await eventually { heard(id, on: device).count >= texts.count }
    }
    return devices.allSatisfy { heard(id, on: $0) == texts }
  }

  /// Whether the person is given a picture, as it is without what tells of its place. Throws where nobody can say whether
  /// it may be seen.
  func finds(_ picture: PictureClient.Picture, clean: [UInt8]) throws -> Bool {
    let answer = try http.get(picture)
    guard answer.status == 200 || answer.status == 404 else { throw Failure("\(user): status \(answer.status)") }
    return answer.status == 200 && answer.body == clean
  }
}

/// Two people and their conversation, each in a partition.
struct PlacedCouple {
  let one: PlacedFriend
  let other: PlacedFriend
  let id: String
  private let places: [Int]

  /// - Parameter places: of the two, and of their conversation.
  init(_ prefix: String, at places: [Int], _ partitioning: Partitioning, of machines: Machines) async throws {
    let user = try partitioning.name("\(prefix)-ada-", at: places[0])
    let friend = try partitioning.name("\(prefix)-bob-", at: places[1], talkingTo: user, in: places[2])
    (one, other) = (try await PlacedFriend(user, of: machines), try await PlacedFriend(friend, of: machines))
    id = Clique.conversationID(user, friend)
    self.places = places
  }

  /// Which two, for whoever reads what went wrong.
  var what: String {
    "\(one.user) in \(places[0]), \(other.user) in \(places[1]), their conversation in \(places[2])"
  }

  var people: [PlacedFriend] { [one, other] }

  func cut() { for friend in people { friend.cut() } }
}

extension Partitioning {
  /// The first name that is in a partition, and whose conversation with somebody is in another.
  func name(_ prefix: String, at place: Int, talkingTo user: String, in conversation: Int) throws -> String {
    let found = (0..<10_000).lazy.map { "\(prefix)\($0)" }.first { name in
      self.place(ofUser: name) == place
        && self.place(ofConversation: Clique.conversationID(name, user)) == conversation
    }
    return try #require(found)
  }

  /// The places of two people and of their conversation.
  func places(ofTalk one: String, _ other: String) -> [Int] {
    [place(ofUser: one), place(ofUser: other), place(ofConversation: Clique.conversationID(one, other))]
  }
}
