import ArgumentParser
import Bench

/// The bare `send()` loop that servers are compared with.
struct FloorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "floor", abstract: "Serves publications by a bare send() loop: the yardstick.", shouldDisplay: false)

  @Option(help: "Port on 127.0.0.1; 0: any that is free.")
  var port: UInt16 = 0

  func run() throws {
    do throws(BenchError) {
      let server = try FloorServer(port: port)
      print("ws://127.0.0.1:\(server.port)")
      try server.run()
    } catch {
      throw ValidationError(error.description)
    }
  }
}
