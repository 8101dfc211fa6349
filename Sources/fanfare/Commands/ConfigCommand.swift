import ArgumentParser
import Foundation
import Settings
import ZeroMQ

struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Check a configuration file, or print the defaults.",
    subcommands: [Check.self, Defaults.self, CurveKeys.self])

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say what is wrong with a file, line by line.")

    @Argument(help: "The configuration file.")
    var file: String

    func run() throws {
      do { try Settings.check(file) } catch { throw Complaint("\(error)") }
      print("\(file) is fine.")
    }
  }

  struct Defaults: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print every key with its default, as JSON.",
      discussion: """
        The lists channel.namespaces and webhooks are empty by default: each of their objects has a name and options, \
        which docs/CONFIGURATION.md lists.
        """)

    func run() { print(Settings.defaultsJSON()) }
  }

  struct CurveKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "curve",
      abstract:
        "Make a CURVE key pair for a broker or a gateway: the secret into a file, the public key on standard output.")

    @Argument(help: "File for the secret key; must not exist yet.")
    var file: String

    func run() throws {
      let keys = try Curve.KeyPair.generate()
      let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL, 0o600)
      guard descriptor >= 0 else {
        throw Complaint(
          "\(file) cannot be made: \(unsafe String(cString: strerror(errno))). Name a file that does not exist")
      }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      try handle.write(contentsOf: Data("\(keys.secretKey.z85)\n".utf8))
      print(keys.publicKey.z85)
    }
  }
}
