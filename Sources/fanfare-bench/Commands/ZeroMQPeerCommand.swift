import ArgumentParser
import Bench

/// The server that the bench starts as the peer `libzmq`.
struct ZeroMQPeerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zmq-peer", abstract: "Pass on publications with plain libzmq.", shouldDisplay: false)

  @Option(help: "Port of 127.0.0.1 for subscribers; publishers connect to the next one.")
  var port: Int

  func validate() throws {
    guard (1...65_534).contains(port) else { throw ValidationError("--port must be between 1 and 65534.") }
  }

  func run() throws {
    try ZeroMQPublisher.run(port: port)
  }
}
