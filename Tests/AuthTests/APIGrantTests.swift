import Auth
import Testing
import Wire

@Suite("What a key of the server API may do")
struct APIGrantTests {
  private static let read = ["presence", "presence_stats", "history", "channels", "info", "map_get", "map_list", "why"]
  private static let write = ["publish", "broadcast", "edit", "delete", "history_remove", "map_set", "map_remove"]
  private static let control = [
    "subscribe", "unsubscribe", "disconnect", "refresh", "revoke_token", "invalidate_user_tokens",
  ]
  private static let webhooks = ["webhooks_list", "webhook_given_up", "webhook_resend"]
  private static let inspect = ["inspect_channel", "inspect_user", "inspect_client", "explain", "top"]
  private static let privacy = ["user_data", "user_export", "user_delete", "user_delete_status"]
  private static let support = ["clique_pair", "state_thread", "clique_groups", "clique_unblock"]
  private static let moderation = [
    "clique_reports", "clique_report", "clique_report_picture", "clique_report_settle", "user_suspend",
    "user_unsuspend", "user_suspensions",
  ]
  private static let push = ["push_send", "push_notify"]
  private static let every =
    read + write + control + inspect + webhooks + privacy + support + moderation + push + ["call"]

  private func refusal(_ method: String, _ channel: String? = "news", of grant: APIGrant) throws -> String? {
    grant.refusal(of: method, channel: try channel.map { try ChannelName($0) })
  }

  private func allowed(_ words: String...) throws -> Set<String> {
    let grant = try APIGrant(allow: words, channels: ["news"])
    let methods = Self.every + ["batch", "rpc", "Publish", ""]
    return Set(try methods.filter { try refusal($0, of: grant) == nil })
  }

  @Test("A method is allowed by its own name or by its group, and by nothing else")
  func methods() throws {
    let all = Set(Self.every)
    #expect(Set(APIMethod.allCases.map(\.rawValue)) == all && all.count == 47)
    #expect(try allowed() == [])
    #expect(try allowed("read") == Set(Self.read))
    #expect(try allowed("write") == Set(Self.write))
    #expect(try allowed("control") == Set(Self.control))
    #expect(try allowed("inspect") == Set(Self.inspect))
    #expect(try allowed("webhooks") == Set(Self.webhooks))
    #expect(try allowed("privacy") == Set(Self.privacy))
    #expect(try allowed("support") == Set(Self.support))
    #expect(try allowed("moderation") == Set(Self.moderation))
    #expect(try allowed("push") == Set(Self.push))
    #expect(try allowed("apps") == ["call"])
    #expect(try allowed("all") == all)
    #expect(try allowed("read", "publish", "publish") == Set(Self.read + ["publish"]))
    for method in all { #expect(try allowed(method) == [method]) }
  }

  @Test("What is missing is said as the key's grant would write it")
  func missing() throws {
    let grant = try APIGrant(allow: ["presence", "channels", "disconnect"], channels: ["chat:*"])
    #expect(try refusal("publish", "chat:42", of: grant) == "allow publish")
    #expect(try refusal("publish", "news", of: grant) == "allow publish")
    #expect(try refusal("presence", "chat:42", of: grant) == nil)
    #expect(try refusal("presence", "news", of: grant) == "channels news")
    let long = String(repeating: "m", count: 10_000)
    #expect(try refusal(long, nil, of: grant) == "allow \(long.prefix(64))")
  }

  @Test("A method that is about a channel is refused without one; one that is not has no need of it")
  func withoutChannel() throws {
    let all = try APIGrant(allow: ["all"], channels: ["*"])
    let none = try APIGrant(allow: ["all"], channels: [])
    let free = Set(
      ["disconnect", "refresh", "info", "revoke_token", "invalidate_user_tokens"] + Self.webhooks + Self.privacy
        + Self.support + Self.moderation + Self.push + ["call"])
    for method in APIMethod.allCases.map(\.rawValue) {
      let needsNone = free.contains(method) || ["channels", "inspect_user", "inspect_client", "top"].contains(method)
      #expect(try (refusal(method, nil, of: all) == nil) == needsNone, "\(method)")
      #expect(try (refusal(method, nil, of: none) == nil) == free.contains(method), "\(method)")
      #expect(try (refusal(method, "news", of: none) == nil) == free.contains(method), "\(method)")
      #expect(try APIGrant(allow: [method], channels: []).needsChannels == !free.contains(method), "\(method)")
    }
    #expect(try refusal("channels", nil, of: none) == "channels *")
  }

  @Test("A pattern means that channel or what begins so; * never means an app's channels")
  func patterns() throws {
    let broad = try APIGrant(allow: ["all"], channels: ["*", "cli*"])
    let narrow = try APIGrant(allow: ["all"], channels: ["news", "chat:*", "clique.pairs:*"])
    func uses(_ grant: APIGrant, _ name: String) throws -> Bool {
      let channel = try ChannelName(name)
      let isAllowed = grant.refusal(of: "publish", channel: channel) == nil
      #expect(isAllowed == grant.mayUse(channel))
      return isAllowed
    }
    for name in ["news", "chat:", "chat:42"] { #expect(try uses(broad, name) && uses(narrow, name), "\(name)") }
    for name in ["newsroom", "New", "chat", "clique"] {
      #expect(try uses(broad, name) && !uses(narrow, name), "\(name)")
    }
    for name in ["clique.pairs:a", "$clique.x", "state.pair:b", "$state.y"] {
      #expect(try !uses(broad, name) && uses(narrow, name) == (name == "clique.pairs:a"), "\(name)")
    }
  }

  @Test("A word that is no method, and a pattern that could mean nothing, are told")
  func mistakes() throws {
    for word in ["pubish", "Publish", "", "publish ", "*"] {
      #expect(throws: APIGrant.Invalid.unknownMethod(word)) { try APIGrant(allow: ["read", word], channels: []) }
    }
    let longest = String(repeating: "c", count: 255)
    for pattern in ["", "a*b", "**", "a\n", longest + "c", longest + "c*"] {
      #expect(throws: APIGrant.Invalid.badPattern(pattern)) { try APIGrant(allow: [], channels: ["ok", pattern]) }
    }
    #expect(try APIGrant(allow: [], channels: ["*", "a b", longest + "*", "dm:x#42,43"]).channels.count == 4)
    #expect(APIGrant.Invalid.unknownMethod("pub\u{1B}[1m").description.hasPrefix(#""pub\u{1B}[1m" is no method"#))
  }
}
