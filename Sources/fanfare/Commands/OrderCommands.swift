import ArgumentParser
import Settings
import Wire

/// Which connections a command is about.
struct TargetOptions: ParsableArguments, CustomStringConvertible {
  @Option(name: .long, help: "All connections of this user.")
  var user: String?

  @Option(name: .long, help: "The connection with this client id, as presence and publications show it.")
  var client: String?

  @Option(name: .long, help: "The connection with this session id, which the client itself was told.")
  var session: String?

  func validate() throws {
    if user == nil && client == nil && session == nil {
      throw ValidationError("say whom: --user, --client or --session")
    }
  }

  /// The connections as a sentence names them.
  var description: String {
    let parts = [("user", user), ("client", client), ("session", session)]
    return parts.compactMap { kind, name in name.map { "\(kind) \($0)" } }.joined(separator: ", ")
  }

  func write(to writer: inout JSONWriter) {
    if let user { writer.write("user", user) }
    if let client { writer.write("client", client) }
    if let session { writer.write("session", session) }
  }
}

struct DisconnectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disconnect", abstract: "End somebody's connections, on every gateway.",
    discussion: """
      Returns when every gateway has done so. A client may connect again unless the code is a final one, as the \
      standard code is for its SDK, and its token is revoked ('fanfare revoke').
      """)

  @OptionGroup var services: ServiceOptions
  @OptionGroup var target: TargetOptions

  @Option(name: .long, help: "A client id that is spared; may be given more than once.")
  var whitelist: [String] = []

  @Option(name: .long, help: "The close code, 3000 to 4999; clients come back below 3500 and from 4000 to 4499.")
  var code: UInt32?

  @Option(name: .long, help: "The reason that goes with it.")
  var reason: String?

  func run() async throws {
    var writer = JSONWriter()
    writer.object { writer in
      target.write(to: &writer)
      if !whitelist.isEmpty {
        writer.list("whitelist") { writer in for client in whitelist { writer.write(element: client) } }
      }
      if let code { writer.write("code", code) }
      if let reason { writer.write("reason", reason) }
    }
    _ = try services.answer(to: "disconnect", writer.bytes)
    let spared = whitelist.isEmpty ? "" : ", but not client \(whitelist.joined(separator: ", "))"
    print("disconnected on every gateway: \(target)\(spared)")
  }
}

struct UnsubscribeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unsubscribe", abstract: "End somebody's subscription to a channel, on every gateway.",
    discussion: "Whoever may subscribe may do so again: change that first, or revoke the token.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The channel.")
  var channel: String

  @OptionGroup var target: TargetOptions

  @Option(name: .long, help: "The code, 2000 to 2999; clients subscribe anew from 2500 on.")
  var code: UInt32?

  @Option(name: .long, help: "The reason that goes with it.")
  var reason: String?

  func run() async throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("channel", channel)
      target.write(to: &writer)
      if let code { writer.write("code", code) }
      if let reason { writer.write("reason", reason) }
    }
    _ = try services.answer(to: "unsubscribe", writer.bytes)
    print("unsubscribed from \(channel) on every gateway: \(target)")
  }
}

struct RevokeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Revoke a token by its id, or a user's tokens by when they were issued.",
    discussion: """
      Returns when it is on disk and every gateway has ended what was granted by these tokens: what is published from \
      then on reaches nobody by them.
      """)

  @OptionGroup var services: ServiceOptions

  @Option(name: .long, help: "The token's id: its jti.")
  var token: String?

  @Option(name: .long, help: "The user whose tokens are revoked.")
  var user: String?

  @Option(name: .long, help: "Those issued (iat) before this time, in seconds since 1970; all until now if left out.")
  var issuedBefore: Int64?

  @Option(name: .long, help: "Of the user only subscription tokens for this channel.")
  var channel: String?

  @Option(
    name: .long, help: "Seconds since 1970 after which no such token can be valid, so that it need not be remembered.")
  var expireAt: Int64?

  func validate() throws {
    if (token == nil) == (user == nil) { throw ValidationError("say either --token ID or --user USER") }
    if token != nil && (issuedBefore != nil || channel != nil) {
      throw ValidationError("--issued-before and --channel go with --user")
    }
  }

  /// What is revoked, as a sentence names it.
  private var revoked: String {
    if let token { return "token \(token)" }
    let whose = "\(channel.map { "subscription tokens for \($0)" } ?? "tokens") of user \(user ?? "")"
    return "\(whose), issued before \(issuedBefore.map { "\($0)" } ?? "now")"
  }

  func run() async throws {
    var writer = JSONWriter()
    writer.object { writer in
      if let token { writer.write("uid", token) }
      if let user { writer.write("user", user) }
      if let issuedBefore { writer.write("issued_before", issuedBefore) }
      if let channel { writer.write("channel", channel) }
      if let expireAt { writer.write("expire_at", expireAt) }
    }
    _ = try services.answer(to: token == nil ? "invalidate_user_tokens" : "revoke_token", writer.bytes)
    print("revoked on every gateway: \(revoked)")
  }
}
