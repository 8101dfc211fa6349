import Foundation
import TestSupport
import Testing

/// What one user keeps in the journal and the favorites is bounded, and others notice nothing of who meets the bound.
@Suite("Quotas of users", .ownThread)
struct QuotaTests {
  private func set(_ phone: Phone, _ channel: String, _ key: String, _ data: String = "{}") async throws {
    try await phone.call("map.set", "{\"channel\":\"\(channel)\",\"key\":\"\(key)\",\"data\":\(data)}")
  }

  private func code(_ body: () async throws -> Void) async -> Int? {
    do { try await body() } catch { return (error as? Phone.Fault)?.code ?? -1 }
    return nil
  }

  @Test("A journal holds so many entries over all its channels, before and after kill -9; removing one makes room")
  func journal() async throws {
    let settings = ["channel.namespaces.journal.user_quota_entries=5"]
    try await PhoneHall.with(settings) { hall in
      var (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      let (days, trips) = ("journal:#ada", "journal:trips#ada")
      for number in 1...5 { try await set(ada, number < 4 ? days : trips, "\(number)") }
      for _ in 1...2 {
        let refusal = await #expect(throws: Phone.Fault.self) { try await set(ada, "journal:more#ada", "6") }
        #expect(refusal?.code == 106 && refusal?.message.contains("remove something") == true)
        try await set(ada, days, "1", "{\"again\":true}")
        try await set(bob, "journal:#bob", "6")
        try await set(ada, "favorites:#ada", "6")
        try await hall.killAndRestart()
        (ada, bob) = (try await hall.phone(of: "ada"), try await hall.phone(of: "bob"))
      }
      try await ada.call("map.remove", "{\"channel\":\"\(trips)\",\"key\":\"5\"}")
      try await hall.killAndRestart()
      ada = try await hall.phone(of: "ada")
      try await set(ada, "journal:more#ada", "6")
      #expect(await code { try await set(ada, trips, "7") } == 106)
    }
  }

  @Test("Favorites take so many bytes; what is large gives way to what is small; a service is not held to it")
  func favorites() async throws {
    let settings = ["channel.namespaces.favorites.user_quota_bytes=8KiB"]
    try await PhoneHall.with(settings) { hall in
      let ada = try await hall.phone(of: "ada")
      let own = "favorites:#ada"
      let large = "\"" + String(repeating: "x", count: 900) + "\""
      var count = 0
      while count < 50, await code({ try await set(ada, own, "\(count)", large) }) == nil { count += 1 }
      // An entry counts twice: it stands in the map, and for ten minutes among the map's changes.
      #expect((2...4).contains(count))
      #expect(await code { try await set(ada, own, "0", "\"" + String(repeating: "x", count: 4000) + "\"") } == 106)
      #expect(await code { try await set(ada, own, "0", "1") } == nil)
      let parameters = "{\"channel\":\"\(own)\",\"key\":\"a service's\"}"
      let answer = await hall.service().ask("publish", parameters, payload: large)
      #expect(answer?.isError == false)
      #expect(try await ada.call("map.list", "{\"channel\":\"\(own)\"}")["entries"].array.count == count + 1)
      for key in ["1", "a service's"] {
        try await ada.call("map.remove", "{\"channel\":\"\(own)\",\"key\":\"\(key)\"}")
      }
    }
  }

  @Test("A data folder that was filled before there was a quota is held to it from the next start")
  func laterQuota() async throws {
    let none = ["user_quota_bytes", "user_quota_entries"].map { "channel.namespaces.journal.\($0)=0" }
    try await PhoneHall.with(none) { hall in
      var ada = try await hall.phone(of: "ada")
      for number in 1...10 { try await set(ada, "journal:#ada", "\(number)") }
      try await hall.killAndRestart([
        "channel.namespaces.journal.user_quota_bytes=1MiB", "channel.namespaces.journal.user_quota_entries=10",
      ])
      ada = try await hall.phone(of: "ada")
      #expect(await code { try await set(ada, "journal:#ada", "11") } == 106)
      try await ada.call("map.remove", "{\"channel\":\"journal:#ada\",\"key\":\"10\"}")
      try await set(ada, "journal:#ada", "11")
    }
  }

  @Test("Beside somebody who goes on at the quota everybody else writes and reads, each thing once and in order")
  func neighbours() async throws {
    let settings = ["channel.namespaces.chat.user_quota_entries=20"]
    try await PhoneHall.with(settings) { hall in
      let (eve, ada) = (try await hall.phone(of: "eve"), try await hall.phone(of: "ada"))
      for phone in [eve, ada] { try await phone.subscribe("chat:42") }
      var refused = 0
      for number in 1...60 {
        let isRefused = await code { try await eve.ask("\"publish\":{\"channel\":\"chat:42\",\"data\":\"e\"}") } == 106
        if isRefused { refused += 1 }
        if number % 4 == 0 { try await ada.ask("\"publish\":{\"channel\":\"chat:42\",\"data\":\(number)}") }
      }
      #expect(refused == 40)
      #expect(await eventually { ada.publications("chat:42").count == 35 })
      let own = ada.publications("chat:42").compactMap { $0["data"].int }
      #expect(own == Array(stride(from: 4, through: 60, by: 4)))
      #expect(ada.publications("chat:42").map { $0["offset"].int } == Array(1...35))
      #expect(
        await eventually {
          hall.server.errorOutput.split(separator: "\n").contains {
            $0.contains("info") && $0.contains("cause=user_quota ") && $0.contains("eve")
          }
        })
    }
  }
}
