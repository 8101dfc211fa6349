import ArgumentParser
import Auth
import Foundation
import Settings

struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Mint a connection token, with --channel a subscription token, with --place a place token.",
    discussion: """
      Signs with the secret that the server on this machine uses: the configured one, or the one that it made in its \
      data folder on first start. Your own backend mints tokens with any JWT library and the same secret.
      """)

  @OptionGroup var options: SettingsOptions

  @Argument(help: "The user: the token's sub.")
  var user: String

  @Option(
    name: .long,
    help: "How long it holds, for example 1h or 7d; 'never' for a token without end. Default: 24h; of a place token 5m."
  )
  var expires: String?

  @Option(name: .long, help: "Make it a subscription token for this channel.")
  var channel: String?

  @Option(name: .long, help: "Make it a place token, for clique.enter with this place; it holds for 15m at most.")
  var place: String?

  @Option(name: .long, help: "Channel that the connection is subscribed to by the server; may be given more than once.")
  var serverSide: [String] = []

  @Option(name: .long, help: "JSON that others see of this user.")
  var info: String?

  func validate() throws {
    guard let place else { return }
    guard channel == nil, serverSide.isEmpty, info == nil else {
      throw ValidationError("--place stands alone: a place token grants no channels and is shown to nobody")
    }
    guard !place.isEmpty, !user.isEmpty else { throw ValidationError("--place: name the user and the place") }
    guard let lifetime = try Self.seconds(expires ?? "5m"), lifetime <= PlaceClaims.longestLifetime else {
      throw ValidationError("--expires: a place token holds for at most 15m; write for example 5m")
    }
  }

  func run() async throws {
    let lifetime = try Self.seconds(expires ?? (place == nil ? "24h" : "5m"))
    let minter = try LocalSecret.minter(for: try options.load())
    let info = info.map { Array($0.utf8) }
    if let place {
      // The text was checked in validate().
      print(minter.placeToken(user: user, place: place, expiresIn: lifetime ?? PlaceClaims.longestLifetime))
    } else if let channel {
      print(try minter.subscriptionToken(user: user, channel: channel, expiresIn: lifetime, info: info))
    } else {
      print(try minter.connectionToken(user: user, expiresIn: lifetime, channels: serverSide, info: info))
    }
  }

  /// The seconds in a text such as `1h`; nil for `never`.
  static func seconds(_ text: String) throws -> Int64? {
    if text == "never" { return nil }
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count > 0, count < 1 << 32
    else {
      throw ValidationError("--expires \(text): write a number and s, m, h or d, for example 12h; or 'never'")
    }
    return count * unit
  }
}

/// The shared secret of the server on this machine.
enum LocalSecret {
  /// What signs tokens with the local server's secret.
  ///
  /// - Throws: a sentence that says where the secret was looked for.
  static func minter(for settings: Settings) throws -> TokenMinter {
    let audience = settings.token.audience
    let issuer = settings.token.issuer
    do {
      return try TokenMinter(
        hmacSecret: try secret(for: settings), audience: audience.isEmpty ? nil : audience,
        issuer: issuer.isEmpty ? nil : issuer)
    } catch let error as VerifierConfigurationError {
      throw Complaint("\(error)")
    }
  }

  static func secret(for settings: Settings) throws -> String {
    let token = settings.token
    if !token.hmacSecret.isEmpty { return token.hmacSecret }
    do throws(SecretFile.Fault) {
      if !token.hmacSecretFile.isEmpty { return try SecretFile.load(token.hmacSecretFile) }
      return try SecretFile.load("\(settings.data.directory)/\(SecretFile.name)")
    } catch {
      throw Complaint(
        "\(error)\nThe server makes its secret on first start: run this on the server's machine and in its folder, or "
          + "name the same configuration with --config.")
    }
  }
}
