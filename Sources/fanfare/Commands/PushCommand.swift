import ArgumentParser
import Auth
import Foundation
import Push
import Settings

/// What an operator does about notifications.
struct PushCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push", abstract: "Make the key by which browsers' push services know this server.",
    subcommands: [Keys.self])

  struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the public key for browsers; without a key, make one in the data folder.",
      discussion: """
        The public key alone goes to standard output: pages give it to PushManager.subscribe() as \
        applicationServerKey. The private key is the configured one, or that of a file in the data folder, which is \
        made where there is none and never replaced: with another key all browsers have to subscribe anew. Run this \
        with the server's configuration and as its user.
        """)

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      let settings = try options.load()
      if let key = try PushSetup.vapidKey(settings.push.web) { return print(key.publicText) }
      let folder = settings.data.directory
      let path = "\(folder)/\(PushSetup.keyName)"
      try DataFolderSetup.create(folder)
      let key = try Self.key(in: folder, path)
      print(key.publicText)
      let advice = """
        the private key is in \(path), of which you need a copy in your backup. To use it, write into the configuration:
          "push": {"web": {"vapid_private_key_file": "\(path)", "subject": "mailto:you@example.com"}}

        """
      FileHandle.standardError.write(Data(advice.utf8))
    }

    /// The key of the file, which is made where there is none.
    private static func key(in folder: String, _ path: String) throws -> VAPIDKey {
      do {
        let text = try SecretFile.keep(try VAPIDKey().privateText(), as: PushSetup.keyName, in: folder)
        return try VAPIDKey(text)
      } catch let error as VAPIDKey.Invalid {
        throw Complaint("the file \(path) \(error)")
      } catch {
        throw Complaint("\(error)")
      }
    }
  }
}
