import FanfareClient
import Foundation
import Synchronization
import TestSupport
import Testing

/// The client for apps in Swift against a real server, which is killed in between.
@Suite("The client in Swift", .ownThread)
struct SwiftClientTests {
  private static func client(_ user: String, _ hall: PhoneHall) async throws -> RealtimeClient {
    var options = RealtimeClient.Options()
    options.backoff = Backoff(minimum: .milliseconds(20), maximum: .milliseconds(200))
    options.timeout = .seconds(60)
    let client = try RealtimeClient(url: hall.url, token: hall.token(user), options: options)
    try await client.connect()
    return client
  }

  /// Waits for a view of a map.
  private func view<Value: Decodable & Sendable>(
    _ map: MapSubscription<Value>, where condition: @escaping @Sendable (MapView<Value>) -> Bool
  ) async throws -> MapView<Value> {
    let isThere = await eventually(within: .seconds(120)) { condition(map.view) }
    guard isThere else {
      throw Failure("\(map.channel) holds \(map.view.entries.map(\.key)), and is \(map.view.state)")
    }
    return map.view
  }

  private struct Line: Codable, Equatable { var text: String }

  @Test("What is published without a server is published once, in order, when it is back")
  func offline() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob) = (try await Self.client("ada", hall), try await Self.client("bob", hall))
      let chat = try await bob.subscribe("chat:lobby", .init(recoverable: true))
      var events = chat.events.makeAsyncIterator()
      guard case .subscribed? = await events.next() else { throw Failure("bob is not subscribed") }
      _ = try await ada.subscribe("chat:lobby")
      await hall.server.kill()
      var publications: [Task<Void, any Error>] = []
      for number in 0..<50 {
        publications.append(
          Task { try await ada.publish(Line(text: "\(number)"), to: "chat:lobby", idempotencyKey: "k\(number)") })
        // The next is asked for when this one waits, as from one screen.
        #expect(await eventually { await ada.waitingCalls == number + 1 })
      }
      try await hall.killAndRestart()
      for publication in publications { try await publication.value }
      var seen: [String] = []
      while seen.count < 50, let event = await events.next() {
        if case .publication(let publication) = event { seen.append(try publication.decode(Line.self).text) }
      }
      #expect(seen == (0..<50).map { "\($0)" })
      let history = try await ada.history(of: "chat:lobby", limit: -1)
      #expect(history.publications.count == 50)
      #expect(await ada.waitingCalls == 0)
      for client in [ada, bob] { await client.disconnect() }
    }
  }

  @Test("What waits is bounded, and the end of the connection ends it with a sentence")
  func bounded() async throws {
    var options = RealtimeClient.Options()
    options.maximumQueuedCalls = 1
    let client = try RealtimeClient(url: "ws://127.0.0.1:1/connection/websocket", options: options)
    let first = Task { try await client.publish(Line(text: "a"), to: "c", idempotencyKey: "1") }
    #expect(await eventually { await client.waitingCalls == 1 })
    let error = await #expect(throws: RealtimeError.self) {
      try await client.publish(Line(text: "b"), to: "c", idempotencyKey: "2")
    }
    guard case .queueFull(calls: 1, bytes: _)? = error else {
      Issue.record("\(String(describing: error)) is about something else")
      return
    }
    first.cancel()
    await #expect(throws: RealtimeError.cancelled) { try await first.value }
  }

  @Test("Clique: a request is accepted, both talk, over a server that is killed")
  func clique() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob) = (try await Self.client("ada", hall), try await Self.client("bob", hall))
      let (adas, bobs) = (try await ada.clique.list(), try await bob.clique.list())
      try await adas.ready()
      let request = try await ada.clique.send("hello bob", to: "bob")
      #expect(request.waiting == 1 && request.offset == nil)
      let id = request.conversation
      let asked = try await view(bobs) { $0[id]?.state == .requestIn }
      #expect(asked[id]?.messages?.map(\.text) == ["hello bob"] && asked[id]?.with == "ada")
      #expect(try await bob.clique.accept("ada") == id)
      _ = try await view(adas) { $0[id]?.state == .active }

      let chat = try await ada.clique.chat(id)
      var events = chat.events.makeAsyncIterator()
      guard case .subscribed? = await events.next() else { throw Failure("ada is not subscribed to \(chat.channel)") }
      #expect(try await bob.clique.send("hello ada", to: "ada").offset != nil)
      _ = try await view(adas) { $0[id]?.unread == 1 }
      await hall.server.kill()
      let first = Task { try await bob.clique.send("one", to: .conversation(id)) }
      #expect(await eventually { await bob.waitingCalls == 1 })
      let second = Task { try await bob.clique.send("end", to: "ada") }
      #expect(await eventually { await bob.waitingCalls == 2 })
      try await hall.killAndRestart()
      let offsets = (try await first.value.offset ?? 0, try await second.value.offset ?? 0)
      #expect(offsets.0 < offsets.1 && offsets.0 > 0)
      var texts: [String] = []
      while texts.last != "end", let event = await events.next() {
        if case .publication(let message, _) = event { texts.append(message.text ?? "") }
      }
      #expect(texts == ["hello ada", "one", "end"])
      try await ada.clique.read(id, upTo: offsets.1)
      _ = try await view(adas) { ($0[id]?.unread ?? 0) == 0 }
      let receipts = try await bob.clique.receipts(id)
      _ = try await view(receipts) { $0["ada"]?.read == offsets.1 }
      for client in [ada, bob] { await client.disconnect() }
    }
  }

  @Test("State: sealed, answered, revealed, and each sees the other's pictures")
  func state() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob) = (try await Self.client("ada", hall), try await Self.client("bob", hall))
      let (adas, bobs) = (try await ada.state.threads(), try await bob.state.threads())
      let pictures = (0..<4).map { PictureClient.Picture(bytes: 70_000 + $0 * 1000).bytes }
      #expect(try await ada.state.begin(to: "bob").limit > 0)
      let progress = Record()
      let front = try await ada.state.pictures.upload(pictures[0], partBytes: 65_536) { done, total in
        progress.add(done, total)
      }
      #expect(progress.last == [70_000, 70_000] && progress.count == 2)
      let rear = try await ada.state.pictures.upload(pictures[1])
      let sent = try await ada.state.send(to: "bob", front: front, rear: rear, caption: "at the sea")
      #expect(sent.phase == .sent)
      _ = try await view(bobs) { $0["ada"]?.phase == .received }
      await #expect {
        try await bob.state.pictures.download(front)
      } throws: { error in
        if case .picture(status: 404, _, mayPass: false)? = error as? RealtimeError { true } else { false }
      }
      _ = try await bob.state.begin(to: "ada")
      let answer = (
        try await bob.state.pictures.upload(pictures[2]), try await bob.state.pictures.upload(pictures[3])
      )
      #expect(try await bob.state.send(to: "ada", front: answer.0, rear: answer.1).phase == .revealed)
      let mine = try await view(adas) { $0["bob"]?.phase == .revealed }
      #expect(mine["bob"]?.theirs?.front == answer.0 && mine["bob"]?.mine?.caption == "at the sea")
      let isWhole = try await bob.state.pictures.download(front).bytes == pictures[0]
      #expect(isWhole)
      let other = try await ada.state.pictures.download(answer.1)
      #expect(other.type == "image/png" && other.etag != nil)
      let isSame = other.bytes == pictures[3]
      #expect(isSame)
      try await ada.state.react(to: "bob", with: "🔥")
      _ = try await view(bobs) { $0["ada"]?.theirs?.reaction == "🔥" }
      for client in [ada, bob] { await client.disconnect() }
    }
  }

  /// What a picture's upload has told.
  private final class Record: Sendable {
    private let told = Mutex<[[Int]]>([])
    func add(_ done: Int, _ total: Int) { told.withLock { $0.append([done, total]) } }
    var last: [Int]? { told.withLock { $0.last } }
    var count: Int { told.withLock { $0.count } }
  }

  private struct Place: Codable, Equatable { var name: String }

  @Test("A map is the same on all devices, in its order, and after a server that was killed")
  func maps() async throws {
    try await PhoneHall.with { hall in
      let (one, two) = (try await Self.client("ada", hall), try await Self.client("ada", hall))
      let order = MapOptions(order: .ascending, pageSize: 2)
      let (mine, other) = (
        try await one.map("favorites:#ada", of: Place.self, order),
        try await two.map("favorites:#ada", of: Place.self, order)
      )
      for number in 1...5 { try await mine.set("p\(number)", to: Place(name: "\(number)"), score: Int64(-number)) }
      let five = try await view(other) { $0.count == 5 }
      #expect(five.entries.map(\.key) == ["p5", "p4", "p3", "p2", "p1"])
      try await hall.killAndRestart()
      try await mine.remove("p3")
      let four = try await view(other) { $0.count == 4 && $0.state == .live }
      #expect(four["p3"] == nil && four["p5"] == Place(name: "5"))
      #expect(try await two.mapEntry("p1", of: "favorites:#ada", as: Place.self) == Place(name: "1"))
      #expect(try await two.mapEntry("p3", of: "favorites:#ada", as: Place.self) == nil)
      let late = try await Self.client("ada", hall)
      let read = try await late.map("favorites:#ada", of: Place.self, order)
      try await read.ready()
      #expect(read.view.entries.map(\.key) == ["p5", "p4", "p2", "p1"], "read in pages")
      for client in [one, two, late] { await client.disconnect() }
    }
  }

  @Test("Presence, a filter on the author, an edit and a removal")
  func channels() async throws {
    try await PhoneHall.with { hall in
      let (ada, bob, eve) = (
        try await Self.client("ada", hall), try await Self.client("bob", hall), try await Self.client("eve", hall)
      )
      let options = SubscriptionOptions(recoverable: true, filter: .equal(key: "user", "bob"))
      let followed = TypedSubscription<Line>(try await ada.subscribe("chat:lobby", options))
      var events = followed.events.makeAsyncIterator()
      guard case .subscribed? = await events.next() else { throw Failure("ada is not subscribed") }
      for client in [bob, eve] { _ = try await client.subscribe("chat:lobby") }
      for number in 0..<3 {
        for client in [eve, bob] { try await client.publish(Line(text: "\(number)"), to: "chat:lobby") }
      }
      var offsets: [UInt64] = []
      while offsets.count < 3, let event = await events.next() {
        guard case .publication(let line, let publication) = event else { continue }
        #expect(publication.info?.user == "bob" && line.text == "\(offsets.count)")
        offsets.append(publication.offset)
      }
      #expect(try await ada.presenceStats(on: "chat:lobby") == PresenceStats(clients: 3, users: 3))
      let users = try await followed.subscription.presence().clients.values.map(\.user)
      #expect(users.sorted() == ["ada", "bob", "eve"])

      try await bob.edit(offsets[0], of: "chat:lobby", to: Line(text: "edited"))
      try await bob.delete(offsets[1], of: "chat:lobby")
      guard case .edited(let edited, let line, _)? = await events.next(),
        case .removed(let removed, _)? = await events.next()
      else { throw Failure("the changes were not told") }
      #expect(edited == offsets[0] && line == Line(text: "edited") && removed == offsets[1])
      for client in [ada, bob, eve] { await client.disconnect() }
    }
  }
}
