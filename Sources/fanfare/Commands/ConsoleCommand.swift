import ArgumentParser
import Foundation
import Settings

/// The web console's password, in the data folder: while the server runs, or before it starts.
struct ConsoleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "console", abstract: "Make a password for the web console.", subcommands: [Password.self])

  struct Password: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a new password: it alone goes to standard output, and is shown this once.",
      discussion: """
        The former password counts no more, and whoever is signed in signs in anew: a server that runs takes the change \
        within a second. The data folder keeps a hash of the password and not the password. Run this on the server's \
        machine, with the server's configuration and as its user.
        """)

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      let settings = try options.load()
      guard settings.console.passwordFile.isEmpty else {
        throw Complaint(
          "console.password_file is \(settings.console.passwordFile), so the password is what stands there; write a new "
            + "one there, or leave the setting out")
      }
      try DataFolderSetup.create(settings.data.directory)
      print(try ConsoleSetup.newPassword(in: settings.data.directory))
      FileHandle.standardError.write(
        Data("made the console's password, which is shown this once: keep it where you keep yours\n".utf8))
    }
  }
}
