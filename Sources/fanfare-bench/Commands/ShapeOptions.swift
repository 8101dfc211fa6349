import ArgumentParser
import Bench

/// Where names of scenarios lead.
struct ScenarioFolderOption: ParsableArguments {
  @Option(help: "Folder of scenario files; left out: the scenarios that are built in.")
  var scenarios: String?
}

/// The numbers of a scenario that are changed most. They are checked as a file's are.
struct ShapeOptions: ParsableArguments {
  @Option(help: "Channels of the first group.")
  var channels: Int?

  @Option(help: "Subscribers of each channel of the first group.")
  var subscribers: Int?

  @Option(help: "Connections that publish to the first group; each has channels of its own.")
  var publishers: Int?

  @Option(help: "Publications per second of the first group, over all of its channels together.")
  var rate: Double?

  @Option(help: "Bytes of a publication of the first group.")
  var payload: Int?

  @Option(help: "What is measured: delivery, saturation, connect, resume or idle.")
  var measure: String?

  @Option(help: "Measure each server so often.")
  var turns: Int?

  @Option(help: "Seconds of measuring, without the warm-up.")
  var duration: Double?

  @Option(help: "Seconds of the warm-up.")
  var warmup: Double?

  @Option(help: "Processes of the load generator.")
  var workers: Int?

  @Option(name: .customLong("set"), help: "Any other key of the scenario, such as groups.0.burst=10.")
  var keys: [String] = []

  /// The options as overrides. `--set` comes last, so that it stands where an option says otherwise.
  func overrides() throws(BenchError) -> [ScenarioFile.Override] {
    var overrides: [ScenarioFile.Override] = []
    func set(_ path: String, _ value: (some CustomStringConvertible)?) {
      if let value { overrides.append(ScenarioFile.Override(path: path, value: value.description)) }
    }
    set("groups.0.channels", channels)
    set("groups.0.subscribers", subscribers)
    set("groups.0.publishers", publishers)
    set("groups.0.rate", rate)
    set("groups.0.payload", payload)
    if let measure { overrides.append(ScenarioFile.Override(path: "measure", text: measure)) }
    set("turns", turns)
    set("duration", duration)
    set("warmup", warmup)
    set("workers", workers)
    for text in keys { overrides.append(try ScenarioFile.Override(text)) }
    return overrides
  }
}
