import HTTPClient
import Cryptography
import Testing

@testable import Push

@Suite("Tokens for APNs and FCM")
struct TokenTests {
  // MARK: APNs

  @Test("The token of APNs is used for 50 minutes, and never made anew before 20, whatever APNs says")
  func apnsState() {
    var state = APNsTokenState()
    #expect(state.step(at: 0) == .make)
    state.made("one", at: 0)
    #expect(state.step(at: 2999) == .use("one") && state.step(at: 3000) == .make)
    state.reject("one")
    #expect(state.step(at: 0) == .wait(1200) && state.step(at: 1199) == .wait(1) && state.step(at: 1200) == .make)
    state.made("two", at: 1200)
    state.reject("one")
    #expect(state.step(at: 1201) == .use("two"), "what is said of an earlier token changes nothing")
    state.reject("two")
    state.reject("two")
    #expect(state.step(at: 1300) == .wait(1100))
  }

  @Test("All calls share one token, which says who we are and when it was made")
  func apnsTokens() throws {
    let key = try PrivateKey(on: .p256)
    let tokens = APNsTokens(
      PushConfiguration.APNs(
        key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topics: ["com.example.app"], productionURL: "https://a",
        sandboxURL: "https://b"))
    let first = try tokens.token(now: 1_700_000_000, age: 5)
    let read = try ReadToken(first, key.publicKey)
    #expect(read.isSigned && read.header.text("alg") == "ES256" && read.header.text("kid") == "ABC123DEFG")
    #expect(read.claims.text("iss") == "DEF123GHIJ" && read.claims.text("iat") == "1700000000")
    #expect(try tokens.token(now: 1_700_000_100, age: 105) == first)
    #expect(try tokens.token(now: 0, age: 106) == first, "a clock that is set back changes nothing")
    #expect(tokens.reject(first, age: 110, reason: "expired") != .later(afterSeconds: 1, reason: "expired"))
    #expect(throws: PreparationFault.self) { try tokens.token(now: 1_700_000_200, age: 205) }
    let next = try tokens.token(now: 1_700_001_200, age: 1205)
    #expect(next != first)
    #expect(tokens.reject(first, age: 1206, reason: "expired") == .later(afterSeconds: 1, reason: "expired"))
    #expect(try tokens.token(now: 1_700_001_300, age: 1305) == next)
  }

  @Test("A name for APNs is a random UUID")
  func identifiers() {
    let id = APNsSender.newID()
    #expect(id.utf8.count == 36 && id.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
    #expect(Array(id)[14] == "4" && "89ab".contains(Array(id)[19]) && id != APNsSender.newID())
  }

  @Test("A device that names a topic which is not configured is not sent to")
  func topics() throws {
    let sender = try APNsSender(
      PushConfiguration.APNs(
        key: try PrivateKey(on: .p256), keyID: "A", teamID: "B", topics: ["com.example.app", "com.example.other"],
        productionURL: "https://production", sandboxURL: "https://sandbox"))
    let message = try PushMessage(title: "Ada", timeToLive: 0)
    func header(_ name: String, _ topic: String?) throws -> String? {
      let target = try ExampleDevice.apns(topic: topic)
      let call = try sender.call(message, to: .apns(target), target, now: 7, age: 0, milliseconds: 1).call
      #expect(call.url == "https://production/3/device/\(target.token)")
      return call.headers.first { $0.name == name }?.value
    }
    #expect(try header("apns-topic", nil) == "com.example.app")
    #expect(try header("apns-topic", "com.example.other") == "com.example.other")
    #expect(try header("apns-expiration", nil) == "0" && (try header("apns-collapse-id", nil)) == nil)
    #expect(throws: PreparationFault.self) { try header("apns-topic", "com.evil.app") }
    let sandbox = try APNsDevice(token: String(repeating: "0a", count: 32), environment: .sandbox)
    let call = try sender.call(message, to: .apns(sandbox), sandbox, now: 7, age: 0, milliseconds: 1).call
    #expect(call.url.hasPrefix("https://sandbox/3/device/"))
  }

  // MARK: FCM

  private typealias State = AccessTokenState<Int>

  private static func grant(_ token: String, _ lifetime: Int64 = 3600) -> AccessTokenAnswer.Verdict {
    .grant(.init(token: token, lifetime: lifetime))
  }

