import Testing

@testable import Gateway

@Suite("Names on the demo's page")
struct DemoNameTests {
  @Test(
    "A name is shown as it was typed, and its id is lower case without anything that channels' names use",
    arguments: [
      ("Ada", "Ada", "ada"), ("  Ada   Lovelace ", "Ada Lovelace", "ada-lovelace"), ("O'Brien", "O'Brien", "o-brien"),
      ("Zoë", "Zoë", "zoë"), ("李雷", "李雷", "李雷"), ("Jean-Luc", "Jean-Luc", "jean-luc"), ("R2D2", "R2D2", "r2d2"),
      ("-ada-", "-ada-", "ada"),
    ])
  func taken(text: String, name: String, user: String) throws {
    let found = try DemoName(text)
    #expect(found.name == name && found.user == user)
    // Whoever signs in with the id is the same person.
    #expect(try DemoName(found.user).user == user)
  }

  @Test(
    "What is no name is refused with a sentence",
    arguments: [
      ("", DemoName.Refusal.empty), ("   ", .empty), ("'- '", .empty), (String(repeating: "a", count: 41), .tooLong),
      (String(repeating: "李", count: 41), .tooLong), (String(repeating: " ", count: 10_000), .tooLong),
      ("a#b", .character), ("a,b", .character), ("a:b", .character), ("$ada", .character), ("a\nb", .character),
      ("a\u{0}b", .character), ("<b>ada</b>", .character), ("ada/..", .character), ("a\u{202E}b", .character),
      ("👋", .character),
    ])
  func refused(text: String, why: DemoName.Refusal) {
    #expect(throws: why) { try DemoName(text) }
    #expect(!"\(why)".isEmpty)
  }

  @Test("The longest names are taken")
  func longest() throws {
    #expect(try DemoName(String(repeating: "a", count: 40)).user.count == 40)
    #expect(try DemoName(String(repeating: "李", count: 40)).user.utf8.count == 120)
  }
}
