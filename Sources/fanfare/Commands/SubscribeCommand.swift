import ArgumentParser
import Auth
import FanfareClient
import Foundation
import Settings
import Wire

struct SubscribeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "subscribe",
    abstract: "Print what is published on channels, one JSON line for each publication.",
    discussion: """
      Connects as a WebSocket client. Survives restarts of the server: reconnects, recovers what was missed, and says \
      so on standard error. Without --token it signs itself one with the local server's secret.
      """)

  @OptionGroup var options: SettingsOptions

  @Argument(help: "The channels.")
  var channels: [String]

  @Option(name: .shortAndLong, help: "The server's WebSocket address; the local server's where it is left out.")
  var url: String?

  @Option(name: .shortAndLong, help: "A connection token.")
  var token: String?

  @Option(name: .long, help: "For wss: a PEM file with the authorities to trust, instead of the system's.")
  var ca: String?

  @Option(name: .long, help: "The user of a token signed here.")
  var user = "fanfare-cli"

  @Option(name: .long, help: ArgumentHelp("Begin after this position; for one channel.", valueName: "epoch:offset"))
  var since: String?

  @Option(name: .long, help: "End after so many publications.")
  var count: Int?

  func validate() throws {
    if channels.isEmpty { throw ValidationError("name a channel, for example: fanfare subscribe news") }
    if since != nil && channels.count > 1 { throw ValidationError("--since goes with one channel") }
    if let count, count < 1 { throw ValidationError("--count \(count): write 1 or more") }
  }

  func run() async throws {
    let settings = try options.load()
    let url = url ?? Self.localURL(settings)
    let minter = token == nil ? try LocalSecret.minter(for: settings) : nil
    var clientOptions = RealtimeClient.Options()
    clientOptions.name = "fanfare-cli"
    clientOptions.version = Fanfare.version
    if let minter {
      let user = user
      clientOptions.tokenProvider = { try minter.connectionToken(user: user, expiresIn: 3600) }
    }
    clientOptions.certificateAuthorities = ca
    let client: RealtimeClient
    do { client = try RealtimeClient(url: url, token: token ?? "", options: clientOptions) } catch {
      throw Complaint("\(error)")
    }
    let watcher = Task { await report(client) }
    defer { watcher.cancel() }
    do { try await client.connect() } catch { throw Complaint("\(url): \(error)") }
    try await follow(client, minter)
    await client.disconnect()
  }

  /// The local server's address, as the server wrote it down when it started: with port 0 the system chose the port, or one
  /// was given on the server's command line.
  private static func localURL(_ settings: Settings) -> String {
    Endpoints.websocket(in: settings.data.directory)
      ?? "ws://127.0.0.1:\(settings.server.port)/connection/websocket"
  }

  private func follow(_ client: RealtimeClient, _ minter: TokenMinter?) async throws {
    let user = user
    let since = try since.map(SincePosition.parse)
    let remaining = Remaining(count)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for channel in channels {
        var options = SubscriptionOptions(since: since, recoverable: true)
        if let minter {
          options.tokenProvider = { try minter.subscriptionToken(user: user, channel: channel, expiresIn: 3600) }
        }
        let subscription = try await client.subscribe(channel, options)
        group.addTask { try await Self.print(subscription, remaining) }
      }
      // The first task to end ends all: enough was printed, or a subscription was refused.
      try await group.next()
      group.cancelAll()
    }
  }

  private static func print(_ subscription: Subscription, _ remaining: Remaining) async throws {
    var epoch = ""
    for await event in subscription.events {
      switch event {
      case .subscribed(let position, let wasRecovering, let recovered):
        epoch = position?.epoch ?? ""
        if wasRecovering && !recovered {
          note("\(subscription.channel): some publications were missed and could not be recovered")
        } else {
          let place = position.map { " at \($0.epoch):\($0.offset)" } ?? ""
          note("\(subscription.channel): \(wasRecovering ? "recovered" : "subscribed")\(place)")
        }
      case .gap(let gap):
        let what = gap.missing.map { "offsets \($0.lowerBound) to \($0.upperBound)" } ?? "any offsets"
        note("\(subscription.channel): the server does not give \(what) (\(gap.reason.rawValue))")
      case .publication(let publication):
        var writer = JSONWriter()
        writer.object { writer in
          writer.write("channel", subscription.channel)
          if !epoch.isEmpty { writer.write("epoch", epoch) }
          writer.write(publication, binary: !JSONSyntax.isValid(publication.data))
        }
        // Each line is written at once: whoever reads a pipe wants it when it happens.
        FileHandle.standardOutput.write(Data(writer.bytes + [0x0A]))
        if await remaining.isUsedUp() { return }
      case .subscribing(let code): note("\(subscription.channel): interrupted (\(code.reason)), subscribing again")
      case .unsubscribed(let code):
        throw Complaint("\(subscription.channel): the subscription ended: \(code.reason) (\(code.code))")
      case .join, .leave: break
      }
    }
  }

  private func report(_ client: RealtimeClient) async {
    for await state in await client.states() {
      switch state {
      case .connecting: break
      case .connected(let client): Self.note("connected as \(client)")
      case .disconnected(let code, let willReconnect):
        Self.note("disconnected: \(code.reason) (\(code.code))\(willReconnect ? ", reconnecting" : "")")
      }
    }
  }

  private static func note(_ sentence: String) {
    FileHandle.standardError.write(Data("\(sentence)\n".utf8))
  }

  /// How many publications are still to be printed, over all channels.
  private actor Remaining {
    private var count: Int?

    init(_ count: Int?) { self.count = count }

    func isUsedUp() -> Bool {
      guard let left = count else { return false }
      count = left - 1
      return left <= 1
    }
  }
}