  @Test("Whoever asks for an access token while one is fetched waits for it, and not more than may")
  func waiting() {
    var state = State(mostWaiters: 3)
    #expect(state.ask(1, at: 0) == .fetch && state.ask(2, at: 0) == .wait && state.ask(3, at: 0) == .wait)
    guard case .over(.failed) = state.ask(4, at: 0) else {
      Issue.record("a fourth waits")
      return
    }
    #expect(state.finish(Self.grant("one"), at: 10) == [1, 2, 3])
    #expect(state.ask(5, at: 10) == .use("one") && state.ask(5, at: 10 + 3299) == .use("one"))
    #expect(state.ask(6, at: 10 + 3300) == .fetch)
    #expect(state.finish(Self.grant("two", 40), at: 4000) == [6])
    #expect(state.ask(7, at: 4019) == .use("two") && state.ask(7, at: 4020) == .fetch)
  }

  @Test("A failure is told to whoever asks in the next seconds, and for as long as Google asks for")
  func failing() {
    var state = State(mostWaiters: 3)
    let outcome = PushOutcome.refused("no")
    #expect(state.ask(1, at: 0) == .fetch && state.finish(.outcome(outcome), at: 5) == [1])
    #expect(state.ask(2, at: 14) == .over(outcome) && state.ask(2, at: 15) == .fetch)
    let later = PushOutcome.later(afterSeconds: 120, reason: "busy")
    #expect(state.finish(.outcome(later), at: 20) == [2])
    #expect(state.ask(3, at: 139) == .over(later) && state.ask(3, at: 140) == .fetch)
  }

  @Test("A token that FCM refuses is fetched anew, unless it was new: then somebody has to look")
  func rejecting() {
    var state = State(mostWaiters: 3)
    _ = state.ask(1, at: 0)
    _ = state.finish(Self.grant("one"), at: 0)
    #expect(state.reject("one", at: 60, reason: "r") == .later(afterSeconds: 1, reason: "r"))
    #expect(state.reject("one", at: 60, reason: "r") == .later(afterSeconds: 1, reason: "r"))
    #expect(state.ask(2, at: 61) == .fetch && state.finish(Self.grant("two"), at: 61) == [2])
    guard case .refused(let said) = state.reject("two", at: 70, reason: "r") else {
      Issue.record("a new token that is refused is fetched again and again")
      return
    }
    #expect(said.contains("push.fcm") && state.ask(3, at: 129) == .over(.refused(said)))
    #expect(state.ask(3, at: 130) == .fetch)
  }

  @Test("A service account is read from the file that Google gives out, and signs for its token")
  func account() throws {
    let account = try ServiceAccount(ExampleAccount.json())
    #expect(account.projectID == "an-app-1" && account.email.hasPrefix("push@"))
    let tokens = PushServiceParts.tokens(account)
    let read = try ReadToken(try tokens.assertion(at: 1000), account.key.publicKey)
    #expect(read.isSigned && read.header.text("alg") == "RS256" && read.header.text("kid") == "0a1b2c")
    #expect(read.claims.text("iss") == account.email && read.claims.text("aud") == account.tokenURL)
    #expect(read.claims.text("iat") == "1000" && read.claims.text("exp") == "4600")
    #expect(read.claims.text("scope")?.hasSuffix("firebase.messaging") == true)
  }

  @Test("What is no service account is refused with a sentence that says what is missing")
  func badAccounts() throws {
    let ecKey = try TestKeys.ec()
    let cases: [(String, String)] = [
      ("", "is no JSON object"), ("[]", "is no JSON object"), ("{}", "has no type"),
      (ExampleAccount.json(["type": "authorized_user"]), "is not of type service_account"),
      (ExampleAccount.json(["project_id": nil]), "has no project_id"),
      (ExampleAccount.json(["project_id": "../a"]), "has a project_id that is none"),
      (ExampleAccount.json(["client_email": ""]), "has no client_email"),
      (ExampleAccount.json(["private_key_id": nil]), "has no private_key_id"),
      (ExampleAccount.json(["private_key": "key"]), "has a private_key that is no RSA key"),
      (ExampleAccount.json(["private_key": ecKey]), "has a private_key that is no RSA key"),
      (ExampleAccount.json(["token_uri": "http://example.com"]), "has a token_uri that does not begin"),
    ]
    for (json, expected) in cases {
      do throws(ServiceAccount.Invalid) {
        _ = try ServiceAccount(json)
        Issue.record("\(expected): was taken")
      } catch {
        #expect(error.description.hasPrefix(expected), "\(error)")
      }
    }
  }
}
