import ArgumentParser
import Foundation
import Wire

struct UserSuspendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suspend", abstract: "Send a user away and let them in no more, until it is lifted or over.",
    discussion: "Returns when it is on disk and every gateway has done so. What the server keeps of the user stays.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The user's id.")
  var user: String

  @Option(name: .long, help: "Hours after which it ends; without it, it holds until it is lifted.")
  var hours: Int?

  @Option(name: .long, help: "Why, for other operators. The user is not told.")
  var reason: String?

  func validate() throws {
    if let hours, !(1...876_000).contains(hours) { throw ValidationError("--hours \(hours): write 1 to 876000") }
  }

  func run() async throws {
    _ = try services.answer("user_suspend", user: user) { writer in
      if let hours { writer.write("expire_at", Int64(Date().timeIntervalSince1970) + Int64(hours) * 3600) }
      if let reason { writer.write("reason", reason) }
    }
    print("suspended: user \(user), \(hours.map { "for \($0) hours" } ?? "until 'fanfare user unsuspend'")")
  }
}

struct UserUnsuspendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unsuspend", abstract: "Lift a suspension.")

  @OptionGroup var services: ServiceOptions

  @Argument(help: "The user's id.")
  var user: String

  func run() async throws {
    _ = try services.answer("user_unsuspend", user: user)
    print("not suspended: user \(user)")
  }
}

struct UserSuspensionsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suspensions", abstract: "Print who is suspended, why and until when.")

  @OptionGroup var services: ServiceOptions

  func run() async throws {
    try services.printAnswer(to: "user_suspensions", Array("{}".utf8))
  }
}
