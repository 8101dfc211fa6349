import Cryptography
import Foundation
import TestSupport
import Testing

/// Shared polls with a real backend over HTTP, for clients of a whole server.
@Suite("Shared polls end to end", .ownThread)
struct SharedPollTests {
  private static let secret = "a secret that only this test has"
  private static let path = "shared_poll_refresh"

  /// A server whose channels without a namespace are shared polls.
  private func withBackend(
    _ settings: [String] = [], interval: String = "100ms", mode: String = "versioned",
    _ body: (Deployment, Backend) async throws -> Void
  ) async throws {
    let backend = try Backend()
    defer { backend.stop() }
    let channel = "channel.without_namespace"
    let all = [
      "proxies.shared_poll_refresh.endpoint=\(backend.url(Self.path))", "proxies.shared_poll_refresh.timeout=50s",
      "shared_poll.hmac_secret=\(Self.secret)", "\(channel).kind=shared_poll", "\(channel).poll_mode=\(mode)",
      "\(channel).poll_interval=\(interval)", "\(channel).allow_subscribe_for_client=true",
    ]
    try await Deployment.with(.serve, settings: all + settings) { try await body($0, backend) }
  }

  /// Signs keys as a backend does.
  private func signature(_ keys: [String], _ user: String, _ channel: String = "votes") -> String {
    let now = Int(Date().timeIntervalSince1970)
    let hash = Digest.sha256.hash(Array(keys.joined(separator: "\0").utf8)).hexadecimal
    let message = "\(now)\0\(now + 600)\0\(user)\0\(channel)\0\(hash)"
    let tag = Digest.sha256.authenticate(Array(message.utf8), with: SecretKey(Array(Self.secret.utf8)))
    return "\(now):\(now + 600):\(tag.hexadecimal)"
  }

  private func phone(of user: String, on server: Deployment) async throws -> Phone {
    let phone = try Phone(server.a)
    try await phone.connect(try server.token(user))
    try await phone.subscribe("votes", ",\"type\":4")
    return phone
  }

  @discardableResult
  private func track(_ phone: Phone, _ keys: [String], _ user: String) async throws -> JSON {
    let items = keys.map { "{\"key\":\"\($0)\"}" }.joined(separator: ",")
    let batch = "{\"signature\":\"\(signature(keys, user))\",\"items\":[\(items)]}"
    return try await phone.ask("\"sub_refresh\":{\"channel\":\"votes\",\"type\":1,\"track\":[\(batch)]}")["sub_refresh"]
  }

  private func answer(_ backend: Backend, _ items: String) {
    backend.answer(Self.path, .json("{\"result\":{\"items\":[\(items)]}}"))
  }

  private func item(_ key: String, _ version: Int) -> String {
    "{\"key\":\"\(key)\",\"data\":{\"n\":\(version)},\"version\":\(version)}"
  }

  /// Keys of the requests so far, each of them sorted.
  private func asked(_ backend: Backend) -> [[String]] {
    backend.requests(Self.path).map { $0.body["items"].array.compactMap { $0["key"].string }.sorted() }
  }

  private func versions(_ phone: Phone, _ key: String) -> [Int] {
    phone.publications("votes").filter { $0["key"].string == key }.compactMap { $0["version"].int }
  }

  /// The newest version that a phone was told of a key, in the answer to its track or since.
  private func has(_ phone: Phone, _ tracked: JSON, _ key: String) -> Int? {
    versions(phone, key).last ?? tracked["items"].array.first { $0["key"].string == key }?["version"].int
  }

  private func code(_ body: () async throws -> Void) async throws -> Int? {
    do {
      try await body()
      return nil
    } catch let fault as Phone.Fault { return fault.code }
  }

  @Test("Many who watch cost one question at a time, and each new version reaches those alone who track the key")
  func onePoll() async throws {
    try await withBackend(interval: "1h") { server, backend in
      answer(backend, item("a", 1))
      var phones: [(Phone, JSON)] = []
      for number in 0..<30 {
        let phone = try await phone(of: "u\(number)", on: server)
        phones.append((phone, try await track(phone, ["a"], "u\(number)")))
      }
      #expect(await eventually { phones.allSatisfy { self.has($0.0, $0.1, "a") == 1 } })
      // The next round is an hour away: one question answered all thirty.
      #expect(asked(backend) == [["a"]])
      #expect(backend.requests(Self.path)[0].body["channel"].string == "votes")
      #expect(backend.requests(Self.path)[0].body["client"].isNull)
      answer(backend, item("b", 5))
      let other = try await phone(of: "other", on: server)
      let tracked = try await track(other, ["b"], "other")
      #expect(tracked["expires"].bool == true && (1...600).contains(tracked["ttl"].int ?? 0))
      #expect(await eventually { self.has(other, tracked, "b") == 5 })
      #expect(asked(backend) == [["a"], ["b"]])
      #expect(phones.allSatisfy { versions($0.0, "b").isEmpty } && versions(other, "a").isEmpty)
    }
  }

