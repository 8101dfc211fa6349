import Foundation
import TestSupport
import Testing

/// What a backend asks of a server about the data of its users, and users who have something in every file of it.
struct DeletionDesk {
  private static let key = "a-key-that-only-this-test-has"
  static let settings = ["admin.api.key=\(key)", "state.record_limit=10m", "state.upload_grace=1h"]

  /// How long a deletion may take. A broker whose lists were a second behind, because the machine was busy, keeps the
  /// marks of their entries for a minute, and the deletion waits for these (`BrokerTests/UserDeletionTests.behind`).
  static let patience = Duration.seconds(180)

  let hall: PhoneHall

  /// Somebody who is deleted, with pictures of theirs.
  struct Person {
    let user: String
    let friend: String
    /// What stands in the id and in every text of theirs.
    let marker: String
    let sent = [PictureClient.Picture(bytes: 70_000), .init(bytes: 500)]
    let unsent = PictureClient.Picture(bytes: 300)
    /// What the friend has answered with; empty: nothing.
    let answers: [PictureClient.Picture]

    init(_ number: Int, marker: String) {
      self.marker = marker
      user = "\(marker)-\(number)"
      friend = "friend\(number % 3)"
      answers = number % 2 == 0 ? [PictureClient.Picture(bytes: 400), .init(bytes: 400)] : []
    }

    var ownPictures: [String] { sent.map(\.id) + [unsent.id] }
  }

  func call(_ method: String, _ body: String) throws -> JSON {
    try hall.server.call(method, body, key: Self.key)
  }

  /// How far somebody's deletion is.
  func state(of user: String) throws -> String? {
    try call("user_delete_status", "{\"user\":\"\(user)\"}")["state"].string
  }

  func http(_ user: String) throws -> PictureClient {
    PictureClient(port: URL(string: hall.url)?.port ?? 0, token: try hall.token(user))
  }

  /// Records and uploads two pictures, and sends them.
  func send(
    _ pictures: [PictureClient.Picture], from phone: Phone, of user: String, to other: String
  ) async throws {
    try await phone.call("state.begin", "{\"to\":\"\(other)\"}")
    for picture in pictures { #expect(try http(user).put(picture) == 201) }
    try await phone.call(
      "state.send", "{\"to\":\"\(other)\",\"front\":\"\(pictures[0].id)\",\"rear\":\"\(pictures[1].id)\"}")
  }

  /// Gives somebody some of everything that reaches a file.
  func furnish(_ person: Person, friend: Phone) async throws {
    let phone = try await hall.phone(of: person.user)
    let words = "\(person.marker)words of \(person.user)"
    try await phone.subscribe("chat:hall")
    try await phone.ask("\"publish\":{\"channel\":\"chat:hall\",\"data\":{\"text\":\"\(words)\"}}")
    try await phone.call("clique.send", "{\"to\":\"\(person.friend)\",\"text\":\"\(words)\"}")
    try await friend.call("clique.send", "{\"to\":\"\(person.user)\",\"text\":\"keep this of \(person.friend)\"}")
    try await phone.call("clique.send", "{\"to\":\"\(person.friend)\",\"text\":\"\(words) again\"}")
    let found = try await friend.call("clique.search", "{\"text\":\"\(person.marker)words\",\"limit\":1}")
    #expect(found["messages"].array.count == 1)
    try await phone.call("clique.enter", "{\"place\":\"cafe\"}")
    #expect(try http(person.user).put(person.unsent) == 201)
    try await send(person.sent, from: phone, of: person.user, to: person.friend)
    if !person.answers.isEmpty {
      try await send(person.answers, from: friend, of: person.friend, to: person.user)
    }
    phone.cut()
  }

  /// The names of the pictures that are there.
  func pictures() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: hall.data.appendingPathComponent("pictures").path))
  }

  /// The kinds of files in which one of the texts stands.
  static func kinds(in folder: URL, holding texts: [String]) throws -> Set<String> {
    kinds(of: try ByteSearch.files(in: folder, holding: texts))
  }

  /// The kinds of what holds texts: the journal of a database is of its kind, and so is a table.
  static func kinds(of holders: [String: [String]]) -> Set<String> {
    Set(holders.values.flatMap(\.self).compactMap { $0.split(separator: ".").first.map(String.init) })
  }
}
