import Testing
import Wire

@testable import Broker

@Suite("What users ask about their own data, weighed")
struct AccountDeskTests {
  private static func desk(perDay: Int = 2) -> AccountDesk {
    AccountDesk(AccountRules(allowsExport: true, exportsPerDay: perDay))
  }

  /// What the desk refuses, or the broker's cursor.
  private static func begin(
    _ user: String, from page: String = "", at now: Int64 = 0, _ desk: inout AccountDesk
  ) -> Result<String, ClientError> {
    Result { () throws(ClientError) in try desk.begin(user, from: page, at: now) }
  }

  private static func code(_ result: Result<String, ClientError>) -> UInt32? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  @Test("without the setting it answers nobody")
  func off() {
    var desk = AccountDesk(AccountRules())
    #expect(Self.code(Self.begin("ada", &desk)) == ClientError.notAvailable.code)
  }

  @Test("an export goes on from its last page, or from the one before where the answer was lost, and from nothing else")
  func pages() throws {
    var desk = Self.desk()
    #expect(try Self.begin("ada", &desk).get() == "")
    let first = desk.end("ada", next: "d.1.2.3.of eve")
    #expect(!first.contains("eve"), "a cursor of the broker names others")
    #expect(try Self.begin("ada", from: first, &desk).get() == "d.1.2.3.of eve")
    let second = desk.end("ada", next: "m.1")
    #expect(try Self.begin("ada", from: first, &desk).get() == "d.1.2.3.of eve")
    let again = desk.end("ada", next: "m.1")
    #expect(Self.code(Self.begin("ada", from: second, &desk)) == ClientError.badRequest.code)
    #expect(try Self.begin("ada", from: again, &desk).get() == "m.1")
    #expect(desk.end("ada", next: "").isEmpty)
    for foreign in ["d.1.2.3.of eve", "999", "x"] {
      #expect(Self.code(Self.begin("ada", from: foreign, &desk)) == ClientError.badRequest.code)
    }
    #expect(Self.code(Self.begin("bob", from: again, &desk)) == ClientError.badRequest.code, "a cursor is one person's")
  }

  @Test("one page of a user at a time, and two of all users")
  func atATime() {
    var desk = Self.desk(perDay: 100)
    #expect(Self.code(Self.begin("ada", &desk)) == nil)
    #expect(Self.code(Self.begin("ada", &desk)) == ClientError.tooManyRequests.code)
    #expect(Self.code(Self.begin("bob", &desk)) == nil)
    #expect(Self.code(Self.begin("eve", &desk)) == ClientError.tooManyRequests.code)
    _ = desk.end("ada", next: "")
    _ = desk.end("ada", next: "")
    #expect(Self.code(Self.begin("eve", &desk)) == nil)
    #expect(Self.code(Self.begin("joe", &desk)) == ClientError.tooManyRequests.code, "an end counts once")
  }

  @Test("exports are begun as often as a day allows, and pages of one do not count")
  func perDay() throws {
    var desk = Self.desk(perDay: 2)
    for _ in 0..<2 {
      #expect(Self.code(Self.begin("ada", at: 1000, &desk)) == nil)
      var page = desk.end("ada", next: "d")
      for _ in 0..<20 {
        _ = try Self.begin("ada", from: page, at: 1000, &desk).get()
        page = desk.end("ada", next: "d")
      }
    }
    #expect(Self.code(Self.begin("ada", at: 1000, &desk)) == ClientError.tooManyRequests.code)
    #expect(Self.code(Self.begin("bob", at: 1000, &desk)) == nil)
    _ = desk.end("bob", next: "")
    #expect(Self.code(Self.begin("ada", at: 1000 + AccountDesk.day / 2, &desk)) == nil)
  }

  @Test("it remembers no more users than it may, and forgets those whom nothing is held against")
  func bounded() {
    var desk = Self.desk(perDay: 1)
    for number in 0..<AccountDesk.mostUsers {
      #expect(Self.code(Self.begin("u\(number)", at: 0, &desk)) == nil)
      _ = desk.end("u\(number)", next: "")
    }
    #expect(Self.code(Self.begin("late", at: 1, &desk)) == ClientError.tooManyRequests.code)
    #expect(Self.code(Self.begin("late", at: AccountDesk.day + 1, &desk)) == nil)
  }
}
