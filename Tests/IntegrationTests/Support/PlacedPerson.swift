import Foundation
import TestSupport
import Testing
import Wire

/// Somebody who exchanges States, where State is shared among partitions: phone and pictures.
struct PlacedPerson {
  let user: String
  let phone: Phone
  let http: PictureClient

  init(_ user: String, at gateway: String, of machines: Machines) async throws {
    let url = try machines.url(of: gateway)
    self.user = user
    phone = try Phone(url)
    http = PictureClient(port: URL(string: url)?.port ?? 0, token: try machines.pass(of: user))
    try await phone.connect(machines.pass(of: user))
    try await phone.subscribeMap("state.threads:\(user)")
    try await phone.subscribe("state.events:\(user)")
  }

  @discardableResult
  func begin(_ other: String) async throws -> JSON { try await phone.call("state.begin", #"{"to":"\#(other)"}"#) }

  /// Two pictures of this person, on the server's disk.
  func upload() throws -> [PictureClient.Picture] {
    let pictures = [PictureClient.Picture(bytes: 9_000), .init(bytes: 3_000)]
    for picture in pictures { #expect(try http.put(picture) == 201, "\(user)") }
    return pictures
  }

  @discardableResult
  func send(_ pictures: [PictureClient.Picture], to other: String, _ more: String = "") async throws -> JSON {
    try await phone.call(
      "state.send", #"{"to":"\#(other)","front":"\#(pictures[0].id)","rear":"\#(pictures[1].id)"\#(more)}"#)
  }

  /// Records, uploads and sends.
  func send(to other: String, _ more: String = "") async throws -> [PictureClient.Picture] {
    try await begin(other)
    let pictures = try upload()
    try await send(pictures, to: other, more)
    return pictures
  }

  /// The code with which sending is refused; nil: it is not.
  func refusal(of pictures: [PictureClient.Picture], to other: String, _ more: String = "") async throws -> Int? {
    do {
      try await send(pictures, to: other, more)
      return nil
    } catch let fault as Phone.Fault { return fault.code }
  }

  func thread(_ other: String) -> JSON { phone.entry("state.threads:\(user)", other)["data"] }

  /// The list comes to show a thread as the answer to whoever changed it said.
  func shows(_ answer: JSON, _ phase: String, with other: String) async -> Bool {
    await eventually {
      let thread = thread(other)
      return thread["phase"].string == phase && thread["since"].int == answer["since"].int
        && thread["until"].int == answer["until"].int
    }
  }

  /// What has happened, oldest first, as often as it was said, in the threads with all.
  var events: [String] {
    phone.publications("state.events:\(user)").map {
      "\($0["data"]["event"].string ?? "") \($0["data"]["with"].string ?? "")"
    }
  }

  /// Which of the pictures this person is given, whole. Throws where nobody can say whether one may be seen.
  func found(_ pictures: [PictureClient.Picture]) throws -> [Bool] {
    try pictures.map { picture in
      let answer = try http.get(picture)
      guard answer.status == 200 || answer.status == 404 else { throw Failure("\(user): status \(answer.status)") }
      return answer.status == 200 && answer.body == picture.bytes
    }
  }
}

/// Names for each place where people and pairs can be.
extension Partitioning {
  /// The first name that is in a partition, and whose pairs with some others are each in a partition.
  func name(_ prefix: String, at place: Int? = nil, with others: [(user: String, place: Int)] = []) throws -> String {
    let found = (0..<10_000).lazy.map { "\(prefix)\($0)" }.first { name in
      (place == nil || self.place(ofUser: name) == place)
        && others.allSatisfy { self.place(ofPair: name, $0.user) == $0.place }
    }
    return try #require(found)
  }

  /// The places of two people and of what is between them.
  func places(of one: String, _ other: String) -> [Int] {
    [place(ofUser: one), place(ofUser: other), place(ofPair: one, other)]
  }
}