  @Test("Changes come with the rounds, to each once; a key that is gone is told; and untracking ends the questions")
  func rounds() async throws {
    try await withBackend { server, backend in
      answer(backend, item("a", 1) + "," + item("b", 1))
      let (ada, bob) = (try await phone(of: "ada", on: server), try await phone(of: "bob", on: server))
      let adas = try await track(ada, ["a", "b"], "ada")
      let bobs = try await track(bob, ["a"], "bob")
      #expect(await eventually { self.has(ada, adas, "b") == 1 && self.has(bob, bobs, "a") == 1 })
      answer(backend, item("a", 2) + "," + item("b", 1))
      #expect(await eventually { self.versions(ada, "a").last == 2 && self.versions(bob, "a").last == 2 })
      let before = backend.requests(Self.path).count
      #expect(await eventually { backend.requests(Self.path).count > before + 2 })
      #expect(versions(ada, "a").filter { $0 == 2 }.count == 1 && versions(ada, "b").count <= 1)
      #expect(backend.requests(Self.path).last?.body["items"].array.allSatisfy { $0["version"].int != nil } == true)
      // Who says that they have none get it along with the answer.
      #expect(try await track(bob, ["a"], "bob")["items"].array.map { $0["version"].int } == [2])

      answer(backend, #"{"key":"a","removed":true}"#)
      #expect(await eventually { ada.publications("votes").last?["removed"].bool == true })
      #expect(await eventually { bob.publications("votes").last?["removed"].bool == true })
      #expect(await eventually { self.asked(backend).last == ["b"] })

      try await ada.ask(#""sub_refresh":{"channel":"votes","type":2,"untrack":["b"]}"#)
      // A key that is tracked from here on shows that the clock goes on, and the other is not asked for any more.
      try await track(bob, ["c"], "bob")
      #expect(await eventually { self.asked(backend).last == ["c"] })
      let questions = asked(backend).count
      #expect(await eventually { self.asked(backend).count > questions + 2 })
      #expect(asked(backend)[questions...].allSatisfy { $0 == ["c"] })
    }
  }

  @Test("Without versions, data that differs is new, and whoever comes later gets what is known at once")
  func versionless() async throws {
    try await withBackend(mode: "versionless") { server, backend in
      answer(backend, #"{"key":"a","data":"one"}"#)
      let ada = try await phone(of: "ada", on: server)
      try await track(ada, ["a"], "ada")
      #expect(await eventually { ada.publications("votes").map { $0["data"].string } == ["one"] })
      #expect(backend.requests(Self.path).allSatisfy { $0.body["items"][0]["version"].isNull })
      let late = try await phone(of: "late", on: server)
      #expect(try await track(late, ["a"], "late")["items"][0]["data"].string == "one")
      answer(backend, #"{"key":"a","data":"two"}"#)
      #expect(await eventually { ada.publications("votes").map { $0["data"].string } == ["one", "two"] })
      #expect(await eventually { late.publications("votes").map { $0["data"].string } == ["two"] })
    }
  }

  @Test("A backend that fails is asked less and less, and what it says in the end arrives")
  func failures() async throws {
    try await withBackend { server, backend in
      backend.answer(Self.path, .status(500))
      let ada = try await phone(of: "ada", on: server)
      let tracked = try await track(ada, ["a"], "ada")
      #expect(await eventually { backend.requests(Self.path).count >= 3 })
      backend.answer(Self.path, .json(#"{"error":{"code":1000,"message":"not today"}}"#))
      let before = backend.requests(Self.path).count
      #expect(await eventually { backend.requests(Self.path).count > before })
      answer(backend, item("a", 1))
      #expect(await eventually { self.has(ada, tracked, "a") == 1 })
      #expect(ada.closing == nil)
    }
  }

  @Test("Keys that were not signed for this user, and more than a client may track, are refused")
  func refusals() async throws {
    try await withBackend(["channel.without_namespace.poll_max_keys_per_client=2"]) { server, backend in
      answer(backend, "")
      let ada = try await phone(of: "ada", on: server)
      #expect(try await code { try await self.track(ada, ["a"], "bob") } == 103)
      #expect(try await code { try await self.track(ada, ["a", "b", "c"], "ada") } == 106)
      #expect(try await code { try await ada.subscribe("other") } == 107)
      #expect(try await code { try await ada.ask(#""publish":{"channel":"votes","data":1}"#) } == 103)
      #expect(backend.requests(Self.path).isEmpty)
    }
  }

  @Test("When the backend's versions begin anew, clients subscribe anew")
  func epochs() async throws {
    try await withBackend { server, backend in
      func answer(_ epoch: String, _ version: Int) {
        backend.answer(
          Self.path, .json("{\"result\":{\"epoch\":\"\(epoch)\",\"items\":[\(self.item("a", version))]}}"))
      }
      answer("one", 9)
      let ada = try await phone(of: "ada", on: server)
      try await track(ada, ["a"], "ada")
      #expect(await eventually { ada.unsubscribed("votes") == 2500 })
      #expect(try await ada.subscribe("votes", ",\"type\":4")["epoch"].string == "one")
      let tracked = try await track(ada, ["a"], "ada")
      #expect(await eventually { self.has(ada, tracked, "a") == 9 })
      let before = ada.pushes.count
      answer("two", 1)
      #expect(await eventually { ada.pushes[before...].contains { $0["unsubscribe"]["code"].int == 2500 } })
      #expect(try await ada.subscribe("votes", ",\"type\":4")["epoch"].string == "two")
      let again = try await track(ada, ["a"], "ada")
      #expect(await eventually { self.has(ada, again, "a") == 1 })
    }
  }
}
