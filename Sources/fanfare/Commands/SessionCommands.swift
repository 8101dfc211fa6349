import ArgumentParser
import Settings
import Wire

struct SubscribeUserCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "subscribe-user", abstract: "Subscribe somebody's connections to a channel, on every gateway.",
    discussion: """
      The subscription is the server's: the client did not ask for it and cannot end it, and it lasts as long as the \
      connection. 'fanfare unsubscribe' ends it.
      """)

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The channel.")
  var channel: String

  @OptionGroup var target: TargetOptions

  @Option(name: .long, help: "JSON that others see of the subscriber on this channel.")
  var info: String?

  @Option(name: .long, help: "JSON that the client is told with the subscription.")
  var data: String?

  @Option(name: .long, help: ArgumentHelp("Send what was published after this position.", valueName: "epoch:offset"))
  var since: String?

  func validate() throws {
    for (name, text) in [("--info", info), ("--data", data)] {
      if let text, !JSONSyntax.isValid(Array(text.utf8)) { throw ValidationError("\(name) \(text): write JSON") }
    }
  }

  func run() async throws {
    let since = try since.map(SincePosition.parse)
    var writer = JSONWriter()
    writer.object { writer in
      writer.write("channel", channel)
      target.write(to: &writer)
      if let info { writer.write("info", raw: Array(info.utf8)) }
      if let data { writer.write("data", raw: Array(data.utf8)) }
      if let since {
        writer.object("recover_since") { writer in
          writer.write("epoch", since.epoch)
          writer.write("offset", since.offset)
        }
      }
    }
    _ = try services.answer(to: "subscribe", writer.bytes)
    print("subscribed to \(channel) on every gateway: \(target)")
  }
}

struct RefreshCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "Say when somebody's connections expire, on every gateway.",
    discussion: "A connection that expires is closed unless its client comes with a new token in time.")

  @OptionGroup var services: ServiceOptions
  @OptionGroup var target: TargetOptions

  @Option(name: .long, help: "Seconds since 1970; never where neither this nor --expired is given.")
  var expireAt: Int64?

  @Flag(name: .long, help: "They expire now.")
  var expired = false

  func validate() throws {
    if expired && expireAt != nil { throw ValidationError("say either --expired or --expire-at TIME") }
  }

  func run() async throws {
    var writer = JSONWriter()
    writer.object { writer in
      target.write(to: &writer)
      if let expireAt { writer.write("expire_at", expireAt) }
      if expired { writer.write("expired", true) }
    }
    _ = try services.answer(to: "refresh", writer.bytes)
    let when = expired ? "expire now" : expireAt.map { "expire at \($0)" } ?? "never expire"
    print("on every gateway, these connections \(when): \(target)")
  }
}
