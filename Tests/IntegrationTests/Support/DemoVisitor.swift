import Foundation
import TestSupport
import Testing

/// The demo's doors, as its page uses them.
struct DemoDoor {
  let hall: PhoneHall

  private func exchange() throws -> HTTPExchange { HTTPExchange(port: try #require(URL(string: hall.url)?.port)) }

  func get(_ path: String) throws -> HTTPExchange.Answer { try exchange().ask("GET", path) }

  /// - Parameter more: more lines of the head, each with its end.
  func post(_ path: String, _ body: String, _ more: String = "") throws -> HTTPExchange.Answer {
    let headers = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\(more)"
    return try exchange().ask("POST", path, headers, Array(body.utf8))
  }

  func signIn(_ body: String, _ more: String = "") throws -> HTTPExchange.Answer {
    try post("/demo/sign-in", body, more)
  }

  /// The token of somebody who signs in under a name.
  func token(_ name: String) throws -> String {
    try #require(try JSON(try signIn("{\"name\":\(JSON.quoted(name))}").text)["token"].string)
  }

  /// Moves the clock by milliseconds, or asks for it.
  func advance(_ milliseconds: Int64, _ token: String?, _ more: String = "") throws -> HTTPExchange.Answer {
    let bearer = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    return try post("/demo/clock", "{\"advance\":\(milliseconds)}", bearer + more)
  }

  /// The offset and the time.
  func clock() throws -> (offset: Int, now: Int) {
    let answer = try JSON(try get("/demo/clock").text)
    return (try #require(answer["offset"].int), try #require(answer["now"].int))
  }

  /// Whether a token lets nobody in: no connection, and no picture.
  func refuses(_ token: String) async throws -> Bool {
    let phone = try Phone(hall.url)
    do {
      try await phone.connect(token)
      return false
    } catch {
      let picture = try PictureClient(port: try exchange().port, token: token).get(.init(bytes: 100))
      let isRefused = await eventually { phone.closing?.code == 3500 }
      return isRefused && picture.status == 401
    }
  }
}

/// Somebody who has signed in on the demo's page, with two pictures for State.
struct DemoVisitor {
  let user: String
  let token: String
  let phone: Phone
  private let http: PictureClient
  private let pictures = [PictureClient.Picture(bytes: 20_000), PictureClient.Picture(bytes: 3_000)]

  init(_ name: String, _ hall: PhoneHall) async throws {
    (user, token, phone) = (name.lowercased(), try DemoDoor(hall: hall).token(name), try Phone(hall.url))
    http = PictureClient(port: URL(string: hall.url)?.port ?? 0, token: token)
    try await phone.connect(token)
    try await phone.subscribeMap("state.threads:\(user)")
    try await phone.subscribe("state.events:\(user)")
  }

  /// Records for somebody and sends.
  @discardableResult
  func send(to other: String) async throws -> JSON {
    try await phone.call("state.begin", "{\"to\":\"\(other)\"}")
    for picture in pictures { #expect(try http.put(picture) == 201) }
    return try await phone.call(
      "state.send", "{\"to\":\"\(other)\",\"front\":\"\(pictures[0].id)\",\"rear\":\"\(pictures[1].id)\"}")
  }

  func thread(_ other: String) -> JSON { phone.entry("state.threads:\(user)", other)["data"] }

  func isIn(_ phase: String?, with other: String, within limit: Duration = .seconds(60)) async -> Bool {
    await eventually(within: limit) { thread(other)["phase"].string == phase }
  }

  /// The status with which somebody's pictures are answered to this one.
  func status(of other: DemoVisitor) throws -> [Int] { try other.pictures.map { try http.get($0).status } }
}
