import ArgumentParser
import Bench
import Foundation

/// Measures a scenario with one server or several.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Measure a scenario, with one server or several in turns.",
    discussion: """
      A turn that cannot be trusted is marked invalid and says why. The exit code is 1 where a turn failed, where \
      anything was lost, came twice or out of order, and where a goal was missed that the run was to fail on; it is 2 \
      where such a goal is undecided.

      fanfare-bench run fanout --peers fanfare,floor,nats --html fanout.html
      fanfare-bench run fanout --subscribers 100 --rate 200 --turns 3
      fanfare-bench run fanout --require 'p99 <= 20ms' --require 'CPU per delivery <= 1.1x floor'
      fanfare-bench run --channels 100 --subscribers 20 --publishers 10 --rate 1000 --payload 256
      fanfare-bench run latency --url wss://example.com/connection/websocket --token T
      fanfare-bench run rooms --url ws://127.0.0.1:9001/ --sub 'S %C' --pub 'P %C %P'
      """)

  @Argument(help: "Name of a scenario, or a scenario's file. Left out: what the options below say is measured.")
  var scenario: String?

  @OptionGroup var folder: ScenarioFolderOption

  @Option(help: "Servers to measure, separated by commas: \(MeasurementRun.peerNames.joined(separator: ", ")).")
  var peers: String?

  @OptionGroup(title: "What is measured") var shape: ShapeOptions

  @OptionGroup(title: "What has to be reached") var goals: GoalOptions

  @Option(
    name: .customLong("server-set"), help: "A further setting of the Fanfare server, such as client.queue_bytes=4MiB.")
  var serverSettings: [String] = []

  @Option(help: "Write the whole result there; packed where the name ends with .json.gz.")
  var json: String?

  @Option(help: "Write a report there, one page that stands alone.")
  var html: String?

  @Option(help: "Measure this running server instead: ws://… or wss://….")
  var url: String?

  @Option(help: "Where publishers connect, if that differs.")
  var publishURL: String?

  @Option(
    help: """
      What the server at --url speaks: centrifuge (unless templates are given), clique, nats, mqtt, nchan, redis, \
      zmtp, floor or template. With clique, conversations of writer with reader-0, reader-1 … have to be open there.
      """)
  var dialect: String?

  @Option(help: "Text that subscribes at --url: %C is the channel, as in 'S %C'.")
  var sub: String?

  @Option(help: "Text that publishes at --url: %C is the channel, %P the payload, as in 'P %C %P'.")
  var pub: String?

  @Option(help: "Part of the text that confirms a subscription; left out: it counts as made once it was sent.")
  var subAck: String?

  @Option(help: "Part of the text that acknowledges a publication; left out: none is.")
  var pubAck: String?

  @Option(help: "Namespace of all channels at --url; left out: they have none.")
  var namespace: String?

  @Option(help: "Connection token for all clients.")
  var token: String?

  @Option(help: "File with the secret that signs a token for each client.")
  var secretFile: String?

  @Option(help: "File of certificates to trust for wss.")
  var trust: String?

  @Option(
    help: "Process id of the server at --url on this machine, for its CPU and memory; may be given more than once.")
  var pid: [Int32] = []

  @Flag(inversion: .prefixedNo, help: "Give server and generator cores of their own.")
  var pin = true

  @Flag(
    help: "Have the kernel stamp what arrives, to tell a generator that reads late from a server that sends late.")
  var kernelStamps = false

  @Flag(help: "Go on after a turn that failed or in which something was lost.")
  var keepGoing = false

  func run() throws {
    let gate: Gate
    do throws(BenchError) {
      let measurement = try measurement()
      let judged = try goals.judged(measurement.scenario)
      let progress = ProgressLine()
      let result = try measurement.perform { progress.show($0) }
      if let json { try result.write(to: json) }
      if let html { try HTMLReport.write([result], to: html) }
      print(TextReport.render(result), terminator: "")
      if result.turns.contains(where: \.isFailure) {
        throw BenchError("a turn failed, or something was lost; see above.")
      }
      gate = Gate(judged, of: result)
    } catch {
      throw CommandFailure(error.description)
    }
    try goals.end(with: gate)
  }

  private func measurement() throws(BenchError) -> MeasurementRun {
    var overrides = try shape.overrides()
    for (key, value) in [("sub", sub), ("pub", pub), ("sub_ack", subAck), ("pub_ack", pubAck)] {
      guard let value else { continue }
      guard url != nil else {
        throw BenchError(
          "--sub, --pub, --sub-ack and --pub-ack say how the server at --url is spoken to; give --url too.")
      }
      overrides.append(ScenarioFile.Override(path: "template.\(key)", text: value))
    }
    var scenario =
      if let name = self.scenario {
        try ScenarioFile.load(name, in: folder.scenarios, overrides: overrides)
      } else {
        try ScenarioFile.made(of: overrides)
      }
    if let peers { scenario.peers = peers.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
    for setting in serverSettings {
      guard setting.contains("=") else {
        throw BenchError("\"\(setting)\" sets nothing; write it like client.queue_bytes=4MiB.")
      }
      scenario.settings.append(setting)
    }
    try goals.add(to: &scenario, peers: url == nil ? scenario.peers : [MeasurementRun.Remote.name])
    var run = MeasurementRun(scenario, command: Self.command(CommandLine.arguments))
    (run.pins, run.keepsGoing, run.stampsArrivals) = (pin, keepGoing, kernelStamps)
    if let url { run.remote = try remote(url) }
    return run
  }

  private func remote(_ url: String) throws(BenchError) -> MeasurementRun.Remote {
    guard peers == nil else { throw BenchError("--url and --peers exclude each other.") }
    guard token == nil || secretFile == nil else { throw BenchError("--token and --secret-file exclude each other.") }
    var remote = MeasurementRun.Remote(url: url)
    (remote.publishURL, remote.dialect, remote.token, remote.trust) = (publishURL, dialect, token, trust)
    remote.processes = pid
    remote.namespace = namespace
    if let secretFile {
      guard let data = FileManager.default.contents(atPath: secretFile) else {
        throw BenchError("\(secretFile) cannot be read.")
      }
      remote.secret = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
    return remote
  }

  /// The command line as it can be typed again, without what is secret and without the program's folder.
  static func command(_ arguments: [String]) -> String {
    var words = ["fanfare-bench"]
    var isSecret = false
    for argument in arguments.dropFirst() {
      if isSecret {
        words.append("…")
      } else if argument.hasPrefix("--token=") {
        words.append("--token=…")
      } else {
        let isPlain = argument.utf8.allSatisfy {
          $0 > 0x20 && $0 < 0x7F && !"\"'`$\\*?[]{}()<>|&;!#~".utf8.contains($0)
        }
        words.append(isPlain ? argument : "'" + argument.replacingOccurrences(of: "'", with: "'\\''") + "'")
      }
      isSecret = argument == "--token"
    }
    return words.joined(separator: " ")
  }
}

/// Ends the program with a sentence and the exit code 1.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
