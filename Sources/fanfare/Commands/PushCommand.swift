import ArgumentParser
import Auth
import Foundation
import Push
import Settings
import Wire

/// What an operator does about notifications.
struct PushCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push", abstract: "Make the key by which browsers' push services know this server, and try it.",
    subcommands: [Keys.self, Send.self])

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

  struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Have a running server send a notification, and show what became of it.",
      discussion: """
        The file holds a device as docs/PUSH.md describes it, or a list of up to 100 of them. The answer says for each \
        whether its service took the notification, and if not, why.
        """)

    /// Seconds: more than services have by default.
    private static let patience = 30

    @OptionGroup var services: ServiceOptions

    @Option(name: .long, help: "File with a device as JSON, or a list of devices.")
    var deviceFile: String

    @Option(name: .long, help: "The title.")
    var title: String

    @Option(name: .long, help: "The text below the title.")
    var body = ""

    func run() async throws {
      var writer = JSONWriter(capacity: 1024)
      let devices = try Self.devices(in: deviceFile)
      writer.object { writer in
        writer.write("devices", raw: devices)
        writer.write("title", title)
        writer.write("body", body)
      }
      var services = services
      services.timeout = max(services.timeout, Self.patience)
      try services.printAnswer(to: "push_send", writer.bytes)
    }

    /// The list of devices that a file holds, as JSON.
    private static func devices(in path: String) throws -> [UInt8] {
      guard let data = FileManager.default.contents(atPath: path) else {
        throw Complaint("the file \(path) cannot be read; name one that holds a device as JSON")
      }
      guard let value = try? JSONValue(parsing: Array(data)), value.array != nil || value.object != nil else {
        throw Complaint("the file \(path) holds no JSON object and no list; docs/PUSH.md shows what a device is")
      }
      let bytes = Array(value.bytes)
      return value.array == nil ? [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")] : bytes
    }
  }
}
